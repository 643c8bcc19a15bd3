"""A standalone cluster on this machine: a master and workers, as processes of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import recveil

SOURCE = Path(recveil.__file__).parents[1]
_PATIENCE = 120


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


class Cluster:
    """A master and two workers of one core each; `recveil` runs a verb on them."""

    def __init__(self, folder: Path, memory: str, **more: str) -> None:
        import pyspark

        self.folder, self._memory = folder, memory
        self._class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        self.port = free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": memory,
            "spark.executor.memory": memory,
            "spark.executor.cores": "1",
            "spark.network.timeout": "60s",
            "spark.executor.heartbeatInterval": "5s",
            **more,
        }
        paths = [str(SOURCE), os.environ.get("PYTHONPATH", "")]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYSPARK_PYTHON": sys.executable,
            **settings_in(folder, settings),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def begin(self) -> None:
        own = "org.apache.spark.deploy"
        where = ["--host", "127.0.0.1"]
        self._daemon(
            "master", f"{own}.master.Master", *where, "--port", str(self.port), "--webui-port", "0"
        )
        self._wait_for_master()
        for number in (1, 2):
            work = self.folder / f"work{number}"
            disk = {"SPARK_LOCAL_DIRS": str(self.folder / f"disk{number}")}
            self._daemon(
                f"worker{number}",
                f"{own}.worker.Worker",
                *where,
                "--cores",
                "1",
                "--memory",
                self._memory,
                "--webui-port",
                "0",
                "--work-dir",
                str(work),
                self.master,
                **disk,
            )

    def _daemon(self, name: str, *command: str, **environment: str) -> None:
        log = (self.folder / f"{name}.log").open("wb")
        self.processes.append(
            subprocess.Popen(
                [str(self._class), *command],
                env={**self.environment, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        )
        log.close()

    def _wait_for_master(self) -> None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.2)
        raise TimeoutError("the master does not listen")

    def recveil(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a verb on the cluster."""
        return recveil_on(self.master, self.environment, *arguments)

    def kill_executor(self, number: int) -> None:
        """Kill the executor of a worker, and let the worker live."""
        (executor,) = executors_below(self.folder / f"work{number}")
        os.kill(executor, signal.SIGKILL)

    def kill_worker(self, number: int) -> None:
        """Kill a worker with all that it began, its executor included."""
        kill(self.processes[number])

    def end(self) -> None:
        for process in reversed(self.processes):
            kill(process)


def settings_in(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Write Spark's settings, and that it logs what happens to `events`; return what names them."""
    (folder / "conf").mkdir(parents=True)
    (folder / "events").mkdir()
    all_settings = settings | {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (folder / "events").as_uri(),
    }
    lines = [f"{name} {value}\n" for name, value in all_settings.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("".join(lines))
    return {"SPARK_CONF_DIR": str(folder / "conf")}


def fetches_that_failed(folder: Path) -> int:
    """Count the tasks that did not find what others had written for them."""
    files = [path for path in (folder / "events").rglob("*") if path.is_file()]
    return sum(path.read_text().count('"Reason":"FetchFailed"') for path in files)


def recveil_on(master: str, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    """Begin a verb by Spark."""
    return subprocess.Popen(
        [sys.executable, "-m", "recveil", *arguments, "--engine", "spark", "--master", master],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def executors_below(folder: Path) -> list[int]:
    """Return the executors that work in a folder below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            is_below = (process / "cwd").resolve().is_relative_to(folder)
            if b"CoarseGrainedExecutorBackend" in command and is_below:
                found.append(int(process.name))
    return found


def kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def cluster_in(folder: Path, memory: str = "600m", **settings: str) -> Iterator[Cluster]:
    """Begin a cluster with so much memory in each process and some settings, and end it."""
    cluster = Cluster(folder, memory, **settings)
    try:
        cluster.begin()
        yield cluster
    finally:
        cluster.end()
