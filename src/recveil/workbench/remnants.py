"""Remnants: what a killed workbench left in its project of which no row tells any more."""

import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from recveil.workbench.project import Project
from recveil.workbench.uploads import CHECKED, INPUTS, folder_name

# How our own folders are called; what is called otherwise was put there by hand, and stays.
_NUMBER, _DIGEST = re.compile(r"[0-9]+"), re.compile(r"[0-9a-f]{24}")


def remove_remnants(project: Project) -> None:
    """Remove copies of tables and findings of which the project does not know any more.

    Whoever is killed while they remove a table has forgotten it, and not yet its files. A project
    whose database is new knows nothing, so that all would seem to be left over: nothing goes then.

    Parameters
    ----------
    project : Project
        In which nothing works yet.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Project(Path(folder, "project")).close()
    ...     project = Project(Path(folder, "project"))
    ...     left = project.folder_for("jobs", "7")
    ...     remove_remnants(project)
    ...     left.exists()
    ...     project.close()
    False
    """
    if project.is_new:
        return
    inputs, jobs = project.inputs(), project.jobs()
    _keep_folders(project.folder / "jobs", {str(job.id) for job in jobs})
    _keep_folders(project.folder / "comparisons", {str(table.id) for table in inputs})
    dropped = {(folder_name(each.digest), Path(each.place).name) for each in inputs if each.digest}
    _keep_files(project.folder / INPUTS, dropped)
    checked = [job.settings.get("place", "") for job in jobs if job.room == "check"]
    checked.append((project.kept("checked", {}, fields=("place",)) or {}).get("place", ""))
    # Where the project lies may have changed since.
    _keep_files(project.folder / CHECKED, {Path(str(place)).parts[-2:] for place in checked})


def _keep_folders(place: Path, names: Collection[str]) -> None:
    for each in place.glob("*"):
        if _NUMBER.fullmatch(each.name) and each.name not in names:
            shutil.rmtree(each, ignore_errors=True)


def _keep_files(place: Path, names: Collection[tuple[str, ...]]) -> None:
    for folder in place.glob("*"):
        if not _DIGEST.fullmatch(folder.name):
            continue
        with suppress(OSError):
            for file in folder.iterdir():
                if (folder.name, file.name) not in names:
                    file.unlink()
        with suppress(OSError):  # of the same bytes under another name
            folder.rmdir()
