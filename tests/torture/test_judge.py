"""The judge of the torture finds what it is there to find: faults that are planted here."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from recveil.comparison import cells, compare
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.runtime.errors import MachineError, RecveilError

if sys.platform != "linux":
    pytest.skip("for Linux alone", allow_module_level=True)

from torture.jobs import AT, IN, TMP, Target, _job, lay_ground, write_inputs
from torture.judge import NOTHING, OLD, WHOLE, Expected, problems, state_of
from torture.processes import end_left_behind, left_behind

OUT = Target("out", "release")
JOB = _job("anonymize", "anonymize in/ratings.csv -o at/out", OUT, Target("found.json"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Inputs, an older release, and the release that is to come."""
    folder = tmp_path_factory.mktemp("expected")
    write_inputs(folder / IN)
    for part, seed in (("old", 2), ("new", 1)):
        (folder / part).mkdir()
        release = PredictiveAnonymizer(3, seed=seed).anonymize(
            read_ratings(folder / IN / "ratings.csv")
        )
        release.write(folder / part / "out", file_format="csv")
        (folder / part / "found.json").write_text(json.dumps({"seed": seed}))
    return Expected(folder / IN, folder / "old", folder / "new")


@pytest.fixture
def ground(tmp_path, expected):
    """The folder of a try, in which the new release stands whole."""
    folder = tmp_path / "try"
    lay_ground(folder, expected.inputs, expected.reference)
    return folder


def found(ground, expected, *, may_leave=False):
    return problems(ground, JOB, expected, may_leave=may_leave)


def state(ground, expected, *, may_leave=False):
    return state_of(ground / AT, OUT, expected, may_leave=may_leave)


def test_what_is_whole_old_or_not_there_is_fine(ground, expected, tmp_path):
    assert (found(ground, expected), state(ground, expected)) == ([], WHOLE)
    lay_ground(tmp_path / "old", expected.inputs, expected.old)
    assert (found(tmp_path / "old", expected), state(tmp_path / "old", expected)) == ([], OLD)
    lay_ground(tmp_path / "none", expected.inputs, None)
    new = expected._replace(old=None)
    assert (found(tmp_path / "none", new), state(tmp_path / "none", new)) == ([], NOTHING)


def test_an_old_one_that_is_gone_is_found(ground, expected, tmp_path):
    """But what a killed run has moved out of the way, and the next one brings back."""
    lay_ground(tmp_path / "lost", expected.inputs, expected.old)
    at = tmp_path / "lost" / AT
    staging = at / ".out.partial-0123abcd"
    staging.mkdir(mode=0o700)
    (at / "out").rename(staging / "old-published")
    (at / "out.private").rename(staging / "old-private")
    assert found(tmp_path / "lost", expected, may_leave=True) == []
    assert found(tmp_path / "lost", expected)
    shutil.rmtree(staging)
    for may_leave in (True, False):
        (result,) = found(tmp_path / "lost", expected, may_leave=may_leave)
        assert result.startswith("out: the old one is gone")


@pytest.mark.parametrize("name", ["release.json", "ratings.csv", "classes.csv", "README.md"])
@pytest.mark.parametrize("fault", ["gone", "cut", "changed"])
def test_half_a_release_is_found(ground, expected, name, fault):
    file = ground / AT / "out" / name
    content = file.read_bytes()
    file.unlink()
    if fault != "gone":
        other = content[:-9] if fault == "cut" else content.replace(b"1", b"2")
        file.write_bytes(other)
    for may_leave in (True, False):
        assert state(ground, expected, may_leave=may_leave) not in (NOTHING, OLD, WHOLE)
        assert found(ground, expected, may_leave=may_leave)


def test_a_file_too_many_is_found(ground, expected):
    (ground / AT / "out" / "notes.txt").write_text("mine")
    assert found(ground, expected) == ["out: a release that lacks files, or has more"]


def test_a_private_twin_that_lacks_or_is_another_s_is_found(ground, expected):
    shutil.rmtree(ground / AT / "out.private")
    assert found(ground, expected) == ["out: a release without its private twin"]
    shutil.copytree(expected.old / "out.private", ground / AT / "out.private")
    assert found(ground, expected) == ["out: a release with another's private twin"]


def test_a_twin_alone_may_be_left_for_the_next_run_only(ground, expected):
    shutil.rmtree(ground / AT / "out")
    expected = expected._replace(old=None)
    assert found(ground, expected, may_leave=True) == []
    assert found(ground, expected) == ["out: the private twin of nothing"]


@pytest.mark.parametrize("name", [".out.partial-0123abcd", ".found.json.0123abcd.tmp"])
def test_an_orphan_is_found(ground, expected, name):
    (ground / AT / name).touch(0o600)
    assert found(ground, expected, may_leave=True) == []
    assert found(ground, expected) == [f"orphan {name}"]
    (ground / AT / name).rename(ground / AT / "other")
    assert found(ground, expected, may_leave=True) == ["orphan other"]


def test_a_temporary_file_that_is_left_is_found(ground, expected):
    (ground / TMP / "recveil-0123abcd").mkdir(mode=0o700)
    assert found(ground, expected, may_leave=True) == []
    assert found(ground, expected) == [f"orphan {TMP}/recveil-0123abcd"]


