"""Dates of synthetic users: what one user adds, and what follows from the noisy sums alone."""

import json
import shutil

import forging
import independent
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil import anonymize, evaluate
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer
from recveil.methods.synthetic.periods import (
    AGE_PART,
    FIRST_PART,
    ITEM_PART,
    SPAN_PART,
    ask_dates,
    date_sums,
    fit_lives,
    relative_popularity,
)
from recveil.methods.synthetic.sum_queries import SHARES
from recveil.methods.synthetic.synthesizer import Budget
from recveil.ratings import Ratings, RatingScale
from recveil.release.dates import DATE_RANGE, periods_within
from recveil.release.synthetic_form import QUERY_OF_DATES, n_span_bins, values_of_dates
from recveil.verification import verify
from shared.methods_synthetic_sum_queries import CATALOGUE, asked, measured

pytestmark = pytest.mark.usefixtures("rough_fit")

STARS, GRID, N_ITEMS = RatingScale(1, 5, 1), 2.0**-20, 6
FIRSTS = periods_within("month", "2026-01:2026-04")
JANUARY = int(FIRSTS[0])
# Items of another order than in the table, not all of them.
DATED = np.array([4, 0, 1, 5])
RANGE = {"dates": "month", "date_range": "2026-01:2026-04"}
OPTIONS = {"epsilon": 60.0, "item_catalog": "as-rated", **RANGE}


def dated_table(users, n_items=N_ITEMS, scale=STARS):
    """Users as dictionaries from an item's position to its day."""
    items = [sorted(one) for one in users]
    days = [one[item] for one, of in zip(users, items, strict=True) for item in of]
    indptr = np.concatenate([[0], np.cumsum([len(of) for of in items])])
    indices = [item for of in items for item in of]
    names = np.arange(len(users)), np.arange(n_items)
    return Ratings(*names, indptr, indices, np.full(len(days), 3.0), days, scale)


def sums_of(users, firsts=FIRSTS, dated=DATED):
    if not users:
        return 0 * date_sums(dated_table([{0: JANUARY}]), dated, firsts, GRID)
    return date_sums(dated_table(users), dated, firsts, GRID)


def square(whole):
    return sum(int(number) ** 2 for number in whole)


def one_user():
    # Some days are before or after the range.
    days = st.integers(JANUARY - 40, JANUARY + 160)
    return st.dictionaries(st.integers(0, N_ITEMS - 1), days, min_size=1, max_size=N_ITEMS)


class TestOneUser:
    def test_by_hand(self):
        """Two of four ratings are of dated items; three are in January, none between, one last."""
        user = {0: JANUARY, 1: JANUARY + 95, 2: JANUARY + 5, 3: JANUARY + 30}
        found = sums_of([user]) * GRID
        items, first, span, ages = np.split(found, np.cumsum([16, 4, 3]))
        expected = np.zeros((4, 4))
        expected[1, 0] = expected[2, 3] = np.sqrt(0.8 / 2)
        assert items.reshape(4, 4) == pytest.approx(expected, abs=1e-5)
        assert first == pytest.approx(np.sqrt([0.1, 0, 0, 0]), abs=1e-5)
        assert span == pytest.approx(np.sqrt([0, 0, 0.06]), abs=1e-5)  # of 2 to 3 periods
        assert ages == pytest.approx([0.2 * 0.75, 0, 0.2 * 0.25], abs=1e-5)
        assert found.size == values_of_dates(4, 4)
        assert sum([ITEM_PART, FIRST_PART, SPAN_PART, AGE_PART]) == pytest.approx(1)

    def test_ratings_outside_the_range_count_in_its_ends(self):
        early, late = {0: JANUARY - 400, 4: JANUARY + 999}, {0: JANUARY, 4: JANUARY + 100}
        assert (sums_of([early]) == sums_of([late])).all()

    @given(st.lists(one_user(), min_size=1, max_size=5), st.data())
    def test_with_and_without_a_user(self, users, data):
        """A user adds the same whatever the others are, and no more than 1 in length."""
        place = data.draw(st.integers(0, len(users) - 1))
        others = users[:place] + users[place + 1 :]
        alone = sums_of([users[place]])
        assert (sums_of(users) - sums_of(others) == alone).all()
        assert square(alone) <= 2**40

    @pytest.mark.parametrize("n_periods", [1, 2, 3, 120])
    @pytest.mark.parametrize("n", [1, 2, 1_000])
    def test_extreme_users_nearly_reach_one_and_no_more(self, n_periods, n):
        firsts, dated = np.arange(n_periods, dtype=np.int32), np.arange(n)
        early = dict.fromkeys(range(n), 0)
        for user in (early, early | {0: 10**6}):
            reached = square(date_sums(dated_table([user], n), dated, firsts, GRID)) / 2**40
            has_span = n > 1 and n_periods > 1 and user != early
            assert reached <= 1
            assert reached > (1 if has_span and n > 2 else 1 - AGE_PART) - 0.01

    def test_no_user_adds_nothing(self):
        assert not sums_of([]).any()
        assert not date_sums(dated_table([{2: JANUARY}]), np.array([4]), FIRSTS, GRID)[:4].any()


