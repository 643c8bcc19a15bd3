"""The ends of a scale that was not named may be one user's ratings."""

import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import read_ratings, understand
from recveil.methods import KCoRater, PredictiveAnonymizer, anonymize
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.ratings import count_users, doubts_of, reject_doubts


def invented(*extra: float) -> Ratings:
    """Return whole stars of 40 users, without a scale; the first few gave the extra ratings."""
    made = make_ratings(n_users=40, n_items=30, n_ratings=600, seed=1)
    values = made.values.copy()
    values[made.indptr[: len(extra)]] = extra
    return Ratings.from_columns(made.user_positions(), made.indices, values)


@pytest.mark.parametrize("value", [11.5, 55.0, -1.0])
@pytest.mark.parametrize(
    "anonymizer",
    [PredictiveAnonymizer(5, seed=1), PredictiveAnonymizer(5, "simple", seed=1), KCoRater(5)],
)
def test_one_users_rating_is_never_the_end_of_a_published_scale(anonymizer, value):
    with raises("scale.inferred") as refused:
        anonymizer.anonymize(invented(value))
    assert "--scale 1:5:1" in str(refused.value)
    assert "--drop-off-scale" in str(refused.value)
    assert len(str(refused.value)) < 300


def test_the_verb_refuses_it_and_takes_the_remedy(tmp_path):
    lines = [f"{user},{item},{1 + (user + item) % 5}" for user in range(20) for item in range(10)]
    lines[3] = "0,3,11.5"
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *lines]))
    with raises("scale.inferred") as error:
        anonymize(tmp_path / "r.csv", tmp_path / "out", k=4, method="predictive")
    assert "11.5" in str(error.value)
    assert "1 user" in str(error.value)
    remedy = {"scale": RatingScale(1, 5, 1), "drop_off_scale": True}
    made = anonymize(tmp_path / "r.csv", tmp_path / "out", k=4, **remedy)
    assert made.reading.off_scale_dropped == 1
    assert made.ratings.n_ratings == 199
    assert str(made.release.published.scale) == "1:5:1"


def test_two_users_at_two_ends_of_the_scale():
    found = doubts_of(invented(11.5, 55, 11.5), 3)
    assert [(end.side, end.value, end.n_users) for end in found] == [("high", 55.0, 1)]
    with raises("scale.inferred") as error:
        reject_doubts(invented(11.5, 55, 11.5), 3)
    assert "--scale 1:5:1" in str(error.value)


@pytest.mark.parametrize(
    ("values", "k", "is_doubtful"),
    [
        ([1, 2, 3, 4, 5] * 4, 4, False),
        ([1, 2, 3, 4, 5] * 4, 5, True),  # each used by four users
        ([0] * 9 + [1] * 5 + [2] * 6, 2, True),  # more zeros than ones
        ([0] * 4 + [1] * 5 + [2] * 6, 2, False),  # a scale from 0 on
        ([99] * 9 + [1] * 5 + [2] * 6, 2, True),
        ([-1] * 9 + [1, 2, 3, 4, 5] * 3, 2, True),
        ([100] * 5 + [80] * 5 + [90] * 5, 2, False),
    ],
)
def test_ends_and_marks_for_no_rating(values, k, is_doubtful):
    ratings = Ratings.from_columns(range(len(values)), [7] * len(values), values)
    assert bool(doubts_of(ratings, k)) == is_doubtful


def test_users_are_counted_once():
    ratings = Ratings.from_columns([1, 1, 2, 3], [7, 8, 7, 7], [5, 5, 5, 1])
    assert (count_users(ratings, "high"), count_users(ratings, "low")) == (2, 1)