def test_raw_ratings_that_others_can_read_are_found(ground, expected):
    left = ground / AT / ".found.json.0123abcd.tmp"
    shutil.copyfile(ground / IN / "ratings.csv", left)
    left.chmod(0o600)
    assert found(ground, expected, may_leave=True) == []
    left.chmod(0o644)
    (problem,) = found(ground, expected, may_leave=True)
    assert problem == f"{left.name} can be read by others (644), and tells of people"
    staging = ground / AT / ".out.partial-0123abcd"
    staging.mkdir(mode=0o700)
    left.rename(staging / "ratings.csv")
    assert found(ground, expected, may_leave=True) == []
    staging.chmod(0o755)
    assert len(found(ground, expected, may_leave=True)) == 1


def test_a_table_that_others_can_read_is_found_though_it_is_packed(ground, expected):
    (ground / AT / ".found.json.0123abcd.tmp").touch(0o600)
    file = ground / AT / "out.private" / "assignment.parquet"
    assert file.exists()
    file.chmod(0o644)
    assert found(ground, expected, may_leave=True) == []  # the folder cannot be entered
    file.parent.chmod(0o755)
    assert found(ground, expected, may_leave=True) != []


def test_what_others_can_write_is_found(ground, expected):
    (ground / AT / "found.json").chmod(0o666)
    assert found(ground, expected) == ["found.json can be written by others (666)"]


@pytest.mark.parametrize("change", ["content", "mode", "gone", "more"])
def test_an_input_that_was_changed_is_found(ground, expected, change):
    file = ground / IN / "ratings.csv"
    if change == "content":
        file.write_text(file.read_text()[:-2])
    elif change == "mode":
        file.chmod(0o644)
    elif change == "gone":
        file.unlink()
    else:
        (ground / IN / "more").touch()
    assert found(ground, expected) == ["an input was changed"]


@pytest.fixture
def lasting():
    """A process that runs in a given folder until the test is over."""
    begun = []

    def begin(folder, then="time.sleep(60)"):
        command = [sys.executable, "-c", f"import os, time; print(1, flush=True); {then}"]
        begun.append(
            subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, start_new_session=True)
        )
        begun[-1].stdout.readline()
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("part", ["", AT])
def test_a_process_that_goes_on_is_found(ground, expected, lasting, monkeypatch, part):
    monkeypatch.setattr("torture.judge._A_MOMENT", 0.1)
    planted = lasting(ground / part)
    for may_leave in (True, False):
        (problem,) = found(ground, expected, may_leave=may_leave)
        assert problem.startswith("a process goes on: ")
    end_left_behind(ground)
    assert planted.wait(20) == -signal.SIGKILL
    assert found(ground, expected) == []


def test_a_process_that_ends_a_moment_later_survives(ground, expected, lasting):
    lasting(ground, "time.sleep(0.2)")
    assert left_behind(ground)
    assert found(ground, expected) == []


def test_processes_elsewhere_do_not_count(ground, expected, lasting, tmp_path):
    (tmp_path / "try-other").mkdir()
    lasting(tmp_path / "try-other")
    assert left_behind(ground) == {}
    assert found(ground, expected) == []


def test_half_a_file_is_found(ground, expected):
    os.truncate(ground / AT / "found.json", 5)
    assert found(ground, expected) == ["found.json: half a JSON file"]
    table = Target("made.csv")
    (expected.reference / "made.csv").write_text("user_id,item_id\nowner-1,2\n")
    (ground / AT / "made.csv").write_text("user_id,item_id\nown")
    assert state_of(ground / AT, table, expected, may_leave=True).startswith("neither the old nor")
    page = Target("page.html")
    (ground / AT / "page.html").write_text("<html>")
    assert state_of(ground / AT, page, expected, may_leave=True) == "half a page"


MACHINE = [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EFBIG, os.strerror(errno.EFBIG)),
    MachineError("up to 4 GB would be written, but 1 GB are free; make room"),
    MemoryError(),
]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("error", MACHINE, ids=str)
def test_a_fault_of_the_machine_kept_as_a_result_is_found(
    ground, expected, monkeypatch, error, wrapped
):
    """The fault is planted in recveil itself: it keeps what the data did not decide."""
    target, out = Target("compared", "comparison"), ground / AT / "compared"
    ratings = read_ratings(ground / IN / "ratings.csv")

    def run():
        compare(ratings, out, methods=["simple"], k=[3], targets=5)
        return state_of(ground / AT, target, expected, may_leave=True)

    def fail(*_, **__):
        if wrapped:
            raise RecveilError(
                f"out: writing failed ({str(error) or 'not enough memory'})"
            ) from error
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(cells, "write_release", fail)
        with pytest.raises(MachineError):
            run()
        assert state_of(ground / AT, target, expected, may_leave=True) == WHOLE
        patch.setattr(cells, "_reject_fault", lambda *_: None)
        assert run().startswith("a fault of the machine is kept as a result (")
    shutil.rmtree(out)
    assert run() == WHOLE