def test_a_canary_shows_no_more_than_promised(check_query):
    """The only user of the last period, with many ratings."""
    n_items = 60
    rng = np.random.default_rng(3)
    others = [{int(i): JANUARY for i in rng.choice(n_items, 5)} for _ in range(60)]
    extreme = dict.fromkeys(range(n_items), JANUARY + 110)
    without, with_them = (
        date_sums(dated_table(of, n_items), np.arange(n_items), FIRSTS, GRID)
        for of in (others, [*others, extreme])
    )

    check_query(with_them, without, GRID)


def with_days(ratings, days):
    parts = [getattr(ratings, name) for name in ("users", "items", "indptr", "indices", "values")]
    return Ratings(*parts, days, ratings.scale)


def random_days(ratings, seed=1):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 118, ratings.n_users)[ratings.user_positions()]
    return with_days(ratings, JANUARY + first + rng.integers(0, 20, ratings.n_ratings))


RATINGS = random_days(make_ratings(300, 40, 5_000, seed=3, scale=STARS))
PUBLIC = CATALOGUE._replace(firsts=FIRSTS)
SIGMAS = Budget.of(60.0, 1e-6).sigmas(SHARES | {"dates": QUERY_OF_DATES.share})


class TestAnswersAlone:
    def test_other_ratings_with_the_same_answer_give_the_same(self, heard_by, stated_again):
        choices, heard = measured().choices, heard_by(1, SIGMAS)
        first = ask_dates(RATINGS, heard, choices, PUBLIC, SIGMAS)
        others = random_days(make_ratings(37, 40, 300, seed=99, scale=STARS), seed=2)
        again = stated_again(heard.answers)
        second = ask_dates(others, again, choices, PUBLIC, SIGMAS)
        assert all(np.array_equal(*parts) for parts in zip(first, second, strict=True))
        assert set(again.exact) == {"dates"}
        assert not np.array_equal(again.exact["dates"], heard.answers["dates"])

    def test_it_is_asked_once_and_paid(self, heard_by):
        choices, heard = measured().choices, heard_by(1, SIGMAS)
        ask_dates(RATINGS, heard, choices, PUBLIC, SIGMAS)
        (query,) = heard.ledger().queries
        assert (query.name, query.what, query.sensitivity) == (*QUERY_OF_DATES[:2], 1.0)
        share = QUERY_OF_DATES.share / (1 + QUERY_OF_DATES.share)
        assert query.mu == pytest.approx(Budget.of(60.0, 1e-6).mu * np.sqrt(share))
        with raises("budget.spent"):
            ask_dates(RATINGS, heard, choices, PUBLIC, SIGMAS)

    def test_without_dates_nothing_is_asked(self):
        mechanism, sigmas = asked()
        assert ask_dates(RATINGS, mechanism, measured().choices, CATALOGUE, sigmas) is None
        assert not mechanism.has_queried


