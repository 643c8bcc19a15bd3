"""Files being written: none is left, however a run ends, and none of another user is taken."""

import os
import stat
import subprocess
import sys
import time

import pytest

from error_assertions import raises
from recveil.runtime.atomic_writes import (
    sweep,
    temporary_file_near,
    temporary_folder_near,
    temporary_names,
    write_atomically,
)

WORK = r"\.work-\w+"
# Makes a folder and a file, says so, and waits for its end.
WRITER = """
import sys, time
from pathlib import Path
from recveil.runtime.atomic_writes import temporary_file_near, temporary_folder_near
parent = Path(sys.argv[1])
page = parent / "page.html"
with temporary_folder_near(parent, ".work-") as folder, temporary_file_near(page) as beside:
    beside.write_text("half")
    (folder / "half").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path):
    """Another process, in the middle of writing."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Set the umask of this process, and put it back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def made_long_ago(path, hours=1):
    os.utime(path, (time.time() - 3600 * hours,) * 2)


class TestSweeping:
    def sweep(self, parent):
        sweep(parent, WORK)
        sweep(parent, temporary_names())

    def test_what_a_running_process_writes_stays(self, writer, tmp_path):
        before = names(tmp_path)
        self.sweep(tmp_path)
        assert names(tmp_path) == before
        assert len(before) == 2

    def test_what_a_killed_process_wrote_goes(self, writer, tmp_path):
        writer.kill()
        writer.wait()
        assert len(names(tmp_path)) == 2
        self.sweep(tmp_path)
        assert names(tmp_path) == []

    def test_the_next_file_for_a_target_removes_the_last_one(self, writer, tmp_path):
        writer.kill()
        writer.wait()
        with temporary_file_near(tmp_path / "page.html") as next_to:
            next_to.write_text("whole")
        with temporary_folder_near(tmp_path, ".work-"):
            pass  # which does not sweep: who makes it does
        assert [name for name in names(tmp_path) if not name.startswith(".work-")] == ["page.html"]

    def test_what_belongs_to_another_user_stays(self, tmp_path, monkeypatch):
        """In a folder for all, it may be a trap: a link may stand there the next moment."""
        folder = tmp_path / ".work-0"
        folder.mkdir()
        (folder / "lock").write_text("locked")
        monkeypatch.setattr(os, "geteuid", lambda: 12_345)
        self.sweep(tmp_path)
        assert names(tmp_path) == [".work-0"]
        monkeypatch.undo()
        self.sweep(tmp_path)
        assert names(tmp_path) == []

    def test_a_link_instead_of_a_lock_is_not_followed(self, tmp_path):
        folder = tmp_path / ".work-0"
        folder.mkdir()
        (tmp_path / "mine").write_text("mine")
        (folder / "lock").symlink_to(tmp_path / "mine")
        self.sweep(tmp_path)
        assert names(tmp_path) == [".work-0", "mine"]

    def test_what_was_just_made_and_is_not_locked_yet_stays(self, tmp_path):
        (tmp_path / ".work-1").mkdir()
        (tmp_path / ".work-2").mkdir()
        (tmp_path / ".work-2" / "lock").touch()
        (tmp_path / ".page.html.0123abcd.tmp").touch()
        before = names(tmp_path)
        self.sweep(tmp_path)
        assert names(tmp_path) == before
        for name in before:
            made_long_ago(tmp_path / name)
        self.sweep(tmp_path)
        assert names(tmp_path) == []

    def test_what_was_made_while_the_clock_was_wrong_goes(self, tmp_path):
        for name in (".work-1", ".work-2"):
            (tmp_path / name).mkdir()
        (tmp_path / ".work-2" / "lock").touch()
        (tmp_path / ".page.html.0123abcd.tmp").touch()
        for path in tmp_path.iterdir():
            made_long_ago(path, hours=-24 * 365)
        self.sweep(tmp_path)
        assert names(tmp_path) == []

    def test_what_has_another_name_stays(self, tmp_path):
        for name in (".page.html.backup.tmp", ".page.html.0123abcd", ".work", "page.0123abcd.tmp"):
            (tmp_path / name).write_text("mine")
        before = names(tmp_path)
        self.sweep(tmp_path)
        assert names(tmp_path) == before

    @pytest.mark.parametrize("is_settled", [True, False])
    def test_what_was_begun_is_settled_first_or_stays(self, tmp_path, is_settled):
        (tmp_path / ".work-1").write_text("half")
        seen = []

        def settle(path):
            seen.append(path.read_text())
            return is_settled

        sweep(tmp_path, WORK, settle)
        assert (seen, names(tmp_path)) == (["half"], [] if is_settled else [".work-1"])

    def test_what_is_being_written_is_settled_before_the_next_run_may_look(self, tmp_path):
        seen = []

        def settle(folder):
            sweep(tmp_path, WORK)  # of another account
            seen.append((folder / "half").exists())
            return True

        with temporary_folder_near(tmp_path, ".work-", settle) as folder:
            (folder / "half").write_text("half")
        assert (seen, names(tmp_path)) == ([True], [])


