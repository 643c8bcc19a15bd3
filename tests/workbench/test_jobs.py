"""Work in processes of its own: it is told of, cancelled, and outlives nobody."""

import io
import json
import os
import signal
import threading
import time

import pytest

from error_assertions import raises
from recveil.runtime.errors import RecveilError
from recveil.workbench import jobs
from recveil.workbench.project import Project


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return found


@pytest.fixture
def long_work(bench, tmp_path):
    """An audit that takes minutes, of more people than an audit of the tests has."""
    from recveil.datasets import generate

    generate(tmp_path / "ratings.csv", users=6_000, items=900, ratings=300_000, seed=1)
    settings = {"source": str(tmp_path / "ratings.csv"), "reading": {}, "curves": True}
    return bench.jobs.start("risk", "audit", settings, command="recveil audit")


class Killed:
    """A process that said something, and was killed."""

    returncode = -9

    def __init__(self, said):
        self.stdin, self.stdout = io.BytesIO(), io.BytesIO(said)

    def wait(self, seconds=None):
        pass

    def kill(self):
        pass


def is_alive(process):
    return process.poll() is None


def test_how_far_it_is_is_asked_for_and_never_streamed(browser, long_work):
    """A browser keeps six streams open, and seven pages froze it."""
    running = browser.bench.jobs.running(long_work.id)
    running.told.append(("cell", {}))
    known = browser.get(f"/jobs/{long_work.id}/progress?told=1")
    news = browser.get(f"/jobs/{long_work.id}/progress?told=0")
    browser.bench.jobs.cancel(long_work.id)
    assert "hx-trigger" not in known.headers
    assert news.headers["hx-trigger"] == f"told-{long_work.id}"
    assert "progress?told=1" in news.text
    assert "<progress" in news.text


def test_progress_is_heard_and_a_cancelled_job_ends(bench, long_work):
    running = bench.jobs.running(long_work.id)
    until(lambda: running.far.fraction > 0 and running.far.part)
    bench.jobs.cancel(long_work.id)
    assert running.is_cancelled
    until(lambda: bench.jobs.running(long_work.id) is None)
    assert bench.project.job(long_work.id).state == "cancelled"
    assert running.process.returncode == 0, "it ended by itself"
    folder = bench.project.job_folder(long_work.id)
    assert [each.name for each in folder.iterdir()] == ["errors.txt"]
    assert (folder / "errors.txt").read_text() == ""


def test_a_job_that_is_killed_failed(bench, long_work):
    running = bench.jobs.running(long_work.id)
    running.process.send_signal(signal.SIGKILL)
    until(lambda: bench.jobs.running(long_work.id) is None)
    job = bench.project.job(long_work.id)
    assert job.state == "failed"
    assert "signal 9" in job.error


def test_what_runs_when_the_workbench_ends_is_stopped(bench, long_work):
    running = bench.jobs.running(long_work.id)
    until(lambda: running.far.part)
    bench.jobs.close()
    assert not is_alive(running.process)
    assert bench.project.job(long_work.id).state == "stopped"


def test_a_workbench_that_is_killed_leaves_no_work_behind(bench, long_work):
    """Its end of the stream goes with it."""
    running = bench.jobs.running(long_work.id)
    until(lambda: running.far.part)
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


class Slow(Killed):
    """A process that takes its time to end when it is asked to."""

    alive = most = 0

    def __init__(self):
        super().__init__(b"")
        self.end = threading.Event()
        Slow.alive += 1
        Slow.most = max(Slow.most, Slow.alive)

    def wait(self, seconds=None):
        if self.end.wait(0.2):
            return
        self.end.set()
        Slow.alive -= 1


def test_many_quick_clicks_are_never_many_processes(bench, monkeypatch):
    """What is cancelled ends first; those in between never begin."""
    monkeypatch.setattr(jobs, "_open_worker", Slow)
    several = [bench.jobs.start("risk", "audit", {}) for _ in range(15)]
    other = bench.jobs.start("data", "inspect", {})
    until(lambda: all(bench.jobs.running(job.id) is None for job in (*several, other)))
    assert Slow.most == 2, "one for each room"
    states = [bench.project.job(job.id).state for job in several]
    assert states == ["cancelled"] * 14 + ["failed"]


