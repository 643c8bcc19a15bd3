"""A workbench on a project of its own, and a browser that knows its secrets."""

import json
import os
import threading
import time

import pytest

from recveil.datasets import make_ratings
from recveil.workbench import guard, jobs
from recveil.workbench.worker import Wire, work

starlette = pytest.importorskip("starlette", reason="the extra [workbench] is not installed")
pytest.importorskip("httpx2", reason="starlette's client for tests needs it")

PORT = 8_765


class Browser:
    """What a browser does with our pages, without one: it keeps cookies, and fills forms in."""

    def __init__(self, bench):
        from starlette.testclient import TestClient

        from recveil.workbench.application import make_application

        self.bench = bench
        self.address = f"http://127.0.0.1:{PORT}"
        self.client = TestClient(make_application(bench, PORT), base_url=self.address)

    def enter(self):
        assert self.client.get(f"/?token={self.bench.keys.token}").status_code == 200
        return self

    def get(self, place):
        return self.client.get(place)

    def send(self, to, *, follow=True, **fields):
        """Send a form."""
        return self.client.post(
            to,
            data={"change": self.bench.keys.change, **fields},
            headers={"origin": self.address},
            follow_redirects=follow,
        )

    def drop(self, name, content, place="/data/upload"):
        headers = {
            "origin": self.address,
            "x-recveil-change": self.bench.keys.change,
            "x-file-name": name,
            "content-type": "application/octet-stream",
        }
        return self.client.put(place, content=content, headers=headers)

    def wait(self, *rooms):
        """Wait until nothing runs for the rooms; return their last jobs."""
        end = time.monotonic() + 120
        while any(self.bench.jobs.running_in(room) for room in rooms):
            assert time.monotonic() < end, "it takes too long"
            time.sleep(0.05)
        return [self.bench.project.last_job(room) for room in rooms]


class Pipe:
    """The way to a worker that is a thread of ours."""

    def __init__(self, worker):
        self.worker, self.closed = worker, False

    def write(self, line):
        self.worker.begin(json.loads(line))

    def flush(self):
        pass

    def close(self):
        self.worker.wire.is_cut = True


class InThisProcess:
    """A worker without a process of its own, which would take seconds to load all."""

    returncode = 0

    def __init__(self):
        self.stdin = Pipe(self)
        read, write = os.pipe()
        self.stdout, self._stated = os.fdopen(read, "rb"), os.fdopen(write, "w", buffering=1)
        self.wire = Wire(lambda text: print(text, file=self._stated))

    def begin(self, asked):
        self.thread = threading.Thread(target=self._work, args=(asked,))
        self.thread.start()

    def _work(self, asked):
        with self._stated:
            work(self.wire, asked)

    def wait(self, seconds=None):
        self.thread.join(seconds)

    def kill(self):
        self.wire.is_cut = True


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    """Starlette's client has no connection that the system could describe."""
    monkeypatch.setattr(guard, "is_of_another_user", lambda *_: False)


@pytest.fixture
def quick(monkeypatch):
    """Work in threads; without it, in processes, as in earnest."""
    monkeypatch.setattr(jobs, "_open_worker", InThisProcess)


@pytest.fixture
def bench(tmp_path):
    from recveil.workbench.project import Project
    from recveil.workbench.workspace import Workspace

    bench = Workspace(Project(tmp_path / "project"), most_bytes=1_000_000)
    yield bench
    bench.jobs.close()
    bench.project.close()


@pytest.fixture
def outside(bench):
    """A browser that has not shown the token."""
    return Browser(bench)


@pytest.fixture
def browser(outside):
    return outside.enter()


@pytest.fixture(scope="session")
def small_table():
    """Eighty invented users, as a CSV file."""
    table = make_ratings(n_users=80, n_items=40, n_ratings=900, seed=2).to_arrow()
    columns = [table[name].to_pylist() for name in ("user_id", "item_id", "rating")]
    rows = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    return "\n".join(["user,item,rating", *rows, ""]).encode()
