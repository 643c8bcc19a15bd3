"""What a run leaves, however it ends, and who may read and write it."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.methods._sample import sample
from recveil.publish.staging import _put_into_place, check_target
from recveil.runtime.errors import RecveilError
from recveil.verification import verify
from shared.publish_staging import model, modes, ratings, release, umask  # noqa: F401 (fixtures)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def belongs_together(folder):
    result = json.loads((folder / "out.private" / "private.json").read_text())["release"]["sha256"]
    return result == hashlib.sha256((folder / "out" / "release.json").read_bytes()).hexdigest()


class TestModes:
    @pytest.mark.parametrize(
        ("mask", "file", "folder"),
        [
            (0o000, "0o644", "0o755"),
            (0o002, "0o644", "0o755"),
            (0o077, "0o600", "0o700"),
            (0o777, "0o600", "0o700"),
        ],
    )
    def test_no_other_user_may_write_whatever_the_umask(
        self, release, tmp_path, umask, mask, file, folder
    ):
        umask(mask)
        release.write(tmp_path / "out", file_format="csv")
        found = modes(tmp_path)
        assert found.pop("out") == folder
        assert found.pop("out.private") == "0o700"
        for name, mode in found.items():
            assert mode == ("0o600" if name.startswith("out.private") else file), name

    def test_no_other_user_may_read_what_is_being_written(
        self, release, tmp_path, umask, monkeypatch
    ):
        umask(0)
        check, seen = _put_into_place, []

        def look(staging, *renames):
            seen.append(modes(tmp_path))
            check(staging, *renames)

        monkeypatch.setattr("recveil.publish.staging._put_into_place", look)
        release.write(tmp_path / "out")
        staging, lock = sorted(name for name in seen[0] if name.count("/") == 0)
        assert (seen[0][staging], lock) == ("0o700", ".out.partial-lock")
        assert seen[0][lock] == "0o600"
        assert seen[0][f"{staging}/lock"] == "0o600"


@pytest.mark.parametrize("name", ["out", "out.private"])
def test_a_link_to_a_release_is_named_as_what_it_is(release, tmp_path, name):
    """Before, it was said to be no release, and to lack its release.json."""
    (tmp_path / "there").mkdir()
    release.write(tmp_path / "there" / "out")
    (tmp_path / name).symlink_to(tmp_path / "there" / name)
    with raises("output.exists") as error:
        check_target(tmp_path / "out", force=True)
    assert name in str(error.value)
    with raises("output.exists") as error:
        check_target(tmp_path / "out", force=False)
    assert name in str(error.value)


class TestDrawn:
    """Drawn users have no private twin; what is replaced comes back all the same."""

    @pytest.fixture
    def before(self, model, tmp_path):
        sample(model, tmp_path / "out", n_users=10, seed=1)
        return (tmp_path / "out" / "release.json").read_bytes()

    @pytest.mark.parametrize("interrupted_at", ["out", "drawn"])
    def test_ctrl_c_while_renaming_puts_the_old_one_back(
        self, model, tmp_path, monkeypatch, before, interrupted_at
    ):
        rename = Path.rename

        def interrupted(self, target):
            if self.name == interrupted_at:
                monkeypatch.setattr(Path, "rename", rename)
                raise KeyboardInterrupt
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sample(model, tmp_path / "out", n_users=12, seed=2, force=True)
        assert names(tmp_path) == ["out"]
        assert (tmp_path / "out" / "release.json").read_bytes() == before

    def test_a_run_killed_between_the_renames_is_settled_by_the_next(self, model, tmp_path, before):
        sample(model, tmp_path / "new", n_users=12, seed=2)
        staging = tmp_path / ".out.partial-0123abcd"
        staging.mkdir()
        (staging / "lock").write_text("locked")
        (staging / "renaming").touch()
        (tmp_path / "new").rename(staging / "drawn")
        (tmp_path / "out").rename(staging / "old-published")
        with raises("output.exists"):
            sample(model, tmp_path / "out", n_users=12, seed=2)
        assert names(tmp_path) == ["out"]
        assert (tmp_path / "out" / "release.json").read_bytes() == before

    def test_a_full_disk_is_named_and_leaves_the_old_one(
        self, model, tmp_path, monkeypatch, before
    ):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("recveil.publish.staging._set_modes", full)
        with raises("machine.disk"):
            sample(model, tmp_path / "out", n_users=12, seed=2, force=True)
        assert (tmp_path / "out" / "release.json").read_bytes() == before


class TestKilledAgain:
    """A run that is killed while it settles what an earlier one left."""

    @pytest.mark.parametrize("n_renames", [1, 2, 3])
    @pytest.mark.parametrize("n_settled", [0, 1])
    def test_old_or_new_is_whole_in_the_end(
        self, release, tmp_path, monkeypatch, n_renames, n_settled
    ):
        release.write(tmp_path / "out", file_format="csv")
        staging = tmp_path / ".out.partial-0123abcd"
        release.write(tmp_path / "new")
        staging.mkdir()
        (staging / "lock").write_text("locked")
        (staging / "renaming").touch()
        (tmp_path / "new").rename(staging / "published")
        (tmp_path / "new.private").rename(staging / "private")
        renames = [
            (tmp_path / "out", staging / "old-published"),
            (tmp_path / "out.private", staging / "old-private"),
            (staging / "private", tmp_path / "out.private"),
        ]
        for source, target in renames[:n_renames]:
            source.rename(target)
        rename, done = Path.rename, []

        class Killed(BaseException):
            """Ends the run at once; what follows is the next one."""

        def kill(self, target):
            if len(done) == n_settled:
                raise Killed
            done.append(target)
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", kill)
        with suppress(Killed):
            check_target(tmp_path / "out", force=True)
        monkeypatch.setattr(Path, "rename", rename)
        check_target(tmp_path / "out", force=True)
        assert names(tmp_path) == ["out", "out.private"]
        assert verify(tmp_path / "out").holds
        assert belongs_together(tmp_path)


@pytest.mark.parametrize("left", ["published", "private", "old-published"])
def test_what_a_run_left_that_was_no_release_is_never_put_into_place(release, tmp_path, left):
    """A release that was refused, or half written: its removal may be killed."""
    release.write(tmp_path / "new")
    staging = tmp_path / ".out.partial-0123abcd"
    staging.mkdir()
    (staging / "lock").write_text("locked")
    (tmp_path / "new").rename(staging / left)
    check_target(tmp_path / "out", force=False)
    assert names(tmp_path) == ["new.private"]


class TestInterruptedTwice:
    """By a signal while the renaming of a first one is undone."""

    def interrupt(self, monkeypatch, calls):
        rename, done = Path.rename, []

        def interrupted(self, target):
            done.append(target)
            if len(done) in calls:
                raise KeyboardInterrupt
            made = rename(self, target)
            if -len(done) in calls:  # behind it
                raise KeyboardInterrupt
            return made

        monkeypatch.setattr(Path, "rename", interrupted)
        return lambda: monkeypatch.setattr(Path, "rename", rename)

    @pytest.mark.parametrize("second", [1, 2, 3, 4])
    @pytest.mark.parametrize("first", [1, 2, 3, 4])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_the_old_release_or_the_new_one_is_there(
        self, release, tmp_path, monkeypatch, first, second, sign
    ):
        release.write(tmp_path / "out", file_format="csv")
        undo = self.interrupt(monkeypatch, {sign * first, sign * (first + second)})
        with pytest.raises(KeyboardInterrupt):
            release.write(tmp_path / "out", force=True)
        undo()
        assert names(tmp_path) == ["out", "out.private"]
        assert verify(tmp_path / "out").holds
        assert belongs_together(tmp_path)

    @pytest.mark.parametrize("calls", [{1, 2}, {2, 3}, {-1, -2}, {2, -3}, {-1, 2, 3, -4}])
    def test_so_it_is_with_drawn_users(self, model, tmp_path, monkeypatch, calls):
        sample(model, tmp_path / "out", n_users=10, seed=1)
        undo = self.interrupt(monkeypatch, calls)
        with pytest.raises(KeyboardInterrupt):
            sample(model, tmp_path / "out", n_users=12, seed=2, force=True)
        undo()
        assert names(tmp_path) == ["out"]
        assert verify(tmp_path / "out").holds


def test_an_old_release_is_kept_where_another_folder_came_meanwhile(release, tmp_path, monkeypatch):
    release.write(tmp_path / "out", file_format="csv")
    rename = Path.rename

    def overtaken(self, target):
        made = rename(self, target)
        if self == tmp_path / "out":
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "others").touch()
        return made

    monkeypatch.setattr(Path, "rename", overtaken)
    with raises("output.not-writable"):
        release.write(tmp_path / "out", force=True)
    monkeypatch.setattr(Path, "rename", rename)
    assert names(tmp_path / "out") == ["others"]
    (tmp_path / "out" / "others").unlink()
    (tmp_path / "out").rmdir()
    with raises("output.exists"):
        check_target(tmp_path / "out", force=False)
    assert names(tmp_path) == ["out", "out.private"]
    assert verify(tmp_path / "out").holds
    assert belongs_together(tmp_path)


class TestTheFolderAboveIsMoved:
    """Nothing is said of what cannot be looked at, and the next run there puts it in order."""

    @pytest.fixture
    def moving(self, tmp_path, monkeypatch):
        """Rename the folder above the target just before a file or folder is renamed."""

        def moving(name, *, is_made_anew=False):
            rename = Path.rename

            def moved(self, target):
                if self.name == name:
                    monkeypatch.setattr(Path, "rename", rename)
                    rename(tmp_path / "sub", tmp_path / "moved")
                    if is_made_anew:
                        (tmp_path / "sub").mkdir()
                return rename(self, target)

            monkeypatch.setattr(Path, "rename", moved)

        (tmp_path / "sub").mkdir()
        return moving

    @pytest.mark.parametrize("is_made_anew", [False, True])
    def test_what_may_be_left_is_named(self, release, tmp_path, moving, is_made_anew):
        moving("private", is_made_anew=is_made_anew)
        with raises("output.changed", ".out.partial-*"):
            release.write(tmp_path / "sub" / "out")
        assert [name[:13] for name in names(tmp_path / "moved")][:1] == [".out.partial-"]
        release.write(tmp_path / "moved" / "out")
        assert names(tmp_path / "moved") == ["out", "out.private"]

    def test_so_it_is_while_files_are_written(self, release, tmp_path, monkeypatch):
        (tmp_path / "sub").mkdir()

        def write(*_, **__):
            (tmp_path / "sub").rename(tmp_path / "moved")
            raise RecveilError("no such file")

        monkeypatch.setattr("recveil.publish.folder._write_private", write)
        with raises("output.changed") as error:
            release.write(tmp_path / "sub" / "out")
        assert ".out.partial-*" in str(error.value)

    @pytest.mark.parametrize("before", ["out", "out.private", "private", "published"])
    def test_an_old_release_is_never_removed(self, release, tmp_path, moving, before):
        release.write(tmp_path / "sub" / "out")
        old = (tmp_path / "sub" / "out.private" / "private.json").read_bytes()
        moving(before)
        with raises("output.changed"):
            release.write(tmp_path / "sub" / "out", force=True)
        check_target(tmp_path / "moved" / "out", force=True)
        assert names(tmp_path / "moved") == ["out", "out.private"]
        assert belongs_together(tmp_path / "moved")
        assert (
            before == "published"
            or old == (tmp_path / "moved" / "out.private" / "private.json").read_bytes()
        )

    def test_where_the_last_renaming_was_done_it_is_said_too(self, release, tmp_path, monkeypatch):
        (tmp_path / "sub").mkdir()
        place = _put_into_place

        def placed(*renames):
            place(*renames)
            (tmp_path / "sub").rename(tmp_path / "moved")

        monkeypatch.setattr("recveil.publish.staging._put_into_place", placed)
        with raises("output.changed"):
            release.write(tmp_path / "sub" / "out")
        assert belongs_together(tmp_path / "moved")


def test_no_release_stands_anywhere_below_another(release, tmp_path):
    release.write(tmp_path / "out")
    (tmp_path / "out" / "sub").mkdir()
    with raises("output.place"):
        release.write(tmp_path / "out" / "sub" / "inner")
    assert names(tmp_path / "out" / "sub") == []
