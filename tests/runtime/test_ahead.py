import threading

import pytest
from numba import config

from recveil.runtime.threads import prefetch


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 2)


@pytest.mark.usefixtures("two_threads")
def test_the_next_step_is_made_meanwhile():
    made = [threading.Event() for _ in range(3)]

    def steps():
        for number, event in enumerate(made):
            event.set()
            yield number

    for number in prefetch(steps()):
        if number < 2:
            assert made[number + 1].wait(timeout=60)


def test_of_one_thread_there_is_no_second_one(monkeypatch):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 1)
    makers = prefetch(threading.get_ident() for _ in range(3))
    assert set(makers) == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_comes_in_its_place(monkeypatch, threads):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", threads)

    def steps():
        yield 1
        raise ValueError("no more")

    coming = prefetch(steps())
    assert next(coming) == 1
    with pytest.raises(ValueError, match="no more"):
        next(coming)


@pytest.mark.usefixtures("two_threads")
def test_nothing_to_do():
    assert list(prefetch([])) == []


@pytest.mark.usefixtures("two_threads")
def test_a_consumer_that_stops_early_waits_for_one_step_only():
    made = []

    def steps():
        for number in range(100):
            made.append(number)
            yield number

    for number in prefetch(steps()):
        if number == 1:
            break
    assert len(made) <= 4
