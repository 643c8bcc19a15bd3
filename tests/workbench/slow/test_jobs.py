"""Work in processes of its own: it reports progress, can be cancelled, and ends with the server."""

import json
import os

import pytest

from recveil.runtime.errors import RecveilError
from recveil.workbench.project import Project
from shared.workbench_jobs import (
    long_work,  # noqa: F401 (fixtures)
    until,
)


def is_alive(process):
    return process.poll() is None


def test_how_far_it_is_is_asked_for_and_never_streamed(browser, long_work):
    """A browser keeps six streams open, and seven pages froze it."""
    running = browser.bench.jobs.running(long_work.id)
    running.reports.append(("cell", {}))
    known = browser.get(f"/jobs/{long_work.id}/progress?n_reports=1")
    news = browser.get(f"/jobs/{long_work.id}/progress?n_reports=0")
    browser.bench.jobs.cancel(long_work.id)
    assert "hx-trigger" not in known.headers
    assert news.headers["hx-trigger"] == f"reported-{long_work.id}"
    assert "progress?n_reports=1" in news.text
    assert "<progress" in news.text


def test_progress_is_heard_and_a_cancelled_job_ends(bench, long_work):
    running = bench.jobs.running(long_work.id)
    until(lambda: running.progress.fraction > 0 and running.progress.part)
    bench.jobs.cancel(long_work.id)
    assert running.is_cancelled
    until(lambda: bench.jobs.running(long_work.id) is None)
    assert bench.project.job(long_work.id).state == "cancelled"
    assert running.process.returncode == 0, "it ended by itself"
    folder = bench.project.job_folder(long_work.id)
    assert [each.name for each in folder.iterdir()] == ["errors.txt"]
    assert (folder / "errors.txt").read_text() == ""


def test_what_runs_when_the_workbench_ends_is_stopped(bench, long_work):
    running = bench.jobs.running(long_work.id)
    until(lambda: running.progress.part)
    bench.jobs.close()
    assert not is_alive(running.process)
    assert bench.project.job(long_work.id).state == "stopped"


def test_a_workbench_that_is_killed_leaves_no_work_behind(bench, long_work):
    """Its end of the stream goes with it."""
    running = bench.jobs.running(long_work.id)
    until(lambda: running.progress.part)
    os.close(os.dup(running.process.stdin.fileno()))
    running.process.stdin.close()
    running.process.wait(20)
    until(lambda: bench.jobs.running(long_work.id) is None)


def test_a_spare_process_takes_the_next_work(tmp_path):
    from recveil.workbench.jobs import Jobs

    project = Project(tmp_path / "spare")
    own = Jobs(project, has_spare=True)
    spare = own._spare
    job = own.start("x", "inspect", {"source": str(tmp_path / "none.csv"), "reading": {}})
    assert own.running(job.id).process is spare
    assert own._spare is not None
    assert own._spare is not spare
    until(lambda: own.running(job.id) is None)
    assert "none.csv" in project.job(job.id).error
    waiting = own._spare
    own.close()
    assert not is_alive(waiting)
    project.close()


@pytest.mark.usefixtures("quick")
def test_an_end_that_cannot_be_written_is_reported_and_written_later(
    browser, small_table, monkeypatch
):
    """The disk is full when a job ends."""
    bench, end_job = browser.bench, browser.bench.project.end_job

    def full(*_):
        raise RecveilError("cannot be written (database or disk is full)")

    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    monkeypatch.setattr(bench.project, "end_job", full)
    browser.send("/risk/start")
    (job,) = browser.wait("risk")
    assert job.state == "running"
    page = browser.get("/risk").text
    assert "could not be written to the project" in page
    assert "<progress" not in page
    monkeypatch.setattr(bench.project, "end_job", end_job)
    browser.send("/risk/start")
    browser.wait("risk")
    assert bench.project.job(job.id).state == "done"
    assert "could not be written to the project" not in browser.get("/risk").text


def test_results_are_plain(bench, tmp_path):
    """Another account could read them."""
    (tmp_path / "ratings.csv").write_text("user,item,rating\n1,2,3\n2,2,4\n")
    job = bench.jobs.start(
        "data", "inspect", {"source": str(tmp_path / "ratings.csv"), "reading": {}}
    )
    until(lambda: bench.jobs.running(job.id) is None)
    folder = bench.project.job_folder(job.id)
    assert json.loads((folder / "result.json").read_text())["data"]["users"] == 2
    assert all(each.stat().st_mode & 0o077 == 0 for each in (folder, *folder.iterdir()))


def test_what_is_printed_goes_to_a_file_of_its_own(bench, tmp_path):
    """Whatever had that name before may be a file of elsewhere."""
    victim = tmp_path / "thesis.txt"
    victim.write_text("mine")
    before = bench.project.begin_job("data", "inspect", {}, "", None)
    (bench.project.job_folder(before.id + 1) / "errors.txt").hardlink_to(victim)
    job = bench.jobs.start("data", "inspect", {"source": "/nowhere.csv", "reading": {}})
    until(lambda: bench.jobs.running(job.id) is None)
    assert job.id == before.id + 1
    assert bench.project.job(job.id).state == "failed"
    assert victim.read_text() == "mine"
    assert (bench.project.job_folder(job.id) / "errors.txt").stat().st_nlink == 1