class TestPopularity:
    POPULARITY = np.repeat([30.0, 20.0, 10.0], 20)
    USUAL = np.array([0.2, 0.3, 0.5])

    def noisy(self, exact, noise):
        return exact + noise * np.random.default_rng(1).normal(size=exact.shape)

    def test_a_planted_course_is_found(self):
        """The first item of each twenty is only in the last period."""
        exact = np.outer(self.POPULARITY, self.USUAL)
        exact[::20] = np.outer(self.POPULARITY[::20], [0, 0, 1])
        found = relative_popularity(self.noisy(exact, 0.5), 0.5, self.POPULARITY)
        assert found[::20, 2].min() > 1.6
        assert found[::20, 0].max() < 0.4
        others = np.delete(found, [0, 20, 40], axis=0)
        assert np.abs(others - 1).mean() < 0.1

    def test_noise_alone_is_no_course(self):
        exact = np.outer(self.POPULARITY, self.USUAL)
        noisy = self.noisy(exact, 3.0)
        found = relative_popularity(noisy, 3.0, self.POPULARITY)
        naive = noisy / exact
        assert np.abs(found - 1).mean() < 0.15 * np.abs(naive - 1).mean()

    def test_of_a_period_that_noise_hides_nothing_is_said(self):
        exact = np.outer(self.POPULARITY, [0.5, 0.5, 0.0])
        found = relative_popularity(self.noisy(exact, 0.5), 0.5, self.POPULARITY)
        assert (found[:, 2] == 1).all()
        assert (relative_popularity(-exact, 0.5, self.POPULARITY) == 1).all()


class TestLives:
    @given(
        st.lists(st.just(0.0) | st.floats(0.01, 1), min_size=2, max_size=9).filter(any),
        st.lists(st.just(0.0) | st.floats(0.01, 1), min_size=5, max_size=5).filter(any),
    )
    def test_first_periods_are_kept_and_nobody_ends_before_they_begin(self, first, span):
        of_first = np.array(first) / sum(first)
        of_span = np.array(span)[: n_span_bins(len(first))]
        lives = fit_lives(of_first, of_span / (of_span.sum() or 1))
        assert lives.sum(axis=1) == pytest.approx(of_first, abs=1e-9)
        assert not np.tril(lives, -1).any()
        assert (lives >= 0).all()


def drawn(ratings, seed=1, **options):
    """Return the synthetic users' items, first days and days, as one block."""
    release = Synthesizer(**OPTIONS, seed=seed, **options).anonymize(ratings)
    (block,) = release.published.blocks()
    return block


class TestSyntheticUsers:
    def test_they_join_and_leave_when_real_ones_do(self):
        block = drawn(RATINGS, n_users=2_000)
        assert np.isin(block.days, FIRSTS).all()
        joined = [
            np.minimum.reduceat(np.searchsorted(FIRSTS, days, "right"), indptr[:-1]) - 1
            for days, indptr in ((block.days, block.indptr), (RATINGS.days, RATINGS.indptr))
        ]
        shares, real = (np.bincount(of, minlength=4) / of.size for of in joined)
        assert shares == pytest.approx(real, abs=0.05)

    def test_an_item_that_comes_late_is_rated_late(self):
        """Item 0 and half of the others' ratings are of April."""
        days = np.where(RATINGS.user_positions() % 2, JANUARY, JANUARY + 95)
        kept = (RATINGS.indices != 0) | (days > JANUARY)
        indptr = np.concatenate([[0], np.cumsum(kept)])[RATINGS.indptr]
        parts = RATINGS.indices[kept], RATINGS.values[kept], days[kept]
        table = Ratings(RATINGS.users, RATINGS.items, indptr, *parts, STARS)
        block = drawn(table, n_users=2_000)
        late = block.days == FIRSTS[3]
        assert late[block.indices == 0].mean() > 0.9
        assert late[block.indices != 0].mean() == pytest.approx(0.5, abs=0.06)

    def test_a_seed_repeats_them(self):
        one, two = drawn(RATINGS), drawn(RATINGS)
        assert (one.days == two.days).all()
        assert (one.indices == two.indices).all()

    def test_likes_have_dates_too(self):
        likes = RATINGS.as_likes()
        block = drawn(likes)
        assert np.isin(block.days, FIRSTS).all()
        assert np.unique(block.days).size > 1

    def test_without_a_list_of_items(self):
        release = Synthesizer(100.0, **RANGE, seed=1).anonymize(RATINGS)
        (block,) = release.published.blocks()
        assert block.days.size == block.indices.size

    def test_without_dates_the_ratings_dates_are_no_matter(self):
        plain = {"epsilon": 60.0, "item_catalog": "as-rated", "seed": 1}
        one, two = (
            next(Synthesizer(**plain).anonymize(of).published.blocks())
            for of in (RATINGS, with_days(RATINGS, None))
        )
        assert one.days is None
        assert (one.indices == two.indices).all()
        assert (one.values == two.values).all()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("periods")
    anonymize(RATINGS, folder / "ratings", **OPTIONS, file_format="csv", ledger="none")
    anonymize(RATINGS.as_likes(), folder / "likes", **OPTIONS, ledger="none")
    return folder


