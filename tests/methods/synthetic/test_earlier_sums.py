"""Releases of a plan that reuse earlier noisy sums, and claim what all of them spent."""

import json
import math
import shutil
from pathlib import Path

import forging
import independent
import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil import anonymize, budget
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer, sample
from recveil.methods.earlier_releases import find_earlier, history_of
from recveil.methods.registry import same_again
from recveil.methods.synthetic.earlier_sums import (
    EarlierSums,
    Means,
    average_items,
    average_moments,
    averaged,
)
from recveil.publish.privacy_ledger import Plan
from recveil.ratings import Ratings, RatingScale
from recveil.release.ledger import Ledger, Query, epsilon_of
from recveil.release.manifest import FileEntry
from recveil.release.manifest_reader import known_manifest
from recveil.report.release import describe_runs
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

SCALE = RatingScale(1, 5, 1)
SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "release.schema.json"
RATINGS = make_ratings(120, 40, 1_800, seed=1, scale=SCALE)
PLAN = {"epsilon": 300.0, "item_catalog": "as-rated", "releases": 3}
# Means of items 0 to 2, and moments of items 2 and 0.
EARLIER = Means(
    of_items=np.array([[1.0], [2.0], [3.0]]),
    variances=np.array([0.5]),
    chosen=np.array([2, 0]),
    moments=np.array([[8.0, 6.0], [6.0, 4.0]]),
    moment_variances=np.full((2, 2), 0.5),
)


class TestByHand:
    def test_the_less_noisy_number_counts_more(self):
        assert averaged(0.0, 3.0, 4.0, 1.0) == (3.0, 0.75)

    def test_items_that_the_earlier_list_lacked_have_the_new_number(self):
        """Item 1 here is item 2 there, 0 and 3 are new, and 2 is 1; item 0 is not here."""
        found = EARLIER.at(np.array([-1, 2, 1, -1]))
        new = np.array([[9.0], [5.0], [4.0], [7.0]])
        means, variances = average_items(new, np.array([0.5]), found)
        assert (means.tolist(), variances.tolist()) == ([[9], [4], [3], [7]], [0.25])
        assert found.chosen.tolist() == [1]
        assert found.moments.tolist() == [[8]]

    def test_moments_of_pairs_in_both_are_averaged(self):
        """Of items 0, 1 and 2, the earlier release has no moments of item 1."""
        new = np.array([[1.0, 2, 3], [2, 1, 5], [3, 5, 2]])
        means, variances = average_moments(new, 1.0, np.array([0, 1, 2]), EARLIER)
        assert means.tolist() == [[3, 2, 5], [2, 1, 5], [5, 5, 6]]
        third = 1 / 3
        assert variances == pytest.approx(
            np.array([[third, 1, third], [1, 1, 1], [third, 1, third]])
        )

    def test_the_loss_of_a_ledger_is_that_of_all_its_releases(self):
        one = Ledger((Query("users", "how many", 1.0, 2.0, 1),))
        three = Ledger(one.queries, 0.0, ("0" * 64, "1" * 64))
        assert one.mu == pytest.approx(0.5)
        assert three.mu == pytest.approx(0.5 * math.sqrt(3))
        assert three.of_itself == one
        assert Ledger.from_json(three.to_json()) == three
        assert "earlier" not in one.to_json()

    @pytest.mark.parametrize("earlier", [("0" * 64, "0" * 64), ("0" * 63,), (7,)])
    def test_earlier_releases_are_named_once_by_their_digests(self, earlier):
        with raises("argument.value", "earlier"):
            Ledger((Query("users", "how many", 1.0, 2.0, 1),), 0.0, earlier)


def makers(n, **options):
    """Return the releases of a plan on one table, made with seeds, each reusing those before."""
    made, sums = [], None
    for seed in range(n):
        maker = Synthesizer(reuse=sums, seed=seed, **{**PLAN, **options})
        made.append(maker.anonymize(options.pop("ratings", RATINGS)))
        sums = made[-1].private.noisy_sums
    return made


