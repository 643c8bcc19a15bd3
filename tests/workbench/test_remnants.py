"""What a killed workbench left goes at the next start, and nothing else."""

import pytest

from recveil.workbench import project as of_project
from recveil.workbench.project import Project, remove_orphans


class KilledError(BaseException):
    pass


def again(project):
    project.close()
    project = Project(project.folder)
    remove_orphans(project)
    return project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def dropped(project, digest, name="t.csv", room="inputs"):
    file = project.folder_for(room, digest[:24]) / name
    file.write_text("user,item,rating\nann,film,1\n")
    return file


def found(project, room, table):
    job = project.begin_job(room, "inspect", {}, "", table)
    result = project.job_folder(job.id) / "result.json"
    result.write_text("{}")
    return result


def test_a_table_whose_removal_was_killed_goes(project, monkeypatch):
    copy, other = dropped(project, "a" * 64), dropped(project, "b" * 64)
    table = project.add_input("t.csv", str(copy), "a" * 64)
    kept = project.add_input("t.csv", str(other), "b" * 64)
    result, of_other = found(project, "data", table.id), found(project, "data", kept.id)
    settings = project.folder_for("comparisons", str(table.id)) / "row.json"
    settings.write_text("{}")

    def die(*_, **__):
        raise KilledError

    monkeypatch.setattr(of_project.shutil, "rmtree", die)
    with pytest.raises(KilledError):
        project.forget_input(table.id)
    monkeypatch.undo()
    assert copy.exists()
    project = again(project)
    assert not any(each.exists() for each in (copy, copy.parent, result, settings))
    assert other.exists()
    assert of_other.exists()
    project.close()


def test_what_came_and_was_never_noted_goes(project):
    file = dropped(project, "c" * 64)
    project = again(project)
    assert not file.exists()
    project.close()


def test_what_is_checked_stays_until_it_is_removed(project):
    files = [dropped(project, digit * 64, room="checked") for digit in "abc"]
    job = project.begin_job("check", "check", {"place": str(files[0])}, "", None)
    project.job_folder(job.id)
    project.save("checked", {"name": "t.csv", "place": str(files[1]), "dropped": True})
    project = again(project)
    assert [file.exists() for file in files] == [True, True, False]
    project.forget_room("check", "checked")
    project = again(project)
    assert not any(file.exists() for file in files)
    project.close()


def test_what_a_user_put_there_by_hand_stays(project):
    notes = [project.folder_for(room, "mine") / "note.txt" for room in ("jobs", "inputs")]
    notes.append(project.folder_for("releases") / "release-1.card.toml")
    for note in notes:
        note.write_text("mine")
    project = again(project)
    assert all(note.exists() for note in notes)
    project.close()


def test_where_the_database_was_lost_nothing_goes(project):
    file = dropped(project, "a" * 64)
    project.add_input("t.csv", str(file), "a" * 64)
    project.close()
    (project.folder / "project.sqlite").write_bytes(b"")
    project = Project(project.folder)
    remove_orphans(project)
    assert file.exists()
    project.close()
