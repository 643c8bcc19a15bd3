"""After `recveil precompile`, no verb compiles; without it, its progress says that it does."""

import os
import signal
import subprocess
import sys
import time

import pytest

from recveil import RecveilError
from recveil.datasets import generate
from recveil.precompilation import precompile
from recveil.runtime import compiled
from shared.cli_endings import hear_signals

VERBS = [
    "inspect ratings.csv",
    "anonymize ratings.csv -o out --k 5",
    "verify out",
    "anonymize ratings.csv -o padded --k 5 --method predictive",
    "anonymize ratings.csv -o dated --k 5 --dates month",
    "anonymize ratings.csv -o users --epsilon 20 --scale 1:5:1 --item-catalog as-rated",
    "audit ratings.csv",
    "audit ratings.csv --release out",
    "audit ratings.csv --release users",
    "evaluate ratings.csv --split 0.2 --release out",
    "selftest ratings.csv",
]
# Prints what numba compiles, and the parts of the progress.
PROGRAM = """
import sys
import time
from numba.core.event import Listener, register
import recveil.runtime.compiled
from recveil.cli.entry import make_app
from recveil.runtime.progress import listening

class Compiled(Listener):
    def on_start(self, event): print("COMPILED", event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass

register("numba:compile", Compiled())
with listening(lambda how_far: print("PART", how_far.part)):
    make_app()(sys.argv[1:], standalone_mode=False)
"""


def lines_of(folder, verb):
    command = [sys.executable, "-c", PROGRAM, *verb.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    return (
        done.returncode,
        [line for line in lines if line.startswith("COMPILED")],
        {line for line in lines if line.startswith("PART") and "compiling, once" in line},
    )


def test_verbs_compile_at_their_first_call_alone_or_not_at_all(tmp_path, monkeypatch):
    generate(tmp_path / "ratings.csv", users=300, items=100, ratings=9_000, seed=1)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    code, kernels, parts = lines_of(tmp_path, "anonymize ratings.csv -o first --k 5")
    assert (code, bool(kernels), bool(parts)) == (0, True, True)
    assert precompile() > 0
    for verb in VERBS:
        assert lines_of(tmp_path, verb) == (0, [], set()), verb


def test_kernels_that_cannot_be_kept_are_not_compiled(monkeypatch):
    monkeypatch.setattr(compiled, "_leads_to_the_current_folder", lambda: True)
    monkeypatch.setattr(
        "recveil.precompilation.count_bits",
        compiled.compiled()(compiled.count_bits.__wrapped__),
    )
    with pytest.raises(RecveilError) as caught:
        precompile()
    assert caught.value.code == "machine.kernels"


def test_a_part_that_fails_is_named(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.devnull)
    monkeypatch.setattr("recveil.precompilation._WORK", {"nothing of this name": print})
    with pytest.raises(RecveilError) as caught:
        precompile()
    assert caught.value.code == "machine.killed"


def test_a_folder_for_kernels_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    with pytest.raises(RecveilError, match="NUMBA_CACHE_DIR") as caught:
        precompile()
    assert caught.value.code == "machine.kernels"


def test_an_interrupt_ends_the_parts_at_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "recveil", "precompile"]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=hear_signals,
    )
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, b"Interrupted" in err) == (130, True)
    assert time.monotonic() - start < 8