class TestWriting:
    @pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt, SystemExit])
    def test_nothing_is_left_of_what_failed(self, tmp_path, problem):
        (tmp_path / "page.html").write_text("old")

        def fail_with_a_file():
            with temporary_file_near(tmp_path / "page.html") as next_to:
                next_to.write_text("half")
                raise problem

        def fail_with_a_folder():
            with temporary_folder_near(tmp_path, ".work-") as folder:
                (folder / "half").write_text("half")
                raise problem

        for fail in (fail_with_a_file, fail_with_a_folder):
            with pytest.raises(problem):
                fail()
        assert names(tmp_path) == ["page.html"]
        assert (tmp_path / "page.html").read_text() == "old"

    def test_nor_where_the_folder_above_was_renamed(self, tmp_path):
        (tmp_path / "sub").mkdir()

        def write():
            with (
                temporary_folder_near(tmp_path / "sub", ".work-") as folder,
                temporary_file_near(tmp_path / "sub" / "page.html") as next_to,
            ):
                next_to.write_text("half")
                (folder / "half").write_text("half")
                (tmp_path / "sub").rename(tmp_path / "moved")

        with pytest.raises(FileNotFoundError):
            write()
        assert names(tmp_path / "moved") == []

    def test_ctrl_c_again_and_again_does_not_stop_the_cleaning(self, tmp_path, monkeypatch):
        import shutil

        remove, pressed = shutil.rmtree, []

        def interrupted(*arguments, **options):
            pressed.append(arguments)
            if len(pressed) < 3:
                raise KeyboardInterrupt
            remove(*arguments, **options)

        monkeypatch.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt), temporary_folder_near(tmp_path, ".work-") as folder:
            (folder / "half").write_text("half")
        assert names(tmp_path) == []

    @pytest.mark.parametrize("mask", [0o000, 0o002, 0o027, 0o777])
    def test_no_other_user_may_read_or_write_it_whatever_the_umask(self, tmp_path, umask, mask):
        umask(mask)
        with temporary_file_near(tmp_path / "page.html") as next_to:
            assert mode(next_to) == 0o600
            next_to.unlink(missing_ok=True)  # as some libraries do, who make it anew
            next_to.touch(0o666)
        assert mode(tmp_path / "page.html") == 0o600

    @pytest.mark.parametrize("mask", [0, 0o777])
    def test_a_folder_is_its_owner_s_alone(self, tmp_path, umask, mask):
        umask(mask)
        with temporary_folder_near(tmp_path, ".work-") as folder:
            assert (mode(folder), mode(folder / "lock")) == (0o700, 0o600)

    @pytest.mark.parametrize("older", [0o666, 0o400])
    def test_whatever_stood_there_the_new_one_is_its_owner_s_alone(self, tmp_path, umask, older):
        umask(0)
        (tmp_path / "raw.csv").touch()
        (tmp_path / "raw.csv").chmod(older)
        write_atomically(tmp_path / "raw.csv", lambda next_to: next_to.write_text("1,2,3"))
        assert mode(tmp_path / "raw.csv") == 0o600

    @pytest.mark.parametrize("made", ["file", "lock"])
    def test_it_is_hidden_from_its_first_moment(self, tmp_path, umask, monkeypatch, made):
        """Who opened it before its permissions were changed could read what came into it."""
        umask(0)
        create, created = os.open, []

        def created_with(path, flags, *arguments, **options):
            descriptor = create(path, flags, *arguments, **options)
            if flags & os.O_CREAT:
                created.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return descriptor

        target = tmp_path / "raw.csv"
        monkeypatch.setattr(os, "open", created_with)
        if made == "lock":
            with temporary_folder_near(tmp_path, ".work-"):
                pass
        else:
            with temporary_file_near(target):
                pass
        assert created == [0o600]

    def test_the_lock_goes_last(self, tmp_path, monkeypatch):
        import shutil

        left = []

        def killed(folder, **_):
            left.extend(names(folder))

        monkeypatch.setattr(shutil, "rmtree", killed)
        with temporary_folder_near(tmp_path, ".work-") as folder:
            for name in ("a", "lock.csv", "z"):
                (folder / name).write_text("half")
        assert left == ["lock"]