class TestNoise:
    @pytest.mark.parametrize("likes", [False, True])
    def test_the_stated_noise_is_that_of_the_average(self, likes):
        """On an unchanged table, deviations from the exact means have the stated variance.

        The noise of the number of users moves the means of popular items, too.
        """
        ratings = RATINGS.as_likes() if likes else RATINGS
        popularity = np.bincount(
            ratings.indices, 1 / np.sqrt(ratings.activity)[ratings.user_positions()]
        )
        spreads, noises = [], []
        for first in range(8):
            sums = None
            for seed in range(3):
                maker = Synthesizer(
                    300.0, item_catalog="as-rated", releases=3, reuse=sums, seed=100 * first + seed
                )
                release = maker.anonymize(ratings)
                sums = release.private.noisy_sums
            means = sums.means
            off = means.of_items[:, 0] - popularity / ratings.n_users
            is_rare = popularity < np.quantile(popularity, 0.25)
            spreads.append((off / math.sqrt(means.variances[0]))[is_rare])
            noises.append(means.variances[0])
        alone = Synthesizer(300.0, item_catalog="as-rated", releases=3, seed=7)
        alone = alone.anonymize(ratings).private.noisy_sums.means.variances[0]
        assert np.mean(noises) == pytest.approx(alone / 3, rel=0.1)
        assert np.std(spreads) == pytest.approx(1, abs=0.2)

    def test_the_first_release_of_a_plan_is_as_without_reuse(self):
        first, second, third = makers(3)
        again = Synthesizer(seed=0, **PLAN).anonymize(RATINGS)
        assert first.to_arrow().equals(again.to_arrow())
        alone = Synthesizer(seed=2, **PLAN).anonymize(RATINGS)
        assert not third.to_arrow().equals(alone.to_arrow())
        losses = [release.claim.ledger.mu for release in (first, second, third)]
        assert losses == pytest.approx([losses[0] * math.sqrt(n) for n in (1, 2, 3)])


@pytest.fixture(scope="module")
def written(tmp_path_factory, rough_fit):
    folder = tmp_path_factory.mktemp("plan")
    options = {**PLAN, "ledger": folder / "ledger.sqlite3", "file_format": "csv"}
    anonymize(RATINGS, folder / "one", **options)
    anonymize(RATINGS, folder / "two", reuse=folder / "one.private", **options)
    anonymize(RATINGS, folder / "three", reuse=folder / "two.private", **options)
    return folder


@pytest.fixture
def copied(written, tmp_path):
    return Path(shutil.copytree(written / "three", tmp_path / "three"))


