import itertools

import pytest

from recveil.runtime.progress import Whole


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_lines_of_a_night_in_which_all_costs_are_right(clock):
    whole = Whole("Comparing settings", clock=clock)
    result = []
    for done in range(4):
        whole.reach(done / 4, (done + 1) / 4, (f"padded, k = {done}",))
        clock.now += 600
        result.append(whole.line())
    assert result == [
        "Comparing settings (padded, k = 0): 0% in 10 min",
        "Comparing settings (padded, k = 1): 25% in 20 min, about 20 min left",
        "Comparing settings (padded, k = 2): 50% in 30 min, about 10 min left",
        "Comparing settings (padded, k = 3): 75% in 40 min, less than a minute left",
    ]


def test_less_than_before_is_taken_as_before(clock):
    whole = Whole("Working", clock=clock)
    whole.reach(0.5, 0.6)
    whole.reach(0.2, 0.3)
    assert whole.fraction == 0.5


def test_it_is_whole_at_the_end_alone(clock):
    whole = Whole("Working", clock=clock)
    whole.reach(1.0, 1.0)
    assert (whole.percent, whole.fraction < 1) == (99, True)
    whole.end()
    assert (whole.percent, whole.seconds_left()) == (100, 0.0)


def test_the_time_left_follows_the_clock_until_it_has_passed(clock):
    whole = Whole("Working", clock=clock)
    clock.now = 10.0
    whole.reach(0.5, 0.75)
    assert whole.seconds_left() == pytest.approx(10)
    clock.now = 17.0  # the step was to end at 15
    assert (whole.seconds_left(), whole.is_late) == (pytest.approx(3), False)
    clock.now = 100.0
    assert (whole.seconds_left(), whole.is_late) == (None, True)
    assert whole.line() == "Working: 50% in 2 min, longer than estimated"


def test_the_time_left_rises_only_if_it_is_said(clock):
    whole = Whole("Working", clock=clock)
    clock.now = 100.0
    whole.reach(0.5, 0.6)
    clock.now = 125.0  # of 208 seconds instead of 200: not worth a change
    whole.reach(0.6, 0.8)
    assert (whole.seconds_left(), whole.is_late) == (pytest.approx(75), False)
    clock.now = 190.0
    whole.reach(0.7, 0.8)
    assert (whole.seconds_left(), whole.is_late) == (pytest.approx(190 / 0.7 - 190), True)
    assert whole.line().endswith(", about 1 min left, longer than estimated")
    clock.now = 195.0
    whole.reach(0.99, 1.0)
    assert (whole.seconds_left(), whole.is_late) == (pytest.approx(195 / 0.99 - 195), False)


def test_no_time_left_is_stuck(clock):
    """It was that of the steps after a long one, for as long as that took."""
    whole = Whole("Comparing settings", clock=clock)
    whole.expect(140.0)
    said = []
    for now in range(0, 300, 10):
        clock.now = float(now)
        whole.reach(0.15 if now >= 30 else 0.05, 0.6)
        said.append(whole.seconds_left())
    numbers = [left for left in said if left is not None]
    assert all(later == earlier - 10 for earlier, later in itertools.pairwise(numbers[3:]))
    assert (said[-1], whole.is_late) == (None, True)


def test_a_listener_does_not_get_the_same_a_thousand_times(clock):
    heard = []
    whole = Whole("Working", heard.append, clock)
    for step in range(1_000):
        clock.now += 0.001
        whole.reach(step / 1_000, 1.0, ("one part",))
    assert 15 <= len(heard) <= 25


def test_after_a_minute_a_hundredth_is_ground_for_an_estimate(clock):
    whole = Whole("Working", clock=clock)
    clock.now = 59.0
    whole.reach(0.02, 0.5)
    assert whole.seconds_left() is None
    clock.now = 60.0
    assert whole.seconds_left() == pytest.approx(59 / 0.02 - 60)
    assert "left" in whole.line()


def test_nothing_done_is_no_ground_however_long_it_takes(clock):
    whole = Whole("Working", clock=clock)
    whole.reach(0.0, 0.5)
    clock.now = 600.0
    assert whole.seconds_left() is None
