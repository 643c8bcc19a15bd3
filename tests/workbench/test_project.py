"""A project: everything done is kept, and outlives the server process."""

import sqlite3
from contextlib import closing, suppress

import pytest

from error_assertions import raises
from recveil.runtime.errors import RecveilError
from recveil.workbench import project as own_folder
from recveil.workbench.project import Project


def test_all_is_there_again(tmp_path):
    project = Project(tmp_path / "project")
    table = project.add_input("ratings.csv", "/data/ratings.csv", "abc")
    project.set_reading(table.id, {"user": "2"})
    job = project.begin_job("risk", "audit", {"curves": False}, "recveil audit", table.id)
    project.end_job(job.id, "done")
    ran = project.begin_job("risk", "audit", {}, "recveil audit", table.id)
    project.save("least k", 5)
    project.note("did something", "recveil audit")
    project.close()
    again = Project(tmp_path / "project")
    assert again.chosen_input().reading == {"user": "2"}
    assert again.job(job.id).state == "done"
    assert again.job(ran.id).state == "stopped", "it ran when the workbench ended"
    assert again.last_job("risk", table.id).id == ran.id
    assert again.load("least k") == 5
    (entry,) = again.log()
    assert entry["what"] == "did something"
    assert entry["who"]
    assert entry["at"]
    again.close()


def test_one_workbench_has_it_at_a_time(tmp_path):
    project = Project(tmp_path / "project")
    with raises("output.locked"):
        Project(tmp_path / "project")
    project.close()
    Project(tmp_path / "project").close()


def test_it_is_for_its_owner_alone(tmp_path):
    (tmp_path / "project").mkdir(mode=0o755)
    project = Project(tmp_path / "project")
    project.job_folder(1)
    for each in (project.folder, *project.folder.rglob("*")):
        assert each.stat().st_mode & 0o077 == 0, each
    project.close()


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear Ann")
    mode = (tmp_path / "mine").stat().st_mode
    with raises("workbench.folder"):
        Project(tmp_path / "mine")
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    assert (tmp_path / "mine").stat().st_mode == mode
    with raises("workbench.folder"):
        Project(tmp_path / "mine" / "letter.txt")


def test_a_file_that_is_no_database_is_reported(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "project.sqlite").write_bytes(b"no database, but long enough" * 99)
    with raises("workbench.damaged"):
        Project(tmp_path / "project")


@pytest.mark.parametrize("version", [2, 7], ids=["whose results have other keys", "unknown"])
def test_a_project_of_another_version_is_not_guessed_at(tmp_path, version):
    Project(tmp_path / "project").close()
    with sqlite3.connect(tmp_path / "project" / "project.sqlite") as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    with raises("workbench.damaged"):
        Project(tmp_path / "project")


def test_numbers_that_there_are_not(tmp_path):
    project = Project(tmp_path / "project")
    for ask in (project.input, project.job):
        with raises("workbench.not-found"):
            ask(7)
    job = project.begin_job("risk", "audit", {}, "", None)
    project.end_job(job.id, "done")
    assert project.result(project.job(job.id)) is None
    assert "run it again" in project.lost[job.id]
    (project.job_folder(job.id) / "result.json").write_text("{}")
    assert project.result(project.job(job.id)) == {}
    assert project.lost == {}
    project.close()


def test_a_number_is_never_given_again(tmp_path):
    """A page that was loaded earlier still names it, to remove it for example."""
    project = Project(tmp_path / "project")
    first = project.add_input("first.csv", "/data/first.csv")
    job = project.begin_job("risk", "audit", {}, "", first.id)
    project.forget_input(first.id)
    second = project.add_input("second.csv", "/data/second.csv")
    assert second.id > first.id
    assert project.begin_job("risk", "audit", {}, "", second.id).id > job.id
    with raises("workbench.not-found"):
        project.forget_input(first.id)
    assert project.inputs() == [second]
    project.close()