class TestWritten:
    def test_each_claim_covers_the_releases_before(self, written):
        claims = [
            json.loads((written / name / "release.json").read_text())["claim"]
            for name in ("one", "two", "three")
        ]
        assert [len(each["ledger"].get("earlier", ())) for each in claims] == [0, 1, 2]
        assert [each["delta"] for each in claims] == pytest.approx(
            [n * claims[0]["delta"] for n in (1, 2, 3)]
        )
        mu = math.sqrt(sum(query["sigma"] ** -2 for query in claims[2]["ledger"]["queries"]))
        expected = epsilon_of(mu * math.sqrt(3), claims[2]["delta"])
        assert claims[2]["epsilon"] == pytest.approx(expected, rel=1e-6)
        assert claims[2]["epsilon"] <= 300
        assert claims[2]["delta"] <= 1e-6

    @pytest.mark.parametrize("name", ["one", "two", "three"])
    def test_both_checkers_and_the_schema_accept_it(self, written, name):
        assert verify(written / name).holds
        assert list(independent.problems(written / name)) == []
        content = json.loads((written / name / "release.json").read_text())
        jsonschema.validate(content, json.loads(SCHEMA.read_text()))

    def test_the_run_says_what_it_covers(self, written, tmp_path):
        shutil.copytree(written, tmp_path / "plan")
        options = {**PLAN, "ledger": tmp_path / "plan" / "ledger.sqlite3", "force": True}
        for name in ("three", "three.private"):
            shutil.rmtree(tmp_path / "plan" / name)
        with raises("budget.exceeded"):
            anonymize(
                RATINGS, tmp_path / "plan" / "4", reuse=tmp_path / "plan" / "two.private", **options
            )
        options["ledger"] = tmp_path / "ledger"
        one, folder = tmp_path / "one", tmp_path / "two"
        anonymize(RATINGS, one, **options)
        made = anonymize(RATINGS, folder, reuse=tmp_path / "one.private", **options)
        text = " ".join(made.sentences())
        assert "this covers 2 releases, whose noisy sums it averages" in text
        assert f"Publish {folder}. Keep" in text

    def test_the_card_says_what_it_covers(self, written):
        assert "covers" not in (written / "one" / "README.md").read_text()
        card = (written / "three" / "README.md").read_text()
        assert "**This covers 3 releases**" in card
        assert "averages its noisy sums with those of 2 earlier" in card

    def test_the_total_counts_each_release_once(self, written):
        three = budget([written / "three"])
        assert len(three.runs) == 3
        every = budget([written / name for name in ("two", "one", "three")])
        assert (every.epsilon, every.delta) == (three.epsilon, three.delta)
        claim = json.loads((written / "three" / "release.json").read_text())["claim"]
        assert three.epsilon == pytest.approx(claim["epsilon"], rel=1e-6)
        ledger = budget(RATINGS, ledger=written / "ledger.sqlite3", delta=claim["delta"])
        assert ledger.epsilon == pytest.approx(claim["epsilon"], rel=1e-6)

    def test_totals_of_private_folders_count_each_run_once(self, written):
        every = budget([written / name for name in ("one", "two", "three")])
        history = history_of(find_earlier(RATINGS.users, written / "next"))
        assert [len(each.earlier) for each in history] == [0, 2, 1]
        for some in (history, history[1:], history[1:2]):  # three has the sums of all
            assert (
                f" 3 runs spent epsilon {every.epsilon:.3g} on the most exposed of these users "
                f"(delta {every.delta:g})"
            ) in describe_runs(some)

    def test_no_release_of_other_users_has_the_same_sums(self, written):
        one, three = (known_manifest(written / name) for name in ("one", "three"))
        assert isinstance(same_again(one, 1), Synthesizer)
        assert same_again(three, 1) is None

    def test_users_sampled_from_its_model_keep_the_plan(self, written, tmp_path):
        options = {**PLAN, "ledger": tmp_path / "ledger", "layout": "model"}
        anonymize(RATINGS, tmp_path / "two", reuse=written / "one.private", **options)
        sample(tmp_path / "two", tmp_path / "out", n_users=50, seed=1, file_format="csv")
        content = json.loads((tmp_path / "out" / "release.json").read_text())
        assert content["settings"]["release_number"] == 2
        assert verify(tmp_path / "out").holds
        assert list(independent.problems(tmp_path / "out")) == []

    def test_noisy_sums_are_private(self, written):
        assert (written / "one.private" / "sums.npz").is_file()
        assert not (written / "one" / "sums.npz").exists()

    @pytest.mark.parametrize(
        "change",
        [
            lambda ledger: ledger.pop("earlier"),
            lambda ledger: ledger["earlier"].pop(),
            lambda ledger: ledger["earlier"].append("0" * 64),
            lambda ledger: ledger["earlier"].append(ledger["earlier"][0]),
            lambda ledger: ledger["earlier"].__setitem__(0, "by ann"),
            lambda ledger: ledger.update(earlier=[]),
            lambda ledger: ledger.update(earlier="0" * 64),
        ],
    )
    def test_both_checkers_find_other_earlier_releases(self, copied, change):
        forging.forge(copied, lambda result: change(result["claim"]["ledger"]))
        assert list(independent.problems(copied))
        self.reject(copied)

    @pytest.mark.parametrize(
        "change",
        [
            lambda result: result["settings"].update(item_catalog="selected"),
            lambda result: result.update(format="recveil-release-8"),
            lambda result: result["settings"].pop("release_number"),
            lambda result: result["settings"].pop("planned_releases"),
            lambda result: result["settings"].update(release_number=2),
            lambda result: result["settings"].update(release_number=4),
            lambda result: result["settings"].update(release_number=3.0),
            lambda result: result["settings"].update(planned_releases=2),
            lambda result: result["settings"].update(planned_releases=True),
        ],
    )
    def test_other_releases_reuse_nothing(self, copied, change):
        forging.forge(copied, change)
        self.reject(copied)

    def test_settings_have_the_plan(self, written):
        plans = [
            [
                json.loads((written / name / "release.json").read_text())["settings"].get(each)
                for each in ("planned_releases", "release_number")
            ]
            for name in ("one", "two", "three")
        ]
        assert plans == [[None, None], [3, 2], [3, 3]]

    @given(st.integers(0, 4), st.sampled_from([None, 1, 2, 3, 4]), st.integers(1, 4))
    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_both_checkers_find_a_shorter_list(self, written, tmp_path, n, number, planned):
        """Whatever is cut: the list must be as long as the settings say, or neither is there."""
        folder = tmp_path / f"{n}-{number}-{planned}"
        if folder.exists():
            return
        shutil.copytree(written / "three", folder)

        def change(result):
            ledger, stated = result["claim"]["ledger"], result["settings"]
            ledger["earlier"] = [f"{at}" * 64 for at in range(n)]
            if not n:
                del ledger["earlier"]
            stated.update(release_number=number, planned_releases=planned)
            if number is None:
                del stated["release_number"], stated["planned_releases"]
            ledger = Ledger.from_json(ledger)
            delta = (1 + n) * 1e-6 / 3
            result["claim"].update(delta=delta, epsilon=ledger.epsilon(delta))

        forging.forge(folder, change)
        is_right = (n, number) == (0, None) or (n > 0 and number == n + 1 <= planned)
        assert (list(independent.problems(folder)) == []) == is_right
        if is_right:
            assert verify(folder).holds
        else:
            self.reject(folder)

    @pytest.mark.parametrize(
        ("name", "word"), [("one", "no noisy sums"), ("three", "release 3 of 3")]
    )
    def test_what_was_cut_is_the_publishers_word(self, written, name, word):
        texts = [" ".join(map(str, limit.values)) for limit in verify(written / name).not_covered]
        assert any("Only the publisher" in text and word in text for text in texts)

    def reject(self, folder):
        try:
            holds = verify(folder).holds
        except ValueError as error:
            holds = False
            code = getattr(error, "code", "")
        else:
            code = "release.damaged"
        assert (holds, code) == (False, "release.damaged")


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"releases": None}, "option.required"),
            ({"item_catalog": None}, "option.required"),
            ({"releases": 4}, "release.mismatch"),
            ({"epsilon": 299.0}, "release.mismatch"),
            ({"delta": 1e-7}, "release.mismatch"),
            ({"cohort": "2026-01"}, "option.conflict"),
        ],
    )
    def test_only_one_plan_reuses_sums(self, written, tmp_path, options, code):
        with raises(code):
            anonymize(
                RATINGS,
                tmp_path / "out",
                reuse=written / "one.private",
                **{**PLAN, "ledger": tmp_path / "ledger", **options},
            )
        assert not (tmp_path / "ledger").exists()

    def test_of_another_scale(self, written, tmp_path):
        ratings = Ratings(
            *(getattr(RATINGS, name) for name in ("users", "items", "indptr", "indices", "values")),
            None,
            RatingScale(1, 6, 1),
        )
        with raises("release.mismatch", "1:6:1"):
            anonymize(
                ratings,
                tmp_path / "out",
                reuse=written / "one.private",
                **{**PLAN, "ledger": tmp_path / "ledger"},
            )

    def test_folders_without_sums(self, written, tmp_path):
        for folder in (written / "one", tmp_path):
            with raises("private.not-found", "sums.npz"):
                EarlierSums.read(folder)

    def test_of_another_table(self, written, tmp_path):
        """Another table's users or items are found before any query."""
        users = [f"u{user}" for user in RATINGS.user_positions()]
        items = RATINGS.items[RATINGS.indices]
        options = {**PLAN, "ledger": tmp_path / "ledger", "reuse": written / "one.private"}
        for columns in ((users, items), (RATINGS.user_positions(), [f"i{item}" for item in items])):
            ratings = Ratings.from_columns(*columns, RATINGS.values, scale=SCALE)
            with raises("release.mismatch", "reuse"):
                anonymize(ratings, tmp_path / "out", **options)
            with raises("release.mismatch", "reuse"):
                Synthesizer(**options).anonymize(ratings)
        assert not (tmp_path / "ledger").exists()

    @pytest.mark.parametrize("name", ["two", "three"])
    def test_sums_of_another_release(self, written, tmp_path, name):
        """The private folder names its sums, and is found before anything is spent."""
        private = Path(shutil.copytree(written / "one.private", tmp_path / "one.private"))
        shutil.copy(written / f"{name}.private" / "sums.npz", private)
        options = {**PLAN, "ledger": tmp_path / "ledger", "reuse": private}
        with raises("private.damaged", "sums.npz", "private.json"):
            anonymize(RATINGS, tmp_path / "out", **options)
        assert not (tmp_path / "ledger").exists()
        about = json.loads((private / "private.json").read_text())
        del about["sums_sha256"]
        (private / "private.json").write_text(json.dumps(about))
        with raises("private.damaged", "sums.npz"):
            EarlierSums.read(private)

    def test_the_sums_of_a_release_twice(self, written, tmp_path):
        private = Path(shutil.copytree(written / "one.private", tmp_path / "one.private"))
        shutil.copy(written / "two.private" / "sums.npz", private)
        about = json.loads((private / "private.json").read_text())
        about["sums_sha256"] = FileEntry.of(private / "sums.npz").sha256
        (private / "private.json").write_text(json.dumps(about))
        with raises("private.damaged", "twice"):
            EarlierSums.read(private)

    def test_sums_are_read_once(self, written, tmp_path):
        """What is replaced after the check changes nothing."""
        private = Path(shutil.copytree(written / "one.private", tmp_path / "one.private"))
        maker = Synthesizer(**PLAN, ledger=tmp_path / "ledger", reuse=private)
        maker.check(RATINGS)
        (private / "sums.npz").unlink()
        public, ratings = maker._public(RATINGS)
        learnt = maker.learn(ratings, public, ratings.items, RATINGS.n_users)
        assert len(learnt.claim.ledger.earlier) == 1

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY"])
    def test_damaged_sums(self, written, tmp_path, content):
        private = Path(shutil.copytree(written / "one.private", tmp_path / "one.private"))
        (private / "sums.npz").write_bytes(content)
        with raises("private.damaged", "sums.npz"):
            EarlierSums.read(private)

    def test_what_is_read_is_what_was_written(self, written):
        found = EarlierSums.read(written / "three.private")
        assert found.plan == Plan(300.0, 1e-6, 3)
        assert len(found.releases) == 3
        assert found.items.tolist() == [str(item) for item in RATINGS.items]
        assert found.means.of_items.shape == (RATINGS.n_items, 2)
