import threading

import pytest

from recveil.ahead import ahead


def test_the_next_step_is_made_meanwhile():
    made = [threading.Event() for _ in range(3)]

    def steps():
        for number, event in enumerate(made):
            event.set()
            yield number

    for number in ahead(steps()):
        if number < 2:
            assert made[number + 1].wait(timeout=60)


def test_an_error_comes_in_its_place():
    def steps():
        yield 1
        raise ValueError("no more")

    coming = ahead(steps())
    assert next(coming) == 1
    with pytest.raises(ValueError, match="no more"):
        next(coming)


def test_nothing_to_do():
    assert list(ahead([])) == []


def test_whoever_stops_early_waits_for_one_step_only():
    made = []

    def steps():
        for number in range(100):
            made.append(number)
            yield number

    for number in ahead(steps()):
        if number == 1:
            break
    assert len(made) <= 4
