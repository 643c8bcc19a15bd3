"""What the machine does to a comparison is not a result of it."""

import errno

import pytest

from error_assertions import raises
from recveil.comparison import cells, compare
from recveil.datasets import make_ratings
from recveil.runtime.errors import MachineError, RecveilError

pytestmark = pytest.mark.usefixtures("evaluator")  # what is judged is no matter here

RATINGS = make_ratings(n_users=30, n_items=20, n_ratings=300, seed=1)
NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


def failed(cause):
    error = RecveilError(
        "release: writing failed (No space left on device)", code="output.not-writable"
    )
    error.__cause__ = cause
    return error


def run(folder):
    return compare(RATINGS, folder / "out", methods=["simple"], k=[3, 99], targets=5)


@pytest.mark.parametrize(
    ("error", "result", "code"),
    [
        (failed(NO_SPACE), "No space left on device", "output.not-writable"),
        (NO_SPACE, "No space left on device", "machine.disk"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files", "machine.files"),
        (
            FileNotFoundError(2, "No such file or directory", "ratings.parquet"),
            "No such file",
            "machine.disk",
        ),
        (
            PermissionError(13, "Permission denied", "ratings.parquet"),
            "Permission denied",
            "machine.disk",
        ),
        (MemoryError(), "not enough memory", "machine.memory"),
        (failed(MemoryError()), "not enough memory", "machine.memory"),
        (MachineError("1 GB are free", code="machine.disk"), "1 GB are free", "machine.disk"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_fault_of_the_machine_stops_the_run_and_is_computed_again(
    tmp_path, monkeypatch, error, result, code
):
    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(cells, "write_release", fail)
        with raises(code) as caught:
            run(tmp_path)
    assert isinstance(caught.value, MachineError)
    assert result in str(caught.value)
    assert str(caught.value).startswith("simple, k = 3: ")
    assert list((tmp_path / "out" / "cells").iterdir()) == []
    found = run(tmp_path)
    assert [row.problem is None for row in found.rows] == [True, False]
    assert found.computed == 2


def test_what_the_data_decide_is_kept(tmp_path):
    assert "cannot form a group" in run(tmp_path).rows[1].problem
    assert run(tmp_path).computed == 0


def test_ctrl_c_in_a_compiled_kernel_is_no_result(tmp_path, monkeypatch):
    """It comes out as a SystemError: returned a result with an exception set."""

    def interrupted(*_, **__):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(cells, "write_release", interrupted)
    with pytest.raises(KeyboardInterrupt, match="0 of 2 settings kept"):
        run(tmp_path)
    assert list((tmp_path / "out" / "cells").iterdir()) == []


def test_a_cell_nested_too_deeply_is_computed_again(tmp_path):
    run(tmp_path)
    for file in (tmp_path / "out" / "cells").iterdir():
        file.write_text("[" * 200_000)
    assert run(tmp_path).computed == 2