class TestWritingNextTo:
    def test_what_stood_there_stays_until_all_is_written(self, tmp_path):
        target = tmp_path / "page.html"
        target.write_text("old")

        def write(next_to):
            next_to.write_text("whole")
            assert target.read_text() == "old"

        write_atomically(target, write)
        assert (names(tmp_path), target.read_text()) == (["page.html"], "whole")

    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "there").mkdir()
        (tmp_path / "page.html").symlink_to(tmp_path / "there" / "page.html")
        write_atomically(tmp_path / "page.html", lambda next_to: next_to.write_text("whole"))
        assert (tmp_path / "page.html").is_symlink()
        assert (tmp_path / "there" / "page.html").read_text() == "whole"

    def test_what_cannot_be_written_is_named_and_the_old_file_stays(self, tmp_path):
        (tmp_path / "page.html").write_text("old")

        def fill_the_disk(next_to):
            next_to.write_text("half")
            raise OSError(28, "No space left on device")

        with raises("machine.disk") as error:
            write_atomically(tmp_path / "page.html", fill_the_disk)
        assert "page.html" in str(error.value)
        assert (names(tmp_path), (tmp_path / "page.html").read_text()) == (["page.html"], "old")

    def test_a_name_that_is_no_text_is_refused(self, tmp_path):
        target = tmp_path / os.fsdecode(b"h\xff.html")
        with raises("output.place"):
            write_atomically(target, lambda next_to: next_to.write_text("new"))
        assert names(tmp_path) == []

    def test_nothing_is_put_into_a_release(self, tmp_path):
        (tmp_path / "out" / "notes").mkdir(parents=True)
        (tmp_path / "out" / "release.json").write_text('{\n  "format": "recveil-release-3"\n}\n')
        for place in ("out/raw.csv", "out/notes/raw.csv"):
            with raises("output.place"):
                write_atomically(tmp_path / place, lambda next_to: next_to.write_text("1,2,3"))
        assert sorted(names(tmp_path / "out")) == ["notes", "release.json"]

    def test_a_file_of_that_name_far_above_is_no_release(self, tmp_path):
        (tmp_path / "app" / "data").mkdir(parents=True)
        (tmp_path / "release.json").write_text('{"version": "2.0"}')
        write_atomically(tmp_path / "app" / "raw.csv", lambda next_to: next_to.write_text("1,2,3"))
        assert names(tmp_path / "app") == ["data", "raw.csv"]
