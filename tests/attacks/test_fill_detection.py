from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import Adversary, AttackTarget, Candidates, attack_release
from recveil.attacks.inference import fill_detection
from recveil.attacks.inference.fill_detection import STRIKES, find_strikes, left_untried, strike_out
from recveil.attacks.reidentification.on_release import find_co_rated_strikes
from recveil.methods import KCoRater
from recveil.predict import UserKNN
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records

STARS = RatingScale(1, 5, 1)
KNOWS_AN_ITEM = Adversary(known=1, rating_error=None)
OFF_SCALE, COMMONEST = "values off the scale", "the most frequent value of each item"
PREDICTED, RARE = "values that the other rows predict", "rare values"


def records_of(rows):
    """Records of one user each, from rows of {item: label}."""
    indptr = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in sorted(row)], np.int32)
    values = np.array([row[item] for row in rows for item in sorted(row)], np.float64)
    return Records(np.ones(len(rows), np.int64), indptr, items, values)


def candidates_of(rows, n_items=4):
    return Candidates.from_records([records_of(rows)], n_items, STARS)


def rows_of(candidates):
    """The rows of candidates that are listed by item."""
    rows = [{} for _ in range(candidates.n_records)]
    for item in range(candidates.indptr.size - 1):
        for at in range(candidates.indptr[item], candidates.indptr[item + 1]):
            rows[candidates.records[at]][item] = candidates.levels[candidates.codes[at]]
    return rows


def co_rated(rows, n_items=4):
    """A table in which the record of user u is row u."""
    records = records_of(rows)
    all_users = np.arange(len(rows))
    return AttackTarget(
        candidates_of(rows, n_items),
        *(records.indptr, records.indices, records.values),
        *(all_users, 1, np.ones(len(rows), np.int64), True),
    )


class TestFillsOffTheScaleByHand:
    """User 0 rated items 0 and 1, user 1 items 2 and 3; the other cells are filled."""

    ratings = Ratings.from_columns([0, 0, 1, 1], [0, 1, 2, 3], [5, 1, 4, 2], scale=STARS)
    table = co_rated([{0: 5, 1: 1, 2: 3.7, 3: 2.2}, {0: 4.4, 1: 1.3, 2: 4, 3: 2}])

    def test_without_the_strike_both_rows_hold_every_item(self):
        plain = attack_release(self.ratings, self.table, KNOWS_AN_ITEM, np.arange(2), strikes={})
        assert plain.reidentified.rate == (1 / 2 + 1 / 2) / 2
        assert plain.class_reidentified.rate == 0

    def test_with_it_each_item_leads_to_the_one_who_rated_it(self):
        found = attack_release(self.ratings, self.table, KNOWS_AN_ITEM, np.arange(2))
        assert found.reidentified.rate == found.class_reidentified.rate == 1
        assert found.attack.endswith(f", without {OFF_SCALE}")
        # The item that was not known stands in the row that was found, as it was given.
        assert found.exact.rate == 1

    def test_who_cannot_be_attacked_counts_as_not_found(self):
        # No user but users 0 and 1 is in the release; 2 to 4 have no rating in it.
        ratings = Ratings.from_columns(
            [0, 0, 1, 1, 2, 3], [0, 1, 2, 3, 0, 0], [5, 1, 4, 2, 3, 3], scale=STARS
        )
        all_users = np.array([0, 1, -1, -1])
        table = replace(self.table, record_of=all_users)
        found = attack_release(ratings, table, KNOWS_AN_ITEM, np.arange(4))
        assert found.reidentified.rate == 2 / 4
        assert found.reidentified.trials == 4
        two = attack_release(ratings, table, Adversary(known=2, rating_error=None), np.arange(4))
        assert (two.requested, two.skipped) == (4, 2)
        assert two.reidentified.rate == 2 / 4

    def test_a_release_that_claims_identical_rows_is_not_searched_for_fills(self):
        table = replace(self.table, co_rated=False)
        assert find_co_rated_strikes(table, STARS) == {}
        found = attack_release(self.ratings, table, KNOWS_AN_ITEM, np.arange(2))
        assert found.reidentified.rate == 1 / 2


