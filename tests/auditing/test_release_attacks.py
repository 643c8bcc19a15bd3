"""What is said of a release, word by word: no more than its claim and the attacks show."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, Interval
from recveil.attacks.inference.companions import Companions
from recveil.attacks.inference.fills import InferredFills
from recveil.attacks.inference.rated_cells import InferredCells
from recveil.auditing import audit
from recveil.auditing.release_attacks import Content, attack_table
from recveil.clustering import BisectingKGather
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.methods.registry import same_again, summarize
from recveil.predict import FunkSVD, UserKNN
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.manifest import Manifest
from recveil.report.audit.disclosure import of_fit, statements_of_content
from recveil.report.release import describe_summary
from recveil.runtime.number_format import estimate, format_bounds, percent
from shared.auditing_release_attacks import BYSTANDER, audited, co_rated, ratings  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def of_levels(ratings, tmp_path_factory):
    rule = "activity>=40:1,activity<12:9,else:4"
    anonymizer = PredictiveAnonymizer(4, "simple", privacy_levels=rule, seed=2)
    return audited(anonymizer, ratings, tmp_path_factory.mktemp("levels"))


class TestCoRated:
    @pytest.fixture
    def found(self, co_rated):
        return co_rated

    def test_records_are_not_called_groups(self, found):
        plain = found.to_dict()
        assert not any("class" in name for name in plain["columns"].values())
        assert not any("equivalence class" in sentence for sentence in plain["verdict"])
        assert any("whose record was inferred" in line for line in plain["verdict"])

    def test_a_fill_that_is_not_at_hand_is_said(self, ratings):
        release = KCoRater(5, seed=1).anonymize(ratings)
        table = AttackTarget.from_release(release, ratings)
        settings = release.published.settings | {"fill": "Foreign"}
        manifest = replace(Manifest.of(release.published), settings=settings)
        found = attack_table(ratings, table, manifest, [BYSTANDER], np.arange(20))
        (warning,) = found.to_dict()["warnings"]
        assert "not measured, because the release's fill" in warning


class TestLevels:
    @pytest.fixture
    def found(self, of_levels):
        return of_levels

    def test_no_user_is_promised_an_average(self, found):
        text = " ".join(found.to_dict()["verdict"])
        assert "the guarantee is at most" not in text
        alone = found.manifest.counts["singletons"]
        assert alone > 0
        assert f"{alone} users are in classes of one and are not protected" in text
        assert "a probability of at most 1/4 = 25%" in text
        assert found.to_dict()["columns"]["bound"] == "mean of 1/k"

    def test_membership_is_not_left_out_silently(self, found):
        assert found.membership is None
        (warning,) = found.to_dict()["warnings"]
        assert re.search("Membership inference was not measured, because .* levels", warning)
        assert warning in found.to_dict()["verdict"]

    def test_where_all_users_have_level_one_no_user_is_promised_more(self, ratings):
        alone = PredictiveAnonymizer(2, "simple", privacy_levels="activity>=0:1", seed=2)
        release = alone.anonymize(ratings)
        table = AttackTarget.from_release(release, ratings)
        manifest = Manifest.of(release.published)
        found = attack_table(ratings, table, manifest, [BYSTANDER], np.arange(20))
        lone = int(table.candidates.sizes[table.promised == 1].sum())
        assert found.unprotected == lone
        assert (
            f"{lone} users are in classes of one and are not protected"
            in found.to_dict()["verdict"][0]
        )


def test_json_has_the_figures_of_cells_and_members(ratings, tmp_path):
    found = audited(PredictiveAnonymizer(5, seed=1), ratings, tmp_path)
    plain = json.loads(json.dumps(found.to_dict()))
    residual = plain["residual"]
    figures = ("auc", "recall_at_95", "lone_exact", "popularity_recall_at_95")
    assert all(0 <= residual[name] <= 1 for name in figures)
    low, high = (residual["intervals"]["auc"][end] for end in ("low", "high"))
    assert low <= residual["auc"] <= high
    membership = plain["membership"]
    assert membership["auc"] == found.membership.auc._asdict()
    assert membership["members"] == found.membership.members
    for known in ("8", "16", "all"):
        for name in ("auc", "tpr_at_5", "null_auc"):
            assert membership[known][name].keys() >= {"rate", "low", "high"}
        assert membership[known]["null_auc"]["low"] < 0.5
    assert plain["attributes"]["excess"]["rate"] == pytest.approx(
        plain["attributes"]["members"]["rate"] - plain["attributes"]["nonmembers"]["rate"]
    )
    (tmp_path / "simple").mkdir()
    sparse = audited(PredictiveAnonymizer(5, "simple", seed=1), ratings, tmp_path / "simple")
    assert sparse.to_dict()["residual"] is None


def test_full_rows_have_no_clusters_to_infer(ratings, tmp_path):
    plain = audited(PredictiveAnonymizer(5, seed=1), ratings, tmp_path).to_dict()
    assert plain["clusters"] is plain["all_known"] is None


def test_identical_rows_speak_of_groups(ratings, tmp_path):
    found = audited(PredictiveAnonymizer(5, seed=1), ratings, tmp_path)
    assert found.to_dict()["columns"]["class_reidentified"] == "class re-identified"
    assert "the guarantee is at most 20%" in found.to_dict()["verdict"][0]
    assert found.to_dict()["warnings"] == []


def test_of_few_users_nothing_is_said_of_membership(tmp_path):
    """Half of six strangers are three: neither an area nor a rate among them says anything."""
    few = make_ratings(n_users=30, n_items=50, n_ratings=600, seed=2)
    found = audited(PredictiveAnonymizer(5, seed=1), few, tmp_path)
    membership, text = found.to_dict()["membership"], " ".join(found.to_dict()["verdict"])
    assert membership["nonmembers"] < 20
    assert not membership["is_measured"]
    assert not any(membership[known]["is_measured"] for known in ("8", "16", "all"))
    assert text.count("not measured: too few users") == 2  # nor are attributes
    assert "AUC" not in text
    assert "false positive rate" not in text


def test_short_rows_are_named_where_no_user_could_be_attacked(tmp_path):
    """Users are enough; their ratings are too few for the strongest adversary."""
    short = make_ratings(n_users=300, n_items=60, n_ratings=900, seed=2)
    found = audited(PredictiveAnonymizer(5, seed=1), short, tmp_path)
    assert not found.membership.is_measured
    assert found.membership.skipped > 100
    assert "too few nonmembers with enough ratings" in " ".join(found.to_dict()["verdict"])


class TestLabels:
    """What stands in the rows as it was given, measured on the very release."""

    @pytest.fixture
    def release(self, ratings):
        return PredictiveAnonymizer(5, "simple", seed=1).anonymize(ratings)

    def test_simple_rows_are_said_to_hold_ratings(self, ratings, release, tmp_path):
        found = audited(PredictiveAnonymizer(5, "simple", seed=1), ratings, tmp_path)
        given = release.private.lone_ratings
        text = " ".join(found.to_dict()["verdict"])
        assert f"Of all ratings, {given.exact_share:.1%} are in the release exactly" in text
        assert f"({given.rating_share:.1%} because no other user of the class rated" in text
        assert given.label_share > 0.5
        behind = found.content.possible
        sure = f"Of the values on the scale, {estimate(behind.whole_exact)} are the"
        assert sure in text
        assert f"most frequent rating is right for {estimate(behind.whole_by_commonest)}." in text
        plain = found.to_dict()
        assert plain["ratings_exact"] == given.exact_share
        assert plain["values_exact"] == given.label_share
        assert plain["lone_ratings"] == given.rating_share
        assert given.label_share > given.near_label_share  # other values are between levels
        assert "exact values on the scale" in {row["figure"] for row in plain["rows"]}

    def test_lone_ratings_of_a_continuous_scale_are_revealed_to_within_the_rounding(
        self, ratings, tmp_path
    ):
        """None is published exactly, which is no reassurance."""
        noise = np.random.default_rng(3).uniform(-0.4, 0.4, ratings.n_ratings)
        users = np.repeat(ratings.users, ratings.activity)
        fine = Ratings.from_columns(
            users,
            ratings.items[ratings.indices],
            np.clip(ratings.values + noise, 1, 5).astype(np.float32),
            scale=RatingScale(1, 5),
        )
        anonymizer = PredictiveAnonymizer(5, "simple", seed=1)
        release = anonymizer.anonymize(fine)
        given = release.private.lone_ratings
        assert given.exact_share < 0.05 < given.rating_share <= given.near_share
        result = " ".join(describe_summary(summarize(release, fine)))
        assert f"{given.near_share:.1%} of the ratings to within the rounding (0.02" in result
        found = audited(anonymizer, fine, tmp_path)
        plain, text = found.to_dict(), " ".join(found.to_dict()["verdict"])
        assert f"{given.near_share:.1%} are in the release to within the rounding (0.02)" in text
        assert "of the target's ratings with certainty to within 0.2" in text
        assert "a value may come from was not measured, because on a continuous scale" in text
        assert (plain["ratings_near"], plain["rounding"]) == (given.near_share, 0.02)
        assert plain["values_near"] > 0.1
        assert plain["values_exact"] is None

    def test_real_ratings_of_co_rated_rows_all_stand_there(self, co_rated):
        assert co_rated.to_dict()["ratings_exact"] == 1
        assert "Of all ratings, 100% are in the release" in " ".join(co_rated.to_dict()["verdict"])

    def test_who_is_not_in_the_release_is_not_counted(self, ratings, release):
        table = AttackTarget.from_release(release, ratings)
        table.record_of[:100] = -1
        manifest = Manifest(Claim("identical-rows", 5), "users", {}, ratings.scale)
        found = attack_table(ratings, table, manifest, [BYSTANDER], np.arange(20))
        exact = total = 0
        for user in range(100, ratings.n_users):
            own = ratings.row(user)
            row = dict(zip(*table.row(table.record_of[user]), strict=True))
            exact += sum(abs(row[item] - value) < 1e-6 for item, value in zip(*own, strict=True))
            total += own[0].size
        assert found.to_dict()["ratings_exact"] == exact / total


def test_the_headline_is_short_and_ends_at_the_proof(ratings, tmp_path):
    found = audited(PredictiveAnonymizer(5, "simple", seed=1), ratings, tmp_path)
    one_user = found.attacks[0][1].reidentified
    high = min(one_user.high, 0.2)
    assert found.to_dict()["headline"] == (
        f"In the release, {percent(one_user.rate)} of the users are re-identified "
        f"({format_bounds(one_user.low, high)}) by “bystander”, "
        "who knows 2 rated items; a random guess gives 0.67%; the guarantee is at most 20%."
    )  # of so few users, membership is not measured


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_one_group_of_all_users_reveals_nothing_new(ratings, tmp_path, homogenize):
    """The null release: each rate is said to be no more than without an attack.

    But what an adversary who knows all the others infers, beyond the release itself.
    """
    found = audited(PredictiveAnonymizer(150, homogenize, seed=1), ratings, tmp_path)
    first, *others = found.to_dict()["verdict"]
    assert "than a random guess gives (0.67%), so that it reveals nothing new about the" in first
    assert "no more than by a random guess" in found.to_dict()["headline"]
    for sentence in others:
        assert "nan" not in sentence
        if sentence.startswith(("Who rated what", "The same by adversaries")):
            assert re.search("nothing new|do not show to be above 0.5", sentence)


@pytest.mark.parametrize(("low", "is_specified"), [(0.84, False), (0.3, True)])
def test_where_groups_are_found_a_low_rate_of_users_does_not_reassure(co_rated, low, is_specified):
    """Of sixty users in groups of twenty, 1/20 is hardly above 1/60, wherever groups are found."""
    found = []
    for adversary, attack in co_rated.attacks:
        of_users, of_groups = Interval(0.047, 0.01, 0.14, 60), Interval(0.933, low, 1.0, 60)
        rates = {"reidentified": of_users, "baseline": 0.05}
        rates |= {"class_reidentified": of_groups, "class_baseline": 0.33}
        found.append((adversary, attack._replace(**rates)))
    result = replace(co_rated, attacks=found)
    first = result.to_dict()["verdict"][0]
    assert "not clearly more than a random guess gives (5%)" in first
    for text in (first, result.to_dict()["headline"]):
        assert (
            "class of 93.3% is inferred (33% by always naming the largest)" in text
        ) != is_specified
    assert ("nothing new" in first) == is_specified


SOME, FEWER = Interval(0.1, 0.08, 0.12, 90), Interval(0.02, 0.01, 0.03, 90)


@pytest.mark.parametrize(("baseline", "is_specified"), [(0.66, True), (0.1, True), (0.01, False)])
def test_each_rate_says_when_it_is_not_above_its_baseline(baseline, is_specified):
    next_to = Interval(baseline, baseline, baseline, 90)
    no_user = Interval(float("nan"), 0.0, 1.0, 0)
    result = [
        of_fit(InferredCells(SOME, SOME, no_user, no_user, 0.5, baseline, 0.0, 9, 9)).sentence,
        of_fit(InferredCells(SOME, SOME, SOME, SOME, 0.5, 0.0, baseline, 9, 9)).sentence,
        *(
            each.sentence
            for content in (
                Content((), Companions(SOME, SOME, FEWER, next_to)),
                Content((InferredFills(0.0, 0, 0.0, {0.5: SOME}, {}, SOME, next_to),)),
            )
            for each in statements_of_content(content)
        ),
    ]
    assert len(result) == 4
    for sentence in result:
        assert ("reveals nothing new about the release" in sentence) == is_specified


def test_the_headline_promises_no_more_than_the_claim(co_rated, of_levels):
    result = co_rated.to_dict()["headline"]
    assert result.endswith("there is no guarantee against adversaries who know ratings.")
    assert of_levels.to_dict()["headline"].endswith(
        "users are in classes of one and are not protected."
    )


def test_a_headline_about_no_user_shows_nothing(ratings):
    release = PredictiveAnonymizer(5, seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    manifest = Manifest.of(release.published)
    knows_all = Adversary(known=60, rating_error=None, name="knows all")
    found = attack_table(ratings, table, manifest, [knows_all], np.arange(20))
    assert found.to_dict()["headline"].endswith("which shows nothing.")


@pytest.mark.parametrize(
    "own",
    [
        {"predictor": UserKNN(min_overlap=3)},
        {"predictor": FunkSVD(rank=3)},
        {"grouping": BisectingKGather(5, n_bisections=1)},
    ],
)
def test_no_usual_method_is_taken_for_one_with_parts_of_its_own(own, ratings, tmp_path):
    """What only the usual method gives away says nothing about this release."""
    found = audited(PredictiveAnonymizer(5, seed=1, **own), ratings, tmp_path)
    assert same_again(found.manifest, seed=1) is None
    assert found.membership is None
    (warning,) = found.to_dict()["warnings"]
    assert "predictor or grouping is Spark's, or has options of its own" in warning


def test_an_attack_on_padded_rows_reports_the_rounds_of_its_fits(ratings, tmp_path, reports):
    audited(PredictiveAnonymizer(5, seed=1), ratings, tmp_path)
    reached: dict[str, set[float]] = {}
    for fraction, path, _ in reports:
        for part in path:
            reached.setdefault(part, set()).add(round(fraction, 9))
    assert len(reached["Fitting all rows"]) >= 6
    assert len(reached["Making a release without some users"]) >= 6
    last = {(count.loop, count.total): count.done for _, _, count in reports if count is not None}
    for (_, total), done in last.items():
        assert total is None or done == pytest.approx(total)


def test_a_release_in_memory_is_audited_as_its_folder_is(ratings, tmp_path):
    release = KCoRater(4, seed=1).anonymize(ratings)
    release.write(tmp_path / "out")
    found, again = (
        audit(ratings, release=each, targets=20, curves=False).published.attacks
        for each in (release, tmp_path / "out")
    )
    assert found == again
    with raises("option.value"):
        KCoRater(4, fill="bogus")
