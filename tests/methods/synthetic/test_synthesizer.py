"""A release of synthetic users: its promise, what it names, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import sample
from recveil.methods.registry import summarize
from recveil.methods.synthetic import synthesizer
from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.learning import QUERY
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.report.release import describe_summary
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

STARS = RatingScale(1, 5, 1)
RATINGS = make_ratings(300, 40, 5_000, seed=3, scale=STARS)


def made(epsilon=20.0, ratings=RATINGS, **options):
    options = {"item_catalog": "as-rated", "seed": 1} | options
    return Synthesizer(epsilon, **options).anonymize(ratings)


def drawn(release):
    blocks = list(release.published.blocks())
    return (
        np.concatenate([np.diff(block.indptr) for block in blocks]),
        release.published.items[np.concatenate([block.indices for block in blocks])],
        np.concatenate([block.values for block in blocks]),
    )


def same(one, other) -> bool:
    return all(np.array_equal(*parts) for parts in zip(drawn(one), drawn(other), strict=True))


def as_if(ratings, **changed) -> Ratings:
    parts = ("users", "items", "indptr", "indices", "values", "days", "scale")
    return Ratings(**({name: getattr(ratings, name) for name in parts} | changed))


class TestPromise:
    @pytest.mark.parametrize("catalogue", ["as-rated", None], ids=str)
    @pytest.mark.parametrize("epsilon", [8.0, 20.0, 100.0])
    def test_the_ledger_never_says_more_than_was_asked(self, epsilon, catalogue):
        claim = made(epsilon, item_catalog=catalogue).published.claim
        assert (claim.kind, claim.epsilon, claim.delta) == ("differentially-private", epsilon, 1e-6)
        assert claim.ledger.epsilon(1e-6) <= epsilon
        assert claim.ledger.epsilon(1e-6) == pytest.approx(epsilon, rel=1e-6)
        assert claim.ledger.threshold_delta == (1e-7 if catalogue is None else 0)

    def test_epsilon_may_be_a_whole_number(self, tmp_path):
        release = Synthesizer(20, item_catalog="as-rated").anonymize(RATINGS)
        assert release.write(tmp_path / "out").holds
        assert type(release.published.claim.epsilon) is float

    def test_of_exact_sums_nothing_is_promised(self):
        claim = made(None).published.claim
        assert (claim.kind, claim.k, claim.ledger) == ("aggregates", 300, None)

    def test_what_is_published_follows_from_the_answers_alone(self, monkeypatch):
        """Other users with the same noisy answers have the same release."""
        answers, by_embedding = [], []

        def measure(*of, real=synthesizer.measure):
            answers.append(real(*of))
            return answers[0]

        def measure_again(mechanism, name, *query, real=Mechanism.measure):
            result = real(mechanism, name, *query)
            if name == QUERY:  # asked last, after what was learnt from all others
                by_embedding.append(result)
                return by_embedding[0]
            return result

        monkeypatch.setattr(synthesizer, "measure", measure)
        monkeypatch.setattr(Mechanism, "measure", measure_again)
        first = made()
        others = make_ratings(320, 40, 4_000, seed=8, scale=STARS)
        assert (others.items == RATINGS.items).all()
        second = made(ratings=others)
        assert answers[1].n_users != answers[0].n_users
        assert (by_embedding[1] != by_embedding[0]).any()
        assert same(first, second)
        assert first.published.settings == second.published.settings
        assert first.published.model().equals(second.published.model())
        assert first.published.n_users == second.published.n_users

    def test_users_ids_and_order_are_no_matter(self):
        """The sums are the same, to the bit, and so is the release."""
        back = np.arange(300)[::-1]
        of = np.concatenate([np.arange(*RATINGS.indptr[[user, user + 1]]) for user in back])
        turned = as_if(
            RATINGS,
            users=np.array([f"secret-{user}" for user in range(300)], object),
            indptr=np.concatenate([[0], np.cumsum(RATINGS.activity[back])]),
            indices=RATINGS.indices[of],
            values=RATINGS.values[of],
            days=None,
        )
        assert same(made(), made(ratings=turned))


class TestSeed:
    def test_the_same_seed_the_same_users(self):
        assert same(made(), made())

    def test_another_seed_other_noise_and_other_users(self):
        first, second = made(), made(seed=2)
        assert not first.published.model().equals(second.published.model())
        assert not same(first, second)

    def test_reading_it_twice_is_the_same_release(self):
        release = made(seed=None)
        assert same(release, release)
        assert not same(release, made(seed=None))

    def test_a_seeded_one_is_not_written(self, tmp_path):
        with raises("release.refused", "--seed"):
            made().write(tmp_path / "out")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("layout", ["users", "model"])
    def test_one_without_a_seed_is_written_and_verified(self, tmp_path, layout):
        assert made(seed=None).write(tmp_path / "out", layout=layout).holds
        verdict = verify(tmp_path / "out")
        assert verdict.holds
        assert verdict.epsilon == 20

    def test_exact_sums_may_have_a_seed(self, tmp_path):
        assert made(None).write(tmp_path / "out").holds

    def test_nothing_private_is_shown(self):
        release = made(seed=987654321987)
        public = repr(release) + repr(release.published) + release._repr_html_()
        shown = public + repr(release.private) + repr(Synthesizer(None, seed=987654321987))
        assert "987654321987" not in shown
        assert "300" not in public  # the number of users is counted with noise


class TestUsers:
    def test_as_many_as_counted_with_noise(self):
        counts = {made(8.0, seed=seed).published.n_users for seed in range(6)}
        assert len(counts) > 3
        assert all(150 < count < 450 for count in counts)
        assert made(None).published.n_users == 300

    @pytest.mark.parametrize("n_users", [1, 7, 1_000])
    def test_as_many_as_asked_for(self, n_users):
        release = made(n_users=n_users)
        assert release.published.n_users == n_users
        counts, _, _ = drawn(release)
        assert counts.size == n_users
        assert counts.min() >= 1
        assert release.published.settings["n_users"] == "requested"

    def test_no_record_is_a_user(self):
        assert all((block.sizes == 1).all() for block in made().published.blocks())

    @pytest.mark.parametrize("grid", ["tenths", "whole"])
    def test_labels(self, grid):
        release = made(rating_grid=grid)
        labels = drawn(release)[2]
        step = release.published.settings["value_step"]
        assert step == {"tenths": 0.1, "whole": 1.0}[grid]
        assert np.abs(labels / step - np.rint(labels / step)).max() < 1e-6
        assert 1 <= labels.min() <= labels.max() <= 5


class TestItems:
    def test_without_a_catalogue_no_item_of_a_single_user(self):
        users = np.concatenate([RATINGS.user_positions(), np.full(5, 300)])
        items = np.concatenate([RATINGS.items[RATINGS.indices], np.arange(901, 906)])
        values = np.concatenate([RATINGS.values, np.full(5, 5)])
        ratings = Ratings.from_columns(users, items, values, scale=STARS)
        for seed in range(4):
            release = made(30.0, ratings, item_catalog=None, seed=seed)
            assert release.published.items.max() <= 40
            assert release.published.settings["item_catalog"] == "selected"
            assert 0 <= release.published.settings["omitted_share"] < 0.8

    def test_of_a_catalogue_items_that_stand_out(self):
        release = made(item_catalog=range(1, 101))
        assert set(release.published.items) <= set(range(1, 101))
        assert release.published.settings["item_catalog"] == "given"
        assert set(drawn(release)[1]) <= set(release.published.items)

    def test_a_file_of_items(self, tmp_path):
        file = tmp_path / "items.txt"
        file.write_text("".join(f"{item}\n" for item in RATINGS.items))
        release = made(item_catalog=str(file))
        assert release.published.settings["item_catalog"] == "given"
        assert same(release, made())

    def test_text_ids(self):
        ids = np.array([f"film {item}" for item in RATINGS.items], object)
        order = np.argsort(ids)
        place = np.argsort(order)
        rows = [np.sort(place[RATINGS.row(user)[0]]) for user in range(300)]
        ratings = as_if(RATINGS, items=ids[order], indices=np.concatenate(rows), days=None)
        release = made(ratings=ratings, item_catalog=[*ids, "a film with a much longer name"])
        assert set(release.published.items) <= {*ids, "a film with a much longer name"}


class TestEdges:
    @pytest.mark.parametrize("epsilon", [None, 50.0], ids=["exact", "noisy"])
    @pytest.mark.parametrize("scale", [RatingScale(0, 10), RatingScale(0, 1, 1)], ids=str)
    def test_other_scales(self, scale, epsilon):
        values = scale.round((RATINGS.values - 1) / 4 * scale.range + scale.low)
        release = made(epsilon, as_if(RATINGS, values=values, scale=scale))
        labels = drawn(release)[2]
        assert scale.low <= labels.min() <= labels.max() <= scale.high

    @pytest.mark.parametrize("epsilon", [None, 50.0], ids=["exact", "noisy"])
    def test_all_users_rated_both_items(self, epsilon):
        ratings = Ratings.from_columns(
            np.repeat(np.arange(300), 2), np.tile([5, 6], 300), np.tile([1, 4], 300), scale=STARS
        )
        assert made(epsilon, ratings).published.items.tolist() == [5, 6]

    def test_one_user_is_not_drawn_from(self):
        alone = Ratings.from_columns(["ann"] * 3, [5, 6, 7], [4, 2, 1], scale=STARS)
        for epsilon, code in ((None, "table.too-few-users"), (5.0, "budget.too-small")):
            with raises(code) as caught:
                made(epsilon, alone)
            assert len(str(caught.value)) < 300

    def test_exact_sums_are_of_twenty_users_at_least(self):
        with raises("table.too-few-users"):
            made(None, make_ratings(19, 20, 150, seed=3, scale=STARS))
        assert made(None, make_ratings(20, 20, 150, seed=3, scale=STARS)).published.claim.k == 20


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"item_catalog": []}, "input.empty"),
            ({"item_catalog": [1, 2, 2]}, "id.duplicate"),
            ({"item_catalog": ["one", "two"]}, "id.unknown"),
            ({"item_catalog": [1.5, 2.5]}, "id.unknown"),
            ({"item_catalog": range(1, 31)}, "id.unknown"),
            ({"n_users": 0}, "option.value"),
            ({"n_users": -3}, "option.value"),
            ({"n_users": 2.5}, "option.value"),
            ({"n_users": 10**400}, "option.value"),
            ({"rating_grid": "halves"}, "option.value"),
            ({"seed": -1}, "option.value"),
            ({"delta": 0.7}, "option.value"),
            ({"delta": 0.011}, "option.value"),
            ({"delta": 0.0}, "option.value"),
        ],
        ids=str,
    )
    def test_by_name(self, options, code):
        with raises(code) as error:
            made(**options)
        assert len(str(error.value)) < 300

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"item_catalog": "foo"}, "input.unreadable"),
            ({"item_catalog": 5}, "argument.type"),
            ({"ledger": 5}, "argument.type"),
        ],
        ids=str,
    )
    def test_a_catalogue_or_a_ledger_that_is_none_at_construction(self, options, code):
        with raises(code):
            Synthesizer(3.0, **options)

    def test_a_catalogue_of_one_item_before_any_query(self, tmp_path):
        ledger = tmp_path / "ledger.sqlite"
        one = Ratings.from_columns(
            np.arange(300), np.full(300, 5), np.tile([1, 4], 150), scale=STARS
        )
        for catalog in ("as-rated", [5]):
            with raises("budget.too-small", "item-catalog") as caught:
                Synthesizer(3.0, item_catalog=catalog, ledger=ledger).anonymize(one)
            assert "spent" not in str(caught.value)
        assert not ledger.exists()

    @pytest.mark.parametrize("epsilon", ["many", 0.0, -1.0, 2_000.0, float("nan")], ids=str)
    def test_an_epsilon_that_is_none(self, epsilon):
        with raises("option.value") as caught:
            made(epsilon)
        assert "epsilon" in str(caught.value)

    def test_a_scale_that_was_read_off_the_ratings(self):
        scale = RatingScale(1, 5, 1, inferred=True)
        with raises("scale.inferred"):
            made(ratings=as_if(RATINGS, scale=scale))
        assert made(None, as_if(RATINGS, scale=scale)).published.n_users == 300

    def test_a_scale_of_one_value(self):
        """Nothing is asked before it is refused."""
        likes = Ratings.from_columns(["ann", "ben"] * 20, list(range(40)), [1] * 40)
        with raises("scale.invalid"):
            Synthesizer(10.0, item_catalog="as-rated").anonymize(
                Ratings(
                    likes.users,
                    likes.items,
                    likes.indptr,
                    likes.indices,
                    likes.values,
                    None,
                    RatingScale(1, 1, 1),
                )
            )

    def test_whole_ratings_of_a_scale_without_steps(self):
        ratings = as_if(RATINGS, scale=RatingScale(1, 5))
        with raises("option.unsupported"):
            made(ratings=ratings, rating_grid="whole")

    def test_likes(self):
        with raises("table.kind"):
            made(None, as_if(RATINGS, values=np.full(RATINGS.n_ratings, 5.0)))

    def test_noise_that_hides_everything(self):
        with raises("budget.too-small"):
            made(0.01)


class TestStatements:
    def test_the_owner_hears_how_much_the_noise_hides(self):
        result = " ".join(describe_summary(summarize(made(3.0), RATINGS)))
        assert "warning: the noise hides" in result

    def test_and_nothing_of_that_where_it_hides_little(self):
        ratings = make_ratings(900, 40, 15_000, seed=3, scale=STARS)
        result = " ".join(describe_summary(summarize(made(1_000.0, ratings), ratings)))
        assert "above the noise" in result
        assert "warning: the noise" not in result

    def test_a_large_delta_is_said_aloud(self, tmp_path):
        for delta, is_stated in ((2e-3, True), (1e-6, False)):
            release = made(seed=None, delta=delta)
            release.write(tmp_path / f"{delta}")
            aloud = "delta is 0.002: in one of 500 releases, there may be no guarantee"
            assert is_stated == (aloud in " ".join(describe_summary(summarize(release, RATINGS))))
            limits = {limit.code for limit in verify(tmp_path / f"{delta}").not_covered}
            assert is_stated == ("large-delta" in limits)

    def test_exact_sums_have_no_noise(self):
        result = " ".join(describe_summary(summarize(made(None), RATINGS)))
        assert "noise" not in result.partition("Exact sums")[0]


@pytest.mark.parametrize("form", ["format_3", "format_4"])
def test_users_are_drawn_from_models_of_older_formats(form, tmp_path):
    """The promise and its ledger are of that format, and so is what is drawn."""
    stored = Path(__file__).parents[2] / "verification" / form / "synthetic-model"
    found = sample(stored, tmp_path / "drawn", n_users=35, seed=1)
    assert (found.holds, found.users) == (True, 35)
    assert verify(tmp_path / "drawn").holds
    before, after = (
        json.loads((folder / "release.json").read_text()) for folder in (stored, tmp_path / "drawn")
    )
    assert (before["format"], before["claim"]) == (after["format"], after["claim"])
