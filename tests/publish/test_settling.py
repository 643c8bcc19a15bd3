"""What a run that was cut short leaves is finished or undone by what stands at the target now."""

import fcntl
import json
import os
import shutil
import socket
import stat
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.publish import staging
from recveil.publish import staging as alone
from recveil.publish.staging import (
    DRAWN,
    NEW,
    NEW_PRIVATE,
    OLD,
    OLD_PRIVATE,
    RENAMING,
    check_target,
    staged_pair,
)
from recveil.runtime.atomic_writes import write_atomically
from recveil.verification import verify


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Three releases of the same users, which differ in k."""
    folder = tmp_path_factory.mktemp("releases")
    ratings = make_ratings(n_users=40, n_items=20, n_ratings=400, seed=2)
    for k in (2, 3, 4):
        PredictiveAnonymizer(k, seed=3).anonymize(ratings).write(folder / str(k))
    return folder


@pytest.fixture
def put(releases, tmp_path):
    """Put one of them at the target, or into a staging folder."""

    def put(k, folder="out", private="out.private"):
        shutil.copytree(releases / str(k), tmp_path / folder)
        shutil.copytree(releases / f"{k}.private", tmp_path / private)

    return put


def killed(folder, put, old, new, name=".out.partial-0123abcd"):
    """A staging folder as a run left it that was killed after both old folders were aside."""
    left = folder / name
    left.mkdir()
    (left / "lock").write_text("locked")
    (left / RENAMING).touch()
    put(new, f"{name}/{NEW}", f"{name}/{NEW_PRIVATE}")
    put(old, f"{name}/{OLD}", f"{name}/{OLD_PRIVATE}")
    return left


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def k_of(folder):
    """The k at the target, whose two sides belong together."""
    result = verify(folder / "out", private=folder / "out.private")
    assert result.holds
    return json.loads((folder / "out" / "release.json").read_text())["k"]


def settle(folder):
    with raises("output.exists"):
        check_target(folder / "out", force=False)


class TestSomethingElseStandsThere:
    def test_what_was_restored_from_a_backup_makes_the_staging_needless(self, put, tmp_path):
        killed(tmp_path, put, old=2, new=3)
        put(2)
        settle(tmp_path)
        assert (names(tmp_path), k_of(tmp_path)) == (["out", "out.private"], 2)

    @pytest.mark.parametrize("force", [False, True])
    def test_another_release_is_not_replaced_and_the_way_out_is_named(self, put, tmp_path, force):
        left = killed(tmp_path, put, old=2, new=3)
        put(4)
        with raises("output.leftovers") as error:
            check_target(tmp_path / "out", force=force)
        assert "0123abcd" in str(error.value)
        assert k_of(tmp_path) == 4
        for name in ("out", "out.private"):
            (tmp_path / name).rename(tmp_path / f"newer-{name}")
        settle(tmp_path)
        assert (k_of(tmp_path), left.exists()) == (2, False)

    def test_half_a_copy_is_no_copy(self, put, tmp_path):
        """Its release.json alone says that it is the same release."""
        killed(tmp_path, put, old=2, new=3)
        put(2)
        (tmp_path / "out" / "ratings.parquet").unlink()
        with raises("output.leftovers"):
            check_target(tmp_path / "out", force=True)

    def test_of_two_that_were_moved_away_none_is_guessed(self, put, tmp_path):
        killed(tmp_path, put, old=2, new=3)
        newer = killed(tmp_path, put, old=4, new=3, name=".out.partial-89abcdef")
        with raises("output.leftovers") as error:
            check_target(tmp_path / "out", force=True)
        assert "0123abcd" in str(error.value)
        shutil.rmtree(tmp_path / ".out.partial-0123abcd")
        settle(tmp_path)
        assert (k_of(tmp_path), newer.exists()) == (4, False)

    def test_an_older_release_does_not_come_to_a_newer_one_s_twin(self, put, tmp_path):
        left = killed(tmp_path, put, old=2, new=3)
        shutil.rmtree(left / OLD_PRIVATE)
        put(4)
        (tmp_path / "out").rename(tmp_path / "published-elsewhere")
        with raises("output.leftovers"):
            check_target(tmp_path / "out", force=True)
        assert not (tmp_path / "out").exists()

    def test_drawn_users_that_were_moved_away_stay_as_well(self, put, tmp_path):
        left = killed(tmp_path, put, old=2, new=3)
        (left / NEW).rename(left / DRAWN)
        for name in (NEW_PRIVATE, OLD_PRIVATE):
            shutil.rmtree(left / name)
        put(4)
        with raises("output.leftovers"):
            check_target(tmp_path / "out", force=True)


class TestWhatIsNobodysLeftover:
    """An unrelated folder may have the name of what a killed run leaves."""

    NAME = ".out.partial-deadbeef"

    def made_long_ago(self, folder):
        for path in [*folder.rglob("*"), folder]:
            os.utime(path, (0, 0))

    @pytest.mark.parametrize("lock", [None, "", "my own notes on locks"])
    def test_it_stays(self, put, tmp_path, lock):
        put(2, self.NAME, f"{self.NAME}.private")
        if lock is not None:
            (tmp_path / self.NAME / "lock").write_text(lock)
        self.made_long_ago(tmp_path / self.NAME)
        before = sorted(tmp_path.rglob("*"))
        with nullcontext() if lock != "" else raises("output.leftovers"):
            check_target(tmp_path / "out", force=False)
        assert sorted(tmp_path.rglob("*")) == before

    def test_what_its_owner_put_into_a_leftover_stays_and_is_named(self, put, tmp_path):
        left = killed(tmp_path, put, old=2, new=3)
        (left / "notes.txt").write_text("mine")
        with raises("output.leftovers") as error:
            check_target(tmp_path / "out", force=True)
        assert "notes.txt" in str(error.value)
        (left / "notes.txt").rename(tmp_path / "notes.txt")
        settle(tmp_path)
        assert (k_of(tmp_path), left.exists()) == (2, False)

    @pytest.mark.parametrize("name", [NAME, ".out.partial-lock", ".page.html.0123abcd.tmp"])
    def test_no_output_gets_such_a_name(self, releases, tmp_path, name):
        with raises("output.place"):
            check_target(tmp_path / name, force=False)
        with raises("output.place"):
            write_atomically(tmp_path / name, lambda next_to: next_to.write_text("all of it"))
        assert names(tmp_path) == []

    def test_a_dry_run_settles_and_removes_nothing(self, put, tmp_path):
        killed(tmp_path, put, old=2, new=3)
        before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]}
        check_target(tmp_path / "out", force=False, is_dry=True)
        assert {path: path.stat().st_mtime_ns for path in before} == before
        assert {tmp_path, *tmp_path.rglob("*")} == set(before)


class TestTheNewTwinIsGone:
    @pytest.mark.parametrize("instead", [None, "another's"])
    def test_the_old_pair_comes_back(self, put, tmp_path, instead):
        left = killed(tmp_path, put, old=2, new=3)
        shutil.rmtree(left / NEW_PRIVATE)
        if instead is not None:
            shutil.copytree(left / OLD_PRIVATE, tmp_path / "out.private")
        settle(tmp_path)
        assert (names(tmp_path), k_of(tmp_path)) == (["out", "out.private"], 2)

    def test_without_an_old_pair_nothing_comes(self, put, tmp_path):
        left = killed(tmp_path, put, old=2, new=3)
        for name in (NEW_PRIVATE, OLD, OLD_PRIVATE):
            shutil.rmtree(left / name)
        check_target(tmp_path / "out", force=False)
        assert names(tmp_path) == []

    def test_the_twin_of_what_was_put_there_by_hand_stays(self, put, tmp_path):
        left = killed(tmp_path, put, old=2, new=3)
        (left / NEW_PRIVATE).rename(tmp_path / "out.private")
        shutil.copytree(left / NEW, tmp_path / "out")
        settle(tmp_path)
        assert (names(tmp_path), k_of(tmp_path)) == (["out", "out.private"], 3)


@contextmanager
def writing(folder, put, k, *, force):
    """Write a release, while the block is run before it is put into place."""
    with staged_pair(folder / "out", force=force) as sides:
        put(k, "made", "made.private")
        for side, made in zip(sides, ("made", "made.private"), strict=True):
            side.rmdir()
            (folder / made).rename(side)
        yield


def write(folder, put, k, *, force):
    with writing(folder, put, k, force=force):
        pass


class TestTwoRuns:
    def another(self, folder):
        """Another run, which is about to rename until its file is closed."""
        file = (folder / ".out.partial-lock").open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(alone, "_PATIENCE", 0.1)

    def test_one_waits_for_the_other_and_is_refused_in_the_end(self, put, tmp_path):
        with self.another(tmp_path), raises("output.locked"):
            check_target(tmp_path / "out", force=True)
        check_target(tmp_path / "out", force=False)  # which removes what a killed one left
        assert names(tmp_path) == []

    def test_it_is_refused_before_its_first_renaming_and_touches_nothing(self, put, tmp_path):
        put(2)
        with ExitStack() as stack:
            with (
                raises("output.locked"),
                staged_pair(tmp_path / "out", force=True),
            ):
                stack.enter_context(self.another(tmp_path))
            assert k_of(tmp_path) == 2
            assert names(tmp_path) == [".out.partial-lock", "out", "out.private"]

    @pytest.mark.parametrize("force", [False, True])
    def test_what_another_put_there_meanwhile_is_replaced_by_force_alone(
        self, put, tmp_path, force
    ):
        refused = nullcontext() if force else raises("output.exists")
        with refused, writing(tmp_path, put, 3, force=force):
            write(tmp_path, put, 4, force=False)
        assert (names(tmp_path), k_of(tmp_path)) == (["out", "out.private"], 3 if force else 4)

    def test_what_is_no_release_is_not_replaced_by_force_either(self, put, tmp_path):
        refused = raises("output.exists")
        with refused, writing(tmp_path, put, 3, force=True):
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "precious").touch()
        assert names(tmp_path / "out") == ["precious"]

    def test_undoing_leaves_another_s_twin_where_it_is(self, put, tmp_path, monkeypatch):
        """Where the file system has no locks, two runs may rename at once."""
        rename = Path.rename

        def overtaken(self, target):
            if self.name == NEW:
                monkeypatch.setattr(Path, "rename", rename)
                shutil.rmtree(tmp_path / "out.private")
                put(4)
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", overtaken)
        with raises("output.not-writable"):
            write(tmp_path, put, 3, force=False)
        assert (names(tmp_path), k_of(tmp_path)) == (["out", "out.private"], 4)


def test_that_nothing_was_left_is_said_only_if_it_is_so(put, tmp_path, monkeypatch):
    put(2)
    rename = Path.rename

    def overtaken(self, target):
        made = rename(self, target)
        if self == tmp_path / "out":
            put(4, "out", "other.private")
        return made

    monkeypatch.setattr(Path, "rename", overtaken)
    with raises("output.not-writable") as error:
        write(tmp_path, put, 3, force=True)
    assert ".out.partial-" in str(error.value)


def _add(path):
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")


def _swap(folder):
    folder.rename(folder.with_name("away"))
    _add(folder / "mine.txt")


ACTS = {
    "into the release": lambda folder: _add(folder / "out" / "mine.txt"),
    "into the twin": lambda folder: _add(folder / "out.private" / "mine.txt"),
    "in its place": lambda folder: _swap(folder / "out"),
    "a folder in it": lambda folder: _add(folder / "out" / "risk.csv" / "mine.txt"),
}


class TestWhatComesAtTheLastMoment:
    """Between the last look and the renaming; what its owner puts there is no old release."""

    @pytest.mark.parametrize("act", ACTS)
    def test_it_is_not_removed_with_the_old_release(self, put, tmp_path, monkeypatch, act):
        check = staging._check_again

        def overtaken(*given, **named):
            check(*given, **named)
            ACTS[act](tmp_path)

        put(2)
        monkeypatch.setattr(staging, "_check_again", overtaken)
        with raises("output.changed"):
            write(tmp_path, put, 3, force=True)
        assert [path.read_text() for path in tmp_path.rglob("mine.txt")] == ["mine"]
        assert names(tmp_path)[-2:] == ["out", "out.private"]
        assert not [name for name in names(tmp_path) if name.startswith(".")]

    @pytest.mark.parametrize("at", ["out", "out.private"])
    def test_nor_where_there_was_none(self, put, tmp_path, monkeypatch, at):
        check = staging._check_again

        def overtaken(*given, **named):
            check(*given, **named)
            (tmp_path / at).write_text("mine")

        monkeypatch.setattr(staging, "_check_again", overtaken)
        with raises("output.changed"):
            write(tmp_path, put, 3, force=True)
        assert (names(tmp_path), (tmp_path / at).read_text()) == ([at], "mine")

    def test_what_comes_into_it_after_that_stays_and_is_named(self, put, tmp_path, monkeypatch):
        """Another program has the old folder open, and writes into it after it was moved away."""
        place = staging._put_into_place

        def late(where, *renames):
            place(where, *renames)
            (where / OLD / "mine.txt").write_text("mine")

        put(2)
        monkeypatch.setattr(staging, "_put_into_place", late)
        with raises("output.changed") as error:
            write(tmp_path, put, 3, force=True)
        assert "old-published/mine.txt" in str(error.value)
        assert k_of(tmp_path) == 3
        (mine,) = tmp_path.rglob("mine.txt")
        with raises("output.leftovers"):
            check_target(tmp_path / "out", force=True)
        mine.rename(tmp_path / "mine.txt")
        settle(tmp_path)
        assert (names(tmp_path), k_of(tmp_path)) == (["mine.txt", "out", "out.private"], 3)


def bind(name):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(name)


class TestTheLock:
    def test_what_else_bears_its_name_is_left_alone(self, tmp_path):
        (tmp_path / ".out.partial-lock").write_text("mine")
        with raises("output.exists"):
            check_target(tmp_path / "out", force=False)
        assert (tmp_path / ".out.partial-lock").read_text() == "mine"

    @pytest.mark.parametrize("kind", ["folder", "link", "socket", "pipe"])
    def test_what_is_no_file_is_named(self, tmp_path, monkeypatch, kind):
        monkeypatch.chdir(tmp_path)  # a socket's path is short
        name = ".out.partial-lock"
        make = {
            "folder": os.mkdir,
            "link": lambda name: Path(name).symlink_to("elsewhere"),
            "socket": bind,
            "pipe": os.mkfifo,
        }
        make[kind](name)
        with raises("output.exists") as error:
            check_target("out", force=False)
        assert ".out.partial-lock" in str(error.value)
        assert names(tmp_path) == [name]

    @pytest.mark.parametrize("umask", [0o777, 0o700, 0o600, 0o400, 0o200])
    def test_its_owner_can_open_it_again_whatever_the_umask(self, tmp_path, umask):
        file = tmp_path / ".out.partial-lock"
        before = os.umask(umask)
        try:
            with alone.alone(file, tmp_path / "out"):
                assert stat.S_IMODE(file.stat().st_mode) == 0o600
        finally:
            os.umask(before)
        assert names(tmp_path) == []

    def test_one_that_its_owner_cannot_open_stops_no_later_run(self, tmp_path, monkeypatch):
        """A run was killed that had made it under such an umask."""
        file = tmp_path / ".out.partial-lock"
        file.touch(mode=0o000)
        opened = os.open

        def as_any_user(path, flags, *more, **named):  # the administrator could open it
            if path == file and file.exists() and not file.stat().st_mode & 0o600:
                raise PermissionError(13, "Permission denied")
            return opened(path, flags, *more, **named)

        monkeypatch.setattr(os, "open", as_any_user)
        check_target(tmp_path / "out", force=False)
        assert names(tmp_path) == []

    def test_where_there_are_no_locks_all_go_on(self, put, tmp_path, monkeypatch):
        def no_locks(*_):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(fcntl, "flock", no_locks)
        put(2)
        write(tmp_path, put, 3, force=True)
        assert (names(tmp_path), k_of(tmp_path)) == (["out", "out.private"], 3)

    def test_an_interrupt_right_after_locking_leaves_no_lock_file(self, tmp_path, monkeypatch):
        lock = alone.lock

        def interrupted(descriptor, *, wait):
            lock(descriptor, wait=wait)
            monkeypatch.setattr(alone, "lock", lock)
            raise KeyboardInterrupt

        monkeypatch.setattr(alone, "lock", interrupted)
        with pytest.raises(KeyboardInterrupt):
            check_target(tmp_path / "out", force=False)
        assert names(tmp_path) == []