def test_a_continuous_scale_has_ends_that_are_a_tenth_wide():
    values = np.random.default_rng(1).uniform(0, 1, 400)
    cluster = Ratings.from_columns(np.arange(400) % 100, np.arange(400) // 100, values)
    assert doubts_of(cluster, 10) == []
    lonely = Ratings.from_columns(
        np.arange(400) % 100, np.arange(400) // 100, np.append(values[:-1], 3.456789)
    )
    assert [end.side for end in doubts_of(lonely, 10)] == ["high"]


def test_a_named_scale_is_kept():
    ratings = invented(11.5)
    assert doubts_of(ratings.with_scale(RatingScale(1, 11.5, 0.5)), 5) == []
    # Even if they found it by looking.
    named = Ratings.from_columns(
        ratings.user_positions(), ratings.indices, ratings.values, scale=ratings.scale
    )
    assert not named.scale.inferred


def test_reading_records_that_the_scale_was_inferred(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n1,7,4\n2,7,2\n")
    assert read_ratings(tmp_path / "r.csv").scale.inferred
    assert understand(tmp_path / "r.csv", k=2).ratings.scale.inferred
    result = understand(tmp_path / "r.csv")
    assert result.ratings.scale.inferred  # a publisher must hear of it
    assert not result.settled().ratings.scale.inferred
    assert [note[:23] for note in result.notes] == ["The scale is inferred: "] * 2


def test_dropping_needs_a_scale_and_leaves_something():
    table = {"users": [1, 2], "items": [7, 7], "ratings": [4, 2]}
    frame = Ratings.from_columns(*table.values()).to_arrow()
    with raises("option.required"):
        Ratings.from_frame(frame, drop_off_scale=True)
    with raises("table.no-ratings"):
        Ratings.from_frame(frame, scale=RatingScale(10, 20, 1), drop_off_scale=True)


@pytest.mark.parametrize("rated", [("4", "2"), ("love", "hate")], ids=["numbers", "words"])
@pytest.mark.parametrize("header", ["user,item,rating\n", "rating,user,item\n"])
def test_rows_without_a_rating_are_left_out_and_counted_apart(tmp_path, rated, header):
    rows = [("1", "7", ""), ("1", "8", rated[0]), ("2", "9", "99"), ("2", "7", rated[1])]
    rows = [row if header.startswith("user") else (row[2], *row[:2]) for row in rows]
    (tmp_path / "r.csv").write_text(header + "".join(f"{','.join(row)}\n" for row in rows))
    scale = RatingScale(1, 5, 1) if rated[0] == "4" else RatingScale.of_labels("hate,love")
    with raises("rating.missing") as error:
        understand(tmp_path / "r.csv", scale=scale)
    assert "line 2" in str(error.value)
    found = understand(tmp_path / "r.csv", scale=scale, drop_off_scale=True)
    assert found.ratings.n_ratings == 2
    assert (found.unrated_dropped, found.off_scale_dropped) == (1, 1)
    assert found.to_dict()["unrated_dropped"] == 1
    (note,) = [note for note in found.notes if "rating is missing" in note]
    assert note == (
        "1 row was dropped, because the rating is missing (drop_off_scale, --drop-off-scale)."
    )


@pytest.mark.parametrize("gone", [None, float("nan")])
def test_of_a_frame_nothing_is_no_rating_and_nan_is_none_either(gone):
    frame = pa.table({"user": [1, 1, 2], "item": [7, 8, 7], "rating": pa.array([4.0, gone, 2.0])})
    with pytest.warns(UserWarning, match="1 row was dropped"):
        found = Ratings.from_frame(frame, scale=RatingScale(1, 5, 1), drop_off_scale=True)
    assert found.n_ratings == 2


def test_a_table_in_which_nothing_is_rated_is_refused_all_the_same():
    nothing = pa.array([None, None], pa.float64())
    frame = pa.table({"user": [1, 2], "item": [7, 7], "rating": nothing})
    with raises("table.no-ratings") as error:
        Ratings.from_frame(frame, scale=RatingScale(1, 5, 1), drop_off_scale=True)
    assert "all 2 ratings" in str(error.value)


def test_places_in_errors_count_dropped_rows(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n1,7,99\n1,8,\n1,8,4\n2,9,99\n,7,3\n")
    with raises("id.missing") as error:
        understand(path, scale=RatingScale(1, 5, 1), drop_off_scale=True)
    assert "line 6" in str(error.value)


@pytest.mark.parametrize(("odd", "scale"), [(3.5, "1:5:0.5"), (3.7, "1:5:0.1"), (3.14159, "1:5")])
def test_one_users_rating_is_never_the_step_of_a_published_scale(odd, scale):
    ratings = invented(odd)
    assert str(ratings.scale) == scale
    (doubt,) = doubts_of(ratings, 5)
    assert (doubt.side, doubt.n_users) == ("step", 1)
    with raises("scale.inferred") as refused:
        PredictiveAnonymizer(5, "simple", seed=1).anonymize(ratings)
    assert "such as 3" in str(refused.value)
    assert "--scale 1:5:1" in str(refused.value)


def test_the_named_scale_holds_the_rare_ratings_on_its_grid():
    """Two of 40 users gave 0.5: with 1:5:0.5 and --drop-off-scale their ratings would be lost."""
    made = make_ratings(40, 30, 600, seed=1, scale=RatingScale(1, 5, 0.5))
    values = made.values.copy()
    values[made.indptr[:2]] = 0.5
    half = Ratings.from_columns(made.user_positions(), made.indices, values)
    with raises("scale.inferred", "--scale 0.5:5:0.5"):
        reject_doubts(half, 5)
    values[made.indptr[:3]] = [0.5, 0.5, 99]
    marked = Ratings.from_columns(made.user_positions(), made.indices, values)
    with raises("scale.inferred", "--scale 0.5:5:0.5"):
        reject_doubts(marked, 5)
    for extra, scale in (((6.0,), "1:6:1"), ((7.0,), "1:5:1"), ((6.0, 7.0), "1:7:1")):
        with raises("scale.inferred", f"--scale {scale}"):
            reject_doubts(invented(*extra), 5)


def test_half_stars_of_many_users_are_steps():
    made = make_ratings(40, 30, 600, seed=1, scale=RatingScale(0.5, 5, 0.5))
    half = Ratings.from_columns(made.user_positions(), made.indices, made.values)
    assert doubts_of(half, 2) == []
    # Each of 1.5, 2.5, 3.5 and 4.5 by two users only, but together by eight.
    whole = invented()
    values = whole.values.copy()
    values[whole.indptr[:8]] = [1.5, 2.5, 3.5, 4.5] * 2
    few = Ratings.from_columns(whole.user_positions(), whole.indices, values)
    assert str(few.scale) == "1:5:0.5"
    assert (doubts_of(few, 5), len(doubts_of(few, 9))) == ([], 1)


def test_no_way_around_the_refusal():
    made = invented(11.5)
    frame = made.to_arrow()
    for found in (understand(frame), understand(made), understand(frame, k=5)):
        with raises("scale.inferred"):
            PredictiveAnonymizer(5, seed=1).anonymize(found.ratings)


@pytest.mark.filterwarnings("error")
def test_ends_beyond_all_ratings_are_compared_in_silence():
    ratings = Ratings.from_columns([1, 2], [1, 1], [3.0, 4.0], scale=RatingScale(0, 1e300, 1e300))
    assert [count_users(ratings, side) for side in ("low", "high")] == [2, 0]