def test_what_was_chosen_for_a_table_goes_with_it(tmp_path):
    project = Project(tmp_path / "project")
    table = project.add_input("first.csv", "/data/first.csv")
    for kind in ("question", "setting"):
        project.save_for(table, kind, {"why": "of ann"})
    with pytest.raises(ValueError, match="answer: not among"):
        project.save_for(table, "answer", 1)
    project.forget_input(table.id)
    project.close()
    with closing(sqlite3.connect(tmp_path / "project" / "project.sqlite")) as database:
        assert database.execute("SELECT * FROM kept").fetchall() == []
    assert b"of ann" not in (tmp_path / "project" / "project.sqlite").read_bytes()


class TestPlanted:
    """A project that another account has prepared."""

    @pytest.fixture
    def folder(self, tmp_path):
        Project(tmp_path / "project").close()
        return tmp_path / "project"

    @pytest.fixture
    def victim(self, tmp_path):
        (tmp_path / "victim" / "1").mkdir(parents=True)
        (tmp_path / "victim" / "1" / "thesis.txt").write_text("years of work")
        (tmp_path / "victim" / "1" / "thesis.txt").chmod(0o644)
        return tmp_path / "victim" / "1" / "thesis.txt"

    @pytest.mark.parametrize("digest", ["", "0" * 64, "..", "../../victim/1", "absolute"])
    def test_no_path_of_the_database_is_removed(self, folder, victim, digest):
        digest = str(victim.parent) if digest == "absolute" else digest
        place = f"{folder}/inputs/../../victim/1/thesis.txt"
        (folder / "inputs").mkdir()
        project = Project(folder)
        table = project.add_input("thesis.txt", place, digest)
        with suppress(RecveilError):
            project.forget_input(table.id)
        assert victim.read_text() == "years of work"
        project.close()

    @pytest.mark.parametrize("name", ["comparisons", "jobs", "inputs", "releases", "lock"])
    def test_links_are_refused(self, folder, victim, name):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(victim.parent.parent)
        with raises("workbench.folder") as caught:
            Project(folder)
        assert name in str(caught.value)
        (folder / name).unlink()
        Project(folder).close()
        assert victim.exists()

    @pytest.mark.parametrize(
        "name", ["project.sqlite", "project.sqlite-journal", "jobs/1/errors.txt", "jobs/1/risk.csv"]
    )
    def test_files_of_elsewhere_under_another_name_are_refused(self, folder, victim, name):
        """What is written in place would change them."""
        (folder / "jobs" / "1").mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        before = victim.read_bytes()
        (folder / name).hardlink_to(victim)
        with raises("workbench.folder"):
            Project(folder)
        assert victim.read_bytes() == before

    def test_links_deep_within_are_refused(self, folder, victim):
        (folder / "jobs" / "1").mkdir(parents=True)
        (folder / "jobs" / "1" / "result.json").symlink_to(victim)
        with raises("workbench.folder") as caught:
            Project(folder)
        assert "result.json" in str(caught.value)

    def test_a_database_that_is_a_link_changes_nothing(self, folder, victim):
        (folder / "project.sqlite").unlink()
        (folder / "project.sqlite").symlink_to(victim)
        with raises("workbench.folder"):
            Project(folder)
        assert victim.stat().st_mode & 0o777 == 0o644
        assert victim.read_text() == "years of work"

    def test_a_link_that_appears_while_it_is_open_is_not_followed(self, folder, victim):
        project = Project(folder)
        table = project.add_input("first.csv", "/data/first.csv")
        (folder / "comparisons").symlink_to(victim.parent.parent)
        with raises("workbench.folder"):
            project.forget_input(table.id)
        with raises("workbench.folder"):
            project.folder_for("comparisons", "2")
        assert victim.exists()
        project.close()

    @pytest.mark.parametrize(
        "change",
        [
            "CREATE TRIGGER more AFTER INSERT ON log BEGIN DELETE FROM inputs; END",
            "CREATE VIEW more AS SELECT 1",
            "ALTER TABLE jobs RENAME COLUMN error TO errors",
        ],
    )
    def test_other_tables_are_refused(self, folder, change):
        with closing(sqlite3.connect(folder / "project.sqlite")) as database:
            database.execute(change)
        with raises("workbench.damaged"):
            Project(folder)

    def test_another_programs_database_is_left_as_it_is(self, tmp_path):
        (tmp_path / "other").mkdir()
        file = tmp_path / "other" / "project.sqlite"
        with closing(sqlite3.connect(file)) as database:
            database.execute("CREATE TABLE letters (id)")
        before = file.read_bytes()
        with raises("workbench.damaged"):
            Project(tmp_path / "other")
        assert file.read_bytes() == before

    @pytest.mark.parametrize("whose", [".", "jobs", "project.sqlite"])
    def test_what_is_another_users_is_refused(self, folder, monkeypatch, whose):
        (folder / "jobs").mkdir()
        theirs = (folder / whose).stat().st_ino
        monkeypatch.setattr(own_folder, "is_ours", lambda found: found.st_ino != theirs)
        mode = folder.stat().st_mode
        with raises("workbench.folder"):
            Project(folder)
        assert folder.stat().st_mode == mode

    def test_no_other_account_can_write_into_its_folders(self, folder):
        (folder / "jobs").mkdir()
        (folder / "jobs").chmod(0o777)
        Project(folder).close()
        assert (folder / "jobs").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "step", ["DELETE FROM jobs", "DELETE FROM inputs", "DELETE FROM kept WHERE key = 'input'"]
)
def test_a_table_is_removed_whole_or_not_at_all(tmp_path, monkeypatch, step):
    """A killed removal once left a project that named a table which was not there any more."""
    project = Project(tmp_path / "project")
    table = project.add_input("first.csv", "/data/first.csv")
    project.begin_job("risk", "audit", {}, "", table.id)
    project.close()
    connect = sqlite3.connect

    class Dying(sqlite3.Connection):
        def execute(self, sql, *values):
            done = super().execute(sql, *values)
            if sql.startswith(step):
                raise KeyboardInterrupt
            return done

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{"factory": Dying} | k))
    project = Project(tmp_path / "project")
    with pytest.raises(KeyboardInterrupt):
        project.forget_input(table.id)
    monkeypatch.undo()
    project.close()
    again = Project(tmp_path / "project")
    assert again.chosen_input() == table
    assert len(again.jobs()) == 1
    again.close()


