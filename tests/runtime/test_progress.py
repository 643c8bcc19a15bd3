import io
import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest

from recveil.runtime import progress
from recveil.runtime.progress import (
    _HERE,
    Cancelled,
    HowFar,
    Whole,
    busy,
    expect,
    listening,
    parts,
    track,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch, columns="120"):
    # Not a fixture: between set-up and test pytest puts its own stream in place.
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", columns)
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def shown(terminal):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_what_takes_less_than_a_minute_is_silent_elsewhere(capsys):
    assert list(track([1, 2], "Adding")) == [1, 2]
    with busy("Adding"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_bar_reaches_the_end(monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert list(track(iter([2_000, 3_000]), "Adding", 5_000, weigh=float)) == [2_000, 3_000]
    assert "Adding" in shown(terminal)
    assert "100%" in shown(terminal)


@pytest.mark.parametrize("columns", [80, 99, 100])
def test_the_usual_width_has_room_for_it_too(monkeypatch, columns):
    terminal = open_terminal(monkeypatch, str(columns))
    assert list(track(iter([2_000, 3_000]), "Adding", 5_000, weigh=float)) == [2_000, 3_000]
    lines = [line for line in re.split(r"[\r\n]", shown(terminal)) if line.strip()]
    assert max(len(line) for line in lines) <= columns
    assert any(line.startswith("Adding") and "100%" in line for line in lines)


def test_a_list_knows_its_length_and_loops_may_be_nested_in_one_bar(monkeypatch):
    terminal = open_terminal(monkeypatch)
    pairs = [(a, b) for a in track("ab", "Outer") for b in track([1, 2, 3], "Inner", share=1)]
    assert len(pairs) == 6
    assert all(line.count("%") <= 2 for line in shown(terminal).splitlines())


def test_parts_of_a_work_are_shown(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with parts("Auditing", {"Attacking": 1, "Drawing": 1}) as begin:
        begin("Attacking")
        begin("Drawing")
    assert "Auditing: Drawing" in shown(terminal)
    assert "100%" in shown(terminal)


def test_busy_ends_with_the_work(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), busy("Dividing"):
        1 / 0  # noqa: B018
    assert "Dividing" in shown(terminal)
    assert "100%" not in shown(terminal)


def test_forty_columns_hold_the_part_and_how_far_it_is(monkeypatch):
    terminal = open_terminal(monkeypatch, "40")
    with parts("Auditing", {"Attacking everybody who was ever seen": 1, "Drawing": 1}) as begin:
        begin("Attacking everybody who was ever seen")
        begin("Drawing")
        time.sleep(0.15)
    lines = [line for line in re.split(r"[\r\n]", shown(terminal)) if line.strip()]
    assert max(len(line) for line in lines) <= 40
    assert any(line.startswith("Drawing") and "50%" in line for line in lines)


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_lines(kind, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.1)
    terminal = open_terminal(monkeypatch)
    monkeypatch.setenv("TERM", kind)
    with busy("Reading"):
        time.sleep(0.15)
    assert terminal.getvalue() == "Reading: 1 s so far\n"


def test_no_colour_if_none_is_wanted(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = open_terminal(monkeypatch)
    assert list(track([1, 2], "Adding")) == [1, 2]
    colours = re.findall(r"\x1b\[([0-9;]*)m", terminal.getvalue())
    assert not [code for code in colours if re.search(r"(^|;)(3|4|9|10)\d", code)]


PROGRAM = """
import time
from recveil.runtime.progress import THE_REST, parts, track
print("a result")
with parts("Working", {"Reading": 1, THE_REST: 9}) as begin:
    begin("Reading")
    time.sleep(0.3)
    begin(THE_REST)
    with parts("", {"Searching": 5, "Drawing": 4}) as begin:
        begin("Searching")
        for _ in track(range(10), "Steps", share=1):
            for _ in track(range(3), "Small"):
                time.sleep(0.05)
        begin("Drawing")
        time.sleep(1.2)
"""


@pytest.fixture(scope="module")
def said():
    """What a terminal of 100 columns receives on standard error, and when."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        frames, start = [], None
        while True:
            try:
                some = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            start = start or time.monotonic()
            frames.append((time.monotonic() - start, some.decode()))
        stdout = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    return frames, stdout


class TestOnATerminal:
    """A planted work of three seconds, of which the costs are known."""

    def test_nothing_else_goes_to_standard_output(self, said):
        assert said[1] == b"a result\n"

    def test_one_bar_never_goes_back_and_ends_at_100(self, said):
        text = "".join(some for _, some in said[0])
        percents = [int(number) for number in re.findall(r"(\d+)%", text)]
        assert percents == sorted(percents)
        assert percents[-1] == 100
        assert 100 not in percents[:-2]
        assert len(set(percents)) > 8
        # One line, which is drawn again and taken away once: no bar below another.
        assert text.count("\x1b[1A") == text.count("\n") == 1

    def test_the_title_says_which_part_runs(self, said):
        text = "".join(some for _, some in said[0])
        titles = dict.fromkeys(re.findall(r"Working: (\w+)", text))
        assert list(titles) == ["Reading", "Searching", "Drawing"]

    def test_the_remaining_time_is_right_within_a_factor_of_two(self, said):
        frames, _ = said
        whole = frames[-1][0]
        result = [
            (whole - at, int(left))
            for at, some in frames
            for left in re.findall(r"0:00:(\d\d) left", some)
        ]
        assert result
        # They are cut to whole seconds.
        assert all(left / 2 - 1 <= real <= 2 * (left + 1) + 0.5 for real, left in result)


class TestWithoutTerminal:
    """Lines come every tenth of a second here instead of every minute."""

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.1)

    def test_a_line_says_how_much_is_done_and_left(self, capsys):
        for _ in track(range(4), "Comparing settings"):
            time.sleep(0.15)
        first, *_, last = capsys.readouterr().err.splitlines()
        assert first.startswith("Comparing settings: 1 s so far, nothing of 4")
        assert last.startswith("Comparing settings: 3 of 4 in 1 s, ")

    def test_a_long_step_does_not_keep_it_silent(self, capsys):
        with busy("Reading"):
            time.sleep(0.35)
        assert capsys.readouterr().err.splitlines() == ["Reading: 1 s so far"] * 3

    def test_parts_of_a_work_are_counted(self, capsys):
        with parts("Auditing", {"Attacking": 2, "Drawing": 2}) as begin:
            begin("Attacking")
            for _ in track(range(2), "Looking", share=1):
                pass
            begin("Drawing")
            time.sleep(0.15)
        result = capsys.readouterr().err
        assert result.startswith("Auditing (Drawing): 50% in 1 s, ")

    def test_the_rest_of_unequal_parts_is_not_estimated_from_the_first(self, capsys):
        with parts("Auditing", {"Reading": 1, "Attacking": 29}) as begin:
            begin("Reading")
            begin("Attacking")
            time.sleep(0.15)
        assert capsys.readouterr().err == "Auditing (Attacking): 3% in 1 s\n"

    def test_only_the_outermost_loop_speaks(self, capsys):
        for _ in track(range(2), "Outer"):
            for _ in track(range(2), "Inner"):
                time.sleep(0.1)
        result = capsys.readouterr().err.splitlines()
        assert result
        assert all(line.startswith("Outer") for line in result)

    def test_it_falls_silent_when_the_work_fails(self, capsys):
        with pytest.raises(ZeroDivisionError), busy("Dividing"):
            1 / 0  # noqa: B018
        time.sleep(0.15)
        assert capsys.readouterr().err == ""

    def test_a_loop_that_is_left_makes_room_for_the_next(self, capsys):
        for _ in track(range(9), "Left"):
            break
        with busy("Next"):
            time.sleep(0.15)
        assert "Next" in capsys.readouterr().err

    def test_of_works_in_several_threads_one_speaks(self, capsys):
        def work():
            with busy("Elsewhere"):
                time.sleep(0.15)

        with busy("Here"):
            other = threading.Thread(target=work)
            other.start()
            other.join()
        result = capsys.readouterr().err
        assert "Here" in result
        assert "Elsewhere" not in result


class TestListening:
    def test_it_hears_parts_and_never_goes_back(self, capsys):
        heard = []
        with listening(heard.append), parts("Working", {"One": 1, "Two": 3}) as begin:
            begin("One")
            begin("Two")
            assert list(track([1, 2], "Steps")) == [1, 2]
        fractions = [result.fraction for result in heard]
        assert fractions == sorted(fractions)
        assert [result.part for result in heard] == ["One", "Two", "Two"]
        assert heard[-1] == HowFar(1.0, "Two", 0.0)
        assert capsys.readouterr() == ("", "")

    def test_it_cancels_like_ctrl_c(self):
        heard, tidied = [], []

        def hear(result):
            heard.append(result)
            if result.part == "Two":
                raise Cancelled("the page was closed")

        def work():
            with listening(hear), parts("Working", {"One": 1, "Two": 3, "Three": 1}) as begin:
                try:
                    for name in ("One", "Two", "Three"):
                        begin(name)
                finally:
                    tidied.append(name)

        with pytest.raises(KeyboardInterrupt, match="the page was closed"):
            work()
        assert tidied == ["Two"]
        assert heard[-1].fraction < 1
        assert _HERE.get() is None

    def test_each_thread_has_a_work_of_its_own(self):
        heard = {"a": [], "b": []}

        def work(name):
            with listening(heard[name].append), parts(name, {name: 1}) as begin:
                begin(name)
                time.sleep(0.05)

        threads = [threading.Thread(target=work, args=(name,)) for name in heard]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [[result.part for result in heard[name]] for name in heard] == [["a"] * 2, ["b"] * 2]


def test_an_expected_time_counts_until_enough_is_done():
    now = [0.0]
    whole = Whole("Comparing", clock=lambda: now[0])
    assert whole.seconds_left() is None
    whole.expect(100.0)
    now[0] = 30.0
    whole.reach(0.05, 0.5)
    assert whole.seconds_left() == 70.0
    whole.reach(0.5, 0.6)
    assert whole.seconds_left() == pytest.approx(30.0)  # half took half a minute


def test_an_expected_time_that_has_passed_is_late():
    now = [0.0]
    whole = Whole("Comparing", clock=lambda: now[0])
    whole.expect(100.0)
    now[0] = 120.0
    assert (whole.seconds_left(), whole.is_late) == (None, True)


def test_a_bar_says_that_it_takes_longer():
    now = [0.0]
    whole = Whole("Comparing", clock=lambda: now[0])
    whole.expect(10.0)
    now[0] = 20.0
    assert [progress._time_left(whole, width) for width in (80, 120)] == [
        "longer than estimated"
    ] * 2
    whole.reach(0.5, 0.6)
    assert progress._time_left(whole, 80) == "longer: 0:00:20 left"
    assert progress._time_left(whole, 120) == "0:00:20 left, longer than estimated"


def test_the_task_is_given_what_to_expect():
    heard = []
    expect(9.0)  # outside of a task
    with listening(heard.append), parts("Comparing", {"one": 1, "two": 99}) as begin:
        begin("one")
        expect(600.0)
        begin("two")
    assert 590 < heard[1].seconds_left <= 600