def test_records_that_are_equal_once_struck_share_their_score():
    # Users 0 and 1 both gave item 0 five stars; their fills of item 1 distinguish them, but say
    # nothing of them. Item 1 was rated by user 2, whose item 0 is filled.
    ratings = Ratings.from_columns([0, 1, 2], [0, 0, 1], [5, 5, 3], scale=STARS)
    table = co_rated([{0: 5, 1: 2.2}, {0: 5, 1: 3.1}, {0: 4.6, 1: 3}], 2)
    found = attack_release(ratings, table, KNOWS_AN_ITEM, np.arange(3))
    assert found.attack.endswith(OFF_SCALE)
    assert found.reidentified.rate == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert found.class_reidentified.rate == 1 / 3


class TestFindStrikes:
    def test_what_strikes_nothing_is_left_out(self):
        found = find_strikes(candidates_of([{0: 5, 1: 2}, {0: 4, 1: 2}]), STARS)
        assert OFF_SCALE not in found

    def test_what_strikes_everything_is_left_out(self):
        likes = candidates_of([{0: 1, 1: 1}, {0: 1, 2: 1}])
        assert find_strikes(likes, RatingScale(1, 1, 1)) == {}

    def test_no_prediction_where_fills_are_known(self, monkeypatch):
        monkeypatch.setitem(STRIKES, PREDICTED, lambda *_: pytest.fail("asked"))
        assert OFF_SCALE in find_strikes(candidates_of([{0: 5, 1: 2.5}, {0: 4, 1: 2}]), STARS)

    def test_labels_beyond_the_ends_are_off_the_scale(self):
        table = candidates_of([{0: 0, 1: 6, 2: 1, 3: 5}])
        assert STRIKES[OFF_SCALE](table, STARS).tolist() == [True, True, False, False]

    def test_what_single_precision_does_to_a_rating_is_not_off_the_scale(self):
        tenths = RatingScale(0, 1, 0.1)
        values = tenths.levels.astype(np.float32).astype(np.float64)
        table = candidates_of([dict(enumerate(values))], values.size)
        assert not STRIKES[OFF_SCALE](table, tenths).any()

    def test_very_many_different_fills_do_not_hide_a_rating(self):
        # More labels than the search holds are moved to a grid, ratings with them.
        rng = np.random.default_rng(1)
        scale = RatingScale(0, 100, 0.1)
        ratings = rng.choice(scale.levels, 30_000)
        values = np.concatenate([ratings, rng.uniform(0, 100, 70_000)])
        rows = np.array([0, values.size]), np.arange(values.size, dtype=np.int32), values
        records = Records(np.ones(1, np.int64), *rows)
        table = Candidates.from_records([records], values.size, scale)
        off = STRIKES[OFF_SCALE](table, scale)
        assert not off[:30_000].any()
        assert off[30_000:].mean() > 0.95
        # Ratings are then what they were.
        assert set(strike_out(table, off, scale).levels) == set(ratings)

    def test_the_commonest_label_counts_users(self):
        # Item 0: one record of three users has 4, two of one user each have 3.
        records = replace(records_of([{0: 4}, {0: 3}, {0: 3}]), sizes=np.array([3, 1, 1]))
        table = Candidates.from_records([records], 1, STARS)
        assert STRIKES[COMMONEST](table, STARS).tolist() == [True, False, False]

    def test_on_a_continuous_scale_rare_labels_give_fills_away(self, invented):
        ratings = replace_scale(invented, RatingScale(1, 5))
        release = KCoRater(5, "similarity", seed=1).anonymize(ratings)
        table = AttackTarget.from_release(release, ratings)
        found = find_co_rated_strikes(table, ratings.scale)
        assert OFF_SCALE not in found
        assert PREDICTED not in found
        real = np.isin(table.candidates.levels, STARS.levels)[table.candidates.codes]
        assert not found[RARE][real].any()
        assert found[RARE][~real].mean() > 0.95

    def test_predictions_are_those_of_the_other_rows(self, invented):
        release = KCoRater(5, "similarity", seed=1).anonymize(invented)
        table = AttackTarget.from_release(release, invented)
        struck = find_co_rated_strikes(table, invented.scale)[PREDICTED]
        names = np.arange(table.indptr.size - 1), np.arange(invented.n_items)
        rows = Ratings(*names, table.indptr, table.indices, table.values, None, RatingScale(1, 5))
        owners = np.repeat(names[0], np.diff(table.indptr))
        expected = np.rint(UserKNN().fit(rows).predict(owners, table.indices)) == table.values
        by_item = np.lexsort((owners, table.indices))
        assert np.array_equal(struck, expected[by_item])

    def test_too_many_labels_are_not_predicted_and_that_is_said(self, monkeypatch):
        table = candidates_of([{0: 4, 1: 4}, {0: 4, 1: 4}])
        assert STRIKES[PREDICTED](table, STARS).any()
        assert left_untried(table, []) == ""
        monkeypatch.setattr(fill_detection, "MOST_PREDICTED", 3)
        assert not STRIKES[PREDICTED](table, STARS).any()
        assert left_untried(table, [COMMONEST]) == PREDICTED
        assert left_untried(table, [OFF_SCALE, COMMONEST]) == ""


