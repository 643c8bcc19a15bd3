from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.runtime import progress
from recveil.runtime.progress import THE_REST, busy, listening, parts, track
from recveil.runtime.threads import prefetch


@pytest.fixture
def heard(monkeypatch) -> Iterator[list]:
    """What is reported, each time."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    result = []
    with listening(result.append):
        yield result


def fractions(heard):
    return [round(result.fraction, 3) for result in heard]


def test_a_small_loop_moves_nothing(heard):
    with parts("Working", {"One": 1, "Two": 1}) as begin:
        begin("One")
        for _ in range(5):
            list(track([1, 2], "Steps"))
        begin("Two")
    assert set(fractions(heard)) == {0, 0.5, 1}


def test_the_parts_of_the_rest_are_named_in_its_stead(heard):
    with parts("Working", {"Reading": 1, THE_REST: 3}) as begin:
        begin("Reading")
        begin(THE_REST)
        with parts("Working", {"Looking": 1, "Drawing": 2}) as begin:
            begin("Looking")
            begin("Drawing")
    named = dict.fromkeys(result.part for result in heard if result.part)
    assert list(named) == ["Reading", "Looking", "Drawing"]
    assert set(fractions(heard)) == {0, 0.25, 0.5, 1}


def test_of_parts_in_parts_two_levels_are_stated(heard):
    with parts("Working", {"One": 1}) as begin:
        begin("One")
        with parts("", {"Two": 1}) as begin:
            begin("Two")
            with parts("", {"Three": 1}) as begin:
                begin("Three")
    named = dict.fromkeys(result.part for result in heard if result.part)
    assert list(named) == ["One", "One: Two"]


def test_a_part_that_is_left_out_counts_as_done(heard):
    with parts("Working", {"One": 1, "Two": 2, "Three": 1}) as begin:
        begin("One")
        begin("Three")
    assert set(fractions(heard)) == {0, 0.75, 1}


def test_a_part_that_was_not_announced_is_a_fault():
    with pytest.raises(KeyError, match="Two"), parts("Working", {"One": 1}) as begin:
        begin("Two")


def test_parts_that_cost_nothing_are_no_fault(heard):
    with parts("Working", {"One": 0, "Two": 0}) as begin:
        begin("One")
        begin("Two")
    assert fractions(heard)[-1] == 1


def test_steps_weigh_as_they_say(heard):
    list(track([1, 3], "Rows", 4, weigh=float))
    assert set(fractions(heard)) == {0, 0.25, 1}


def test_a_loop_of_unknown_length_is_done_at_the_end(heard):
    assert sum(track((number for number in (1, 2)), "Adding")) == 3
    assert set(fractions(heard)) == {0, 1}


def test_a_step_made_by_a_second_thread_belongs_to_the_same_work(heard):
    with parts("Working", {"Writing": 1, "Checking": 1}) as begin:
        begin("Writing")
        assert list(prefetch(track([1, 2], "Rows", share=1))) == [1, 2]
        begin("Checking")
    assert {0.25, 0.5} < set(fractions(heard))


def test_a_loop_that_is_left_gives_back_the_work_around_it(heard):
    with parts("Working", {"One": 1, "Two": 1}) as begin:
        begin("One")
        for _ in track([1, 2], "Steps", share=1):
            break
        begin("Two")
    assert progress._HERE.get() is None
    assert fractions(heard)[-1] == 1


def test_errors_go_through_and_leave_nothing_behind(heard):
    def fail():
        with parts("Working", {"One": 1}) as begin:
            begin("One")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert progress._HERE.get() is None
    assert heard[-1].fraction < 1


works = st.recursive(
    st.just("leaf"),
    lambda inner: st.tuples(
        st.sampled_from(["parts", "loop", "small"]), st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


def do(work):
    if work == "leaf":
        with busy("Leaf"):
            return
    kind, inner = work
    if kind == "parts":
        with parts("Parts", {str(number): number for number in range(len(inner))}) as begin:
            for number, one in enumerate(inner):
                begin(str(number))
                do(one)
    else:
        for one in track(inner, "Loop", share=float(kind == "loop")):
            do(one)


@given(works)
def test_whatever_is_in_whatever_it_never_goes_back_and_ends_once(work):
    heard = []
    with listening(heard.append):
        do(work)
    result = [one.fraction for one in heard]
    assert result == sorted(result)
    assert result.count(1.0) == 1
    assert progress._HERE.get() is None