def test_a_job_that_waits_ends_with_the_workbench(bench, monkeypatch):
    monkeypatch.setattr(jobs, "_open_worker", Slow)
    for _ in range(2):
        last = bench.jobs.start("risk", "audit", {})
    bench.jobs.close()
    assert bench.project.job(last.id).state == "stopped"


@pytest.mark.usefixtures("quick")
def test_an_end_that_cannot_be_written_is_told_and_written_later(browser, small_table, monkeypatch):
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
    assert "could not be noted" in page
    assert "<progress" not in page
    monkeypatch.setattr(bench.project, "end_job", end_job)
    browser.send("/risk/start")
    browser.wait("risk")
    assert bench.project.job(job.id).state == "done"
    assert "could not be noted" not in browser.get("/risk").text


def test_a_process_that_cannot_be_opened_is_told(bench, monkeypatch):
    def none():
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(jobs, "_open_worker", none)
    with raises("workbench.process"):
        bench.jobs.start("risk", "audit", {})
    assert bench.project.last_job("risk").state == "failed"


def has_ended(browser, job):
    """Say whether a page that waits for a job hears of its end, and goes on asking."""
    heard = browser.get(f"/jobs/{job.id}/progress")
    assert heard.status_code == 200
    assert f"/jobs/{job.id}/progress" in heard.text
    return heard.headers.get("hx-trigger") == f"ended-{job.id}"


def test_the_end_is_told_as_often_as_somebody_asks(browser, monkeypatch):
    """Whoever missed it once, whatever went wrong, hears it a second later."""
    job = browser.bench.project.begin_job("x", "inspect", {}, "", None)
    monkeypatch.setattr(browser.bench.jobs, "running", {job.id: jobs.Running(job)}.get)
    assert not has_ended(browser, job)
    monkeypatch.setattr(browser.bench.jobs, "running", {}.get)
    assert all(has_ended(browser, job) for _ in range(3))


def test_what_was_removed_has_ended(browser):
    """A page that still waits for it must not wait forever."""
    table = browser.bench.project.add_input("ratings.csv", "/nowhere.csv")
    job = browser.bench.project.begin_job("data", "inspect", {}, "", table.id)
    browser.bench.project.forget_input(table.id)
    assert has_ended(browser, job)


@pytest.mark.usefixtures("quick")
class TestWithoutProcesses:
    def test_an_unknown_task_is_refused(self, bench):
        job = bench.jobs.start("x", "rm -rf", {})
        until(lambda: bench.jobs.running(job.id) is None)
        assert "no such task" in bench.project.job(job.id).error

    def test_a_fault_is_told_without_a_trace(self, bench):
        job = bench.jobs.start("x", "inspect", {})
        until(lambda: bench.jobs.running(job.id) is None)
        assert bench.project.job(job.id).state == "failed"
        assert "fault in recveil" in bench.project.job(job.id).error
        assert "Traceback" not in bench.project.job(job.id).error

    def test_nothing_begins_once_all_is_closed(self, bench):
        bench.jobs.close()
        with raises("workbench.closing"):
            bench.jobs.start("x", "inspect", {})

    def test_what_happens_is_told_as_it_happens(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        job = browser.bench.project.last_job("data")
        browser.wait("data", "risk")
        assert has_ended(browser, job)
        assert browser.send("/jobs/999/cancel").status_code == 400


def test_an_end_that_is_told_in_half_is_an_end(bench, monkeypatch):
    """A worker that is killed while it tells something."""
    lines = b'{"far": [0.5, "Reading", null]}\n{"told": {"half": 1\n{"ended": ["do'
    process = Killed(lines)
    monkeypatch.setattr(jobs, "_open_worker", lambda: process)
    job = bench.jobs.start("x", "inspect", {})
    until(lambda: bench.jobs.running(job.id) is None)
    assert bench.project.job(job.id).state == "failed"


def test_results_are_plain(bench, tmp_path):
    """Somebody else could read them."""
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
