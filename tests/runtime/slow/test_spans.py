import gc
from collections.abc import Iterator

import pytest

from recveil.runtime import progress
from recveil.runtime.progress import busy, listening, parts, track


@pytest.fixture
def heard(monkeypatch) -> Iterator[list]:
    """What is reported, each time."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    result = []
    with listening(result.append):
        yield result


def fractions(heard):
    return [round(result.fraction, 3) for result in heard]


def test_a_loop_in_a_part_gets_its_share(heard):
    with parts("Working", {"One": 1, "Two": 1}) as begin:
        begin("One")
        list(track([1, 2], "Steps", share=0.5))
        begin("Two")
    assert set(fractions(heard)) == {0, 0.125, 0.25, 0.5, 1}


def test_a_loop_that_was_not_closed_does_not_disturb_the_next_work(heard):
    loop = track([1, 2], "Left lying")
    next(loop)
    other = []
    with listening(other.append):
        del loop
        gc.collect()
        with busy("Next"):
            pass
    assert other[-1].fraction == 1
