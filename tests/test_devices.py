"""Small files are read whole; what is not small, or no file, is refused at once."""

import os
from pathlib import Path

import pytest

from recveil.devices import MOST_BYTES, is_device, read_whole


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
    class Told(type(Path())):
        def exists(self):
            return True

        def stat(self):
            return Path(__file__).stat()

    assert not is_device(Told("/dev/shm/out/release.json"))
    assert is_device(Told("/dev/stdout"))
