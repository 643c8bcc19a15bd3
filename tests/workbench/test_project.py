"""A project: everything done is kept, and outlives whoever serves it."""

import sqlite3

import pytest

from recveil.errors import RecveilError
from recveil.workbench.project import Project


def test_all_is_there_again(tmp_path):
    project = Project(tmp_path / "project")
    table = project.add_input("ratings.csv", "/data/ratings.csv", "abc")
    project.set_reading(table.id, {"user": "2"})
    job = project.begin_job("risk", "audit", {"curves": False}, "recveil audit", table.id)
    project.end_job(job.id, "done")
    ran = project.begin_job("risk", "audit", {}, "recveil audit", table.id)
    project.keep("least k", 5)
    project.note("did something", "recveil audit")
    project.close()
    again = Project(tmp_path / "project")
    assert again.chosen_input().reading == {"user": "2"}
    assert again.job(job.id).state == "done"
    assert again.job(ran.id).state == "stopped", "it ran when the workbench ended"
    assert again.last_job("risk", table.id, "done").id == job.id
    assert again.kept("least k") == 5
    (entry,) = again.log()
    assert entry["what"] == "did something"
    assert entry["who"]
    assert entry["at"]
    again.close()


def test_one_workbench_has_it_at_a_time(tmp_path):
    project = Project(tmp_path / "project")
    with pytest.raises(RecveilError, match="open in another workbench"):
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
    with pytest.raises(RecveilError, match="holds other things"):
        Project(tmp_path / "mine")
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    assert (tmp_path / "mine").stat().st_mode == mode
    with pytest.raises(RecveilError, match="cannot be the folder"):
        Project(tmp_path / "mine" / "letter.txt")


def test_what_is_no_database_is_told(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "project.sqlite").write_bytes(b"no database, but long enough" * 99)
    with pytest.raises(RecveilError, match="no project that can be read"):
        Project(tmp_path / "project")


def test_a_project_of_another_version_is_not_guessed_at(tmp_path):
    Project(tmp_path / "project").close()
    with sqlite3.connect(tmp_path / "project" / "project.sqlite") as database:
        database.execute("PRAGMA user_version = 7")
    database.close()
    with pytest.raises(RecveilError, match="version 7"):
        Project(tmp_path / "project")


def test_numbers_that_there_are_not(tmp_path):
    project = Project(tmp_path / "project")
    for ask in (project.input, project.job):
        with pytest.raises(RecveilError, match="none of this number"):
            ask(7)
    job = project.begin_job("risk", "audit", {}, "", None)
    project.end_job(job.id, "done")
    with pytest.raises(RecveilError, match="run it again"):
        project.result(project.job(job.id))
    project.close()
