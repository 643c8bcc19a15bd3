"""Small files are read whole; what is not small, or no file, is refused at once."""

import os
import stat
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.cli.outputs import write_json
from recveil.comparison.cells import open_folder
from recveil.io.write import write_ratings
from recveil.publish.staging import check_target
from recveil.ratings import Ratings
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.devices import MOST_BYTES, is_device, read_whole, reject_traps


def test_a_small_file_is_read(tmp_path):
    file = tmp_path / "release.json"
    file.write_bytes(b"x" * MOST_BYTES)
    assert read_whole(file) == b"x" * MOST_BYTES


def test_a_large_file_is_not_read(tmp_path):
    file = tmp_path / "release.json"
    file.touch()
    os.truncate(file, 10**12)  # it takes no room on the disk
    with pytest.raises(OSError, match=r"^release\.json has more than 1,000,000 bytes"):
        read_whole(file)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "release.json")
    with pytest.raises(OSError, match="is a pipe or a device, and no file"):
        read_whole(tmp_path / "release.json")


def test_a_device_is_not_read(tmp_path):
    (tmp_path / "release.json").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="is a pipe or a device, and no file"):
        read_whole(tmp_path / "release.json")


def test_files_that_are_held_in_memory_are_files():
    class Stated(type(Path())):
        def exists(self):
            return True

        def stat(self):
            return Path(__file__).stat()

    assert not is_device(Stated("/dev/shm/out/release.json"))
    assert is_device(Stated("/dev/stdout"))


class TestTraps:
    @pytest.fixture
    def another_user(self, monkeypatch):
        """Give paths to another user, or be another one."""
        if os.geteuid() != 0:
            real = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: real + 1)
            return lambda path: None
        return lambda path: os.lchown(path, 12_345, -1)

    @pytest.fixture
    def shared(self, tmp_path):
        folder = tmp_path / "shared"
        folder.mkdir()
        folder.chmod(0o1777)
        (tmp_path / "precious").write_text("mine")
        (tmp_path / "home").mkdir()
        return folder

    WRITERS = (
        lambda path: write_atomically(path, lambda next_to: next_to.write_text("new")),
        lambda path: write_json({}, path),
        lambda path: write_ratings(Ratings.from_columns(["a"], ["b"], [3]), path, format="csv"),
        lambda path: check_target(path, force=True),
        lambda path: open_folder(path),
    )

    @pytest.mark.parametrize("write", WRITERS)
    def test_a_link_of_another_user_is_not_followed(self, shared, another_user, write):
        for name, target, inner in (("page", "../precious", ""), ("to", "../home", "page")):
            (shared / name).symlink_to(target)
            another_user(shared / name)
            with raises("output.not-writable") as caught:
                write(shared / name / inner)
            assert name in str(caught.value)
            assert len(str(caught.value)) < 300
        assert (shared.parent / "precious").read_text() == "mine"
        assert not list((shared.parent / "home").iterdir())

    def test_nor_is_one_behind_a_link_of_ones_own(self, shared, another_user):
        (shared / "page").symlink_to("../precious")
        (shared.parent / "own").symlink_to("home/../shared/page")
        another_user(shared / "page")
        with raises("output.not-writable") as error:
            reject_traps(shared.parent / "own")
        assert "link" in str(error.value)

    def test_a_pipe_of_another_user_is_not_written_to(self, shared, another_user):
        os.mkfifo(shared / "found.json")
        another_user(shared / "found.json")
        with raises("output.not-writable") as error:
            write_json({}, shared / "found.json")
        assert "pipe" in str(error.value)

    def test_what_is_ones_own_is_followed(self, shared):
        (shared / "page").symlink_to("../precious")
        write_atomically(shared / "page", lambda next_to: next_to.write_text("new"))
        assert (shared.parent / "precious").read_text() == "new"
        for each in ("/dev/stdout", "/proc/self/fd/1", "/dev/null", "nowhere/x", ".", "/"):
            reject_traps(each)
        (shared / "round").symlink_to("round")
        reject_traps(shared / "round")


def test_a_file_behind_proc_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text("old")
    Path("x.json").chmod(0o644)
    own = Path("/proc/self/cwd/x.json")
    if not own.exists():
        pytest.skip("no /proc here")
    assert not is_device(own)
    write_json({}, own)
    assert stat.S_IMODE(Path("x.json").stat().st_mode) == 0o600
    with Path("y.json").open("w") as file:  # as where standard output is led into a file
        assert is_device(Path(f"/proc/self/fd/{file.fileno()}"))
        assert is_device(Path(f"/dev/fd/{file.fileno()}"))
