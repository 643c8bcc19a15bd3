import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import understand
from recveil.ratings import Ratings, RatingScale

TABLE = pa.table({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "rating": [1, 5, 3]})


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1, 2, 3, 4, 5], RatingScale(1, 5, 1)),
        ([0.5, 4, 3.5], RatingScale(0.5, 4, 0.5)),
        ([1, 3, 5], RatingScale(1, 5, 2)),
        ([1, 4, 6], RatingScale(1, 6, 1)),  # 3 and 5 share no larger step than 1
        ([3, 3], RatingScale(3, 3, None)),
        (np.array([0.1, 0.2, 0.9], np.float32), RatingScale(0.1, 0.9, 0.1)),
        ([-10, -9.99, 10], RatingScale(-10, 10, 0.01)),
    ],
)
def test_infer_finds_range_and_step(values, scale):
    assert RatingScale.infer(values) == scale


def test_infer_calls_numbers_without_a_common_step_continuous():
    values = np.random.default_rng(0).normal(size=1000)
    assert RatingScale.infer(values).step is None


@given(
    low=st.integers(-20, 20),
    step=st.sampled_from([0.1, 0.25, 0.5, 1, 2, 10]),
    n_steps=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_inferred_scale_holds_every_rating(low, step, n_steps, seed):
    ratings = low + step * np.random.default_rng(seed).integers(0, n_steps + 1, size=30)
    scale = RatingScale.infer(ratings.astype(np.float32))
    assert scale.contains(ratings.astype(np.float32)).all()
    assert np.allclose(scale.round(ratings), ratings, atol=1e-5)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
def test_any_finite_ratings_lie_on_the_scale_inferred_from_them(ratings):
    values = np.array(ratings, np.float32)
    assert RatingScale.infer(values).contains(values).all()


@pytest.mark.parametrize(
    "text", ["1", "a:b", "1:5:1:1", "5:1:1", "1:5:0", "1:5:-1", "1:5:3", "1:inf"]
)
def test_bad_scales_are_refused(text):
    with raises("scale.invalid"):
        RatingScale.parse(text)


def test_numbers_of_hundreds_of_digits_are_refused():
    with raises("scale.invalid"):
        RatingScale(1, 10**400)
    with raises("scale.invalid"):
        RatingScale(1, 5, 10**400)


@pytest.mark.parametrize(
    "text", ["1:5:1e-300", "1:5:1e-16", "0:1:1e-17", "1e17:2e17:1", "1:5:5e-324"]
)
def test_steps_that_lead_nowhere_are_refused(text):
    """All its levels would be a few numbers, and whether a rating is on it would mean nothing."""
    with raises("scale.invalid"):
        RatingScale.parse(text)


def test_fine_steps_that_lead_somewhere_stay():
    assert RatingScale.parse("1:5:1e-12").step == 1e-12
    assert RatingScale.parse("0:9007199254740992:1").step == 1
    assert RatingScale.infer([2.0**60, 2.0**60 + 256, 2.0**61]).contains(2.0**61).all()


def test_contains_is_exact_to_a_thousandth_of_a_step():
    scale = RatingScale(0.5, 5, 0.5)
    assert scale.contains([0.5, 5, np.float32(4.5)]).all()
    assert not scale.contains([0, 0.49, 5.5, 2.25, np.nan, np.inf]).any()


def test_round_goes_to_levels_and_never_beyond_the_ends():
    scale = RatingScale(1, 5, 1)
    assert scale.round([-3, 1.4, 1.6, 4.9, 80]).tolist() == [1, 1, 2, 5, 5]
    assert scale.round([1.26, 4.99], step=0.1).tolist() == [1.3, 5.0]


def test_round_gives_no_negative_zero():
    assert not np.signbit(RatingScale(-1, 1, 1).round([-0.2])).any()


def test_rounding_to_a_step_that_misses_the_end_stays_inside():
    assert RatingScale(1, 5, 1).round([5.0], step=3).max() <= 5


def test_a_continuous_scale_has_no_levels():
    with raises("scale.continuous"):
        _ = RatingScale(0, 1).levels


def test_scale_prints_as_it_is_read():
    for text in ("1:5:1", "0.5:5:0.5", "-10:10"):
        assert str(RatingScale.parse(text)) == text


def test_steps_finer_than_single_precision_take_what_it_holds():
    """A rating of 6 digits is stored as its nearest neighbour in single precision."""
    scale = RatingScale(-12, 12, 0.000001)
    ratings = np.array([0.76034, 2.687649, -11.999999, 11.123457], np.float32)
    assert scale.contains(ratings).all()
    assert scale.is_fine
    assert not RatingScale(1, 5, 0.5).is_fine
    # Coarse steps are as strict as before.
    assert not RatingScale(1, 5, 0.5).contains([4.502]).any()


@pytest.mark.parametrize(
    "build",
    [
        lambda scale: understand(TABLE, scale=scale).ratings,
        lambda scale: Ratings.from_frame(TABLE, scale=scale),
        lambda scale: make_ratings(30, 20, 90, seed=1, scale=scale),
    ],
    ids=["understand", "from_frame", "make_ratings"],
)
def test_a_scale_is_text_a_tuple_or_a_scale_in_python(build):
    for scale in ("1:5:1", (1, 5, 1), RatingScale(1, 5, 1)):
        assert build(scale).scale == RatingScale(1, 5, 1)
    with raises("argument.type", "'1:5:1'"):
        build(5)


def test_large_whole_numbers_of_a_scale_are_shown_in_full():
    """Both ends of a scale were shown as 1.67772e+07."""
    shown = str(RatingScale(16_777_216, 16_777_218, 2))
    assert shown == "16777216:16777218:2"
    assert RatingScale.parse(shown) == RatingScale(16_777_216, 16_777_218, 2)
    assert str(RatingScale(0.5, 5, 0.5)) == "0.5:5:0.5"