def replace_scale(ratings, scale):
    return Ratings(
        *(ratings.users, ratings.items, ratings.indptr, ratings.indices, ratings.values),
        *(None, scale),
    )


tables = st.lists(
    st.dictionaries(st.integers(0, 3), st.sampled_from([1.0, 2.0, 2.5, 4.0]), min_size=1),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(tables)
def test_the_commonest_label_against_a_counter(rows):
    counts = defaultdict(Counter)
    for row in rows:
        for item, label in row.items():
            counts[item][label] += 1
    # Of equally common ones the lowest.
    often = {item: max(sorted(of), key=of.__getitem__) for item, of in counts.items()}
    table = candidates_of(rows)
    left = rows_of(strike_out(table, STRIKES[COMMONEST](table, STARS), STARS))
    assert left == [
        {item: label for item, label in row.items() if label != often[item]} for row in rows
    ]


@settings(deadline=None)
@given(tables)
def test_what_is_left_is_as_if_it_had_been_published_so(rows):
    table = candidates_of(rows)
    left = strike_out(table, STRIKES[OFF_SCALE](table, STARS), STARS)
    kept = [{item: label for item, label in row.items() if label != 2.5} for row in rows]
    expected = candidates_of(kept)
    for name in ("indptr", "records", "codes", "levels", "sizes", "activity"):
        assert np.array_equal(getattr(left, name), getattr(expected, name)), name


@pytest.mark.parametrize("fill", ["item-mean", "similarity", "random"])
@pytest.mark.parametrize("round_fills", [True, False])
@pytest.mark.parametrize("protect", ["none", "shuffle"])
def test_strikes_never_find_fewer(fill, round_fills, protect, invented):
    rater = KCoRater(5, fill, round_fills=round_fills, protect=protect, seed=1)
    table = AttackTarget.from_release(rater.anonymize(invented), invented)
    assert table.co_rated
    targets = np.arange(invented.n_users)
    items = Adversary(known=4, rating_error=None)
    for adversary in (items, Adversary(known=4)):
        plain = attack_release(invented, table, adversary, targets, strikes={})
        found = attack_release(invented, table, adversary, targets)
        assert found.reidentified.rate >= plain.reidentified.rate
        assert found.reidentified.trials == found.requested == invented.n_users
        if adversary is items and fill == "similarity" and not round_fills and protect == "none":
            assert found.reidentified.rate > 5 * plain.reidentified.rate
            assert found.attack.endswith(OFF_SCALE)


def test_a_written_release_says_that_it_is_co_rated(invented, tmp_path):
    release = KCoRater(5, "similarity", round_fills=False, seed=1).anonymize(invented)
    release.write(tmp_path / "out")
    for table in (
        AttackTarget.from_folder(tmp_path / "out", invented),
        AttackTarget.from_published(tmp_path / "out", invented),
    ):
        assert list(find_co_rated_strikes(table, invented.scale)) == [OFF_SCALE, COMMONEST]
    mean = KCoRater(5, protect="mean", seed=1).anonymize(invented)
    assert not AttackTarget.from_release(mean, invented).co_rated