class TestRelease:
    @pytest.mark.parametrize("name", ["ratings", "likes"])
    def test_both_checkers_accept_it(self, made, name):
        found = verify(made / name)
        assert found.holds
        assert list(independent.problems(made / name)) == []
        content = json.loads((made / name / "release.json").read_text())
        assert content["format"] == "recveil-release-10"
        assert content["settings"]["date_range"] == "2026-01-01:2026-04-30"
        queries = content["claim"]["ledger"]["queries"]
        assert queries[-1]["name"] == "dates"
        card = (made / name / "README.md").read_text()
        assert "first day of a sampled month" in card
        assert "There are no dates" not in card

    def test_the_file_has_dates(self, made):
        table = pq.read_table(made / "likes" / "ratings.parquet")
        assert table.column_names == ["user_id", "item_id", "rating", "date"]

    @pytest.mark.parametrize(
        ("change", "place"),
        [
            (lambda result: result["settings"].update(date_range="2026-01-01:2026-03-31"), "date"),
            (lambda result: result["settings"].update(date_range=":2026-04-30"), "date_range"),
            (lambda result: result["settings"].update(date_range="1026-01-01:2026-04-30"), "range"),
            (lambda result: result["settings"].update(dates="decade"), "dates"),
            (lambda result: result["settings"].pop("date_range"), "settings"),
            (lambda result: result["claim"]["ledger"]["queries"].pop(), "queries"),
            (lambda result: result["claim"]["ledger"]["queries"][-1].update(values=9), "values"),
        ],
    )
    def test_forged_ones_are_found(self, made, tmp_path, change, place):
        shutil.copytree(made / "ratings", tmp_path / "out")
        forging.forge(tmp_path / "out", change)
        found = verify(tmp_path / "out")
        assert not found.holds
        assert any(place in violation.problem for violation in found.violations)

    def test_the_second_checker_finds_dates_outside_the_range(self, made, tmp_path):
        shutil.copytree(made / "ratings", tmp_path / "out")
        forging.forge(
            tmp_path / "out",
            lambda result: result["settings"].update(date_range="2026-01-01:2226-03-31"),
        )
        assert list(independent.problems(tmp_path / "out"))

    def test_an_evaluation_by_time_makes_another_with_dates(self, made):
        result = evaluate(
            RATINGS, made / "ratings", split_by="time", targets=10, with_membership=False
        ).to_dict()
        assert result["next_items"]["without_days"] == []


class TestRejected:
    @pytest.mark.parametrize(
        ("changes", "code", "place"),
        [
            ({"date_range": None}, "option.required", "date_range"),
            ({"dates": None}, "option.required", "dates"),
            ({"epsilon": None}, "option.conflict", "epsilon"),
            ({"dates": "decade"}, "option.value", "dates"),
            ({"date_range": ":2026"}, "option.value", "date_range"),
            ({"date_range": "soon"}, "option.value", "date_range"),
            ({"dates": "week", "date_range": "2020:2026"}, "option.value", "periods"),
            ({"dates": "order", "date_range": "2020:2026"}, "option.unsupported", "order"),
        ],
    )
    def test_options(self, changes, code, place):
        with raises(code, place):
            Synthesizer(**(OPTIONS | changes))

    def test_ratings_without_times(self):
        with raises("time.missing", "dates"):
            Synthesizer(**OPTIONS, seed=1).anonymize(with_days(RATINGS, None))
        with raises("time.missing", "dates"):
            date_sums(with_days(RATINGS, None), DATED, FIRSTS, GRID)

    def test_a_model(self, tmp_path):
        with raises("option.conflict", "layout"):
            anonymize(RATINGS, tmp_path / "out", **OPTIONS, layout="model", ledger="none")
        assert DATE_RANGE == "date_range"