def test_what_is_kept_of_nothing_counts_as_nothing(tmp_path):
    project = Project(tmp_path / "project")
    assert project.add_input("first.csv", "/data/first.csv").id == 1
    for value in (7, -1, 2**70, "x", [1], {"a": 1}):
        project.save("input", value)
        assert project.chosen_input() is None
    project.save("checked", {"name": "x"})
    assert project.load("checked", fields=("name",)) == {"name": "x"}
    assert project.load("checked", fields=("name", "place")) is None
    assert project.load("checked", []) == []
    project.close()


def test_a_project_of_the_last_version_keeps_its_log(tmp_path):
    Project(tmp_path / "project").close()
    with closing(sqlite3.connect(tmp_path / "project" / "project.sqlite")) as database:
        for name in ("input", "job", "release"):
            database.execute(f"ALTER TABLE log DROP COLUMN {name}")
        database.execute("INSERT INTO log VALUES ('1', 'ann', 'opened', '')")
        database.execute("PRAGMA user_version = 4")
        database.commit()
    for _ in range(2):
        project = Project(tmp_path / "project")
        assert [line["what"] for line in project.log()] == ["opened"]
        made = project.begin_job("release", "release", {}, "", 1)
        assert [line["what"] for line in project.log_of(made)] == ["(unassigned) opened"]
        project.close()


@pytest.mark.parametrize("state", ["failed", "cancelled", "stopped"])
def test_the_log_states_how_a_job_ended(tmp_path, state):
    project = Project(tmp_path / "project")
    job = project.begin_job("release", "release", {}, "recveil", None, "making it")
    if state == "stopped":
        project.close()
        project = Project(tmp_path / "project")
    else:
        project.end_job(job.id, state, "no room" if state == "failed" else "")
    end, start = (line["what"] for line in project.log())
    assert start == "started making it"
    assert end.startswith(state)
    assert "no room" not in end  # an error may quote the table
    project.close()
