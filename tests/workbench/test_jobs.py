"""Work in processes of its own: it reports progress, can be cancelled, and ends with the server."""

import io
import json
import signal
import threading
from contextlib import suppress

import pytest

from error_assertions import raises
from recveil.runtime.progress import Cancelled, HowFar
from recveil.workbench import jobs
from recveil.workbench.project import Job
from recveil.workbench.worker import Wire
from shared.workbench_jobs import (
    long_work,  # noqa: F401 (fixtures)
    until,
)


class Killed:
    """A process that said something, and was killed."""

    returncode = -9

    def __init__(self, said):
        self.stdin, self.stdout = io.BytesIO(), io.BytesIO(said)

    def wait(self, seconds=None):
        pass

    def kill(self):
        pass


def test_a_job_that_is_killed_failed(bench, long_work):
    running = bench.jobs.running(long_work.id)
    running.process.send_signal(signal.SIGKILL)
    until(lambda: bench.jobs.running(long_work.id) is None)
    job = bench.project.job(long_work.id)
    assert job.state == "failed"
    assert "signal 9" in job.error


class Slow(Killed):
    """A process that takes its time to end when it is asked to."""

    alive = most = 0

    def __init__(self):
        super().__init__(b"")
        self.end = threading.Event()
        Slow.alive += 1
        Slow.most = max(Slow.most, Slow.alive)

    def wait(self, seconds=None):
        if self.end.wait(1.0):
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


def test_a_process_that_cannot_be_opened_is_reported(bench, monkeypatch):
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


def test_the_end_is_reported_as_often_as_a_client_asks(browser, monkeypatch):
    """A client that missed it, for whatever reason, hears it a second later."""
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

    def test_a_fault_is_reported_without_a_traceback(self, bench):
        job = bench.jobs.start("x", "inspect", {})
        until(lambda: bench.jobs.running(job.id) is None)
        assert bench.project.job(job.id).state == "failed"
        assert "fault in recveil" in bench.project.job(job.id).error
        assert "Traceback" not in bench.project.job(job.id).error

    def test_nothing_begins_once_all_is_closed(self, bench):
        bench.jobs.close()
        with raises("workbench.closing"):
            bench.jobs.start("x", "inspect", {})

    def test_progress_is_reported_as_it_happens(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        job = browser.bench.project.last_job("data")
        browser.wait("data", "risk")
        assert has_ended(browser, job)
        assert browser.send("/jobs/999/cancel").status_code == 400


def test_the_time_left_of_a_silent_job_follows_the_clock():
    running = jobs.Running(Job(1, "choose", "compare", {}, "", None, "running", "", "", ""))
    assert running.time_left == ""
    running.hear(HowFar(0.5, "Learning", 130.0))
    said = []
    for passed in (0.0, 65.0, 35.0, 31.0):
        running._heard_at -= passed
        said.append(running.time_left)
    assert said[:3] == ["about 2 min left", "about 1 min left", "about 30 s left"]
    assert said[3] == "longer than estimated"
    running.hear(HowFar(0.6, "Learning", 130.0, is_late=True))
    assert running.time_left == "about 2 min left, longer than estimated"


def test_an_end_that_is_reported_in_half_is_an_end(bench, monkeypatch):
    """A worker that is killed while it writes a report."""
    lines = b'{"progress": [0.5, "Reading", null]}\n{"cell": {"half": 1\n{"ended": ["do'
    process = Killed(lines)
    monkeypatch.setattr(jobs, "_open_worker", lambda: process)
    job = bench.jobs.start("x", "inspect", {})
    until(lambda: bench.jobs.running(job.id) is None)
    assert bench.project.job(job.id).state == "failed"


def test_an_ignored_interruption_takes_effect_at_the_next_report():
    written = []
    wire = Wire(written.append)
    with suppress(Cancelled):  # as Python does in `__del__`
        wire.cut()
    try:
        wire.report("progress", [0.5, "Reading", None])
    except Cancelled:
        wire.report("progress", [0.5, "Cleaning up", None])
    assert [json.loads(line)["progress"][1] for line in written] == ["Cleaning up"]
