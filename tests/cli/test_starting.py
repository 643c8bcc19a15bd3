"""Little memory, by ulimit -v: a sentence and code 2, in seconds, whatever a library does."""

import os
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

START = "from recveil.cli import entry, starting; entry.main = lambda _: {}; starting.main()"
PLENTY = 64 * 10**9


def run(command, addresses):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

    return subprocess.run(
        [sys.executable, *command], preexec_fn=limit, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("addresses", [150_000_000, 400_000_000, 690_000_000])
def test_too_few_addresses_are_told_at_once(addresses):
    found = run(["-m", "recveil", "verify", "ratings.csv"], addresses)
    assert found.returncode == 2
    assert found.stderr.startswith("error: not enough memory: this process may take ")
    assert found.stderr.endswith("raise that limit\n")


@pytest.mark.parametrize(
    "death",
    [
        "os.abort()",
        "os.kill(os.getpid(), 11)",
        "os.kill(os.getpid(), 7)",
        "os._exit(1)",
        "os._exit(127)",
    ],
)
def test_a_library_that_ends_the_program_lacked_memory(death):
    """OpenBLAS ends it with 1, which would say that a claim does not hold."""
    found = run(["-c", f"import os; {START.format(death)}"], PLENTY)
    assert found.returncode == 2
    assert "error: not enough memory: this process may take 64.0 GB of addresses" in found.stderr


def test_an_error_for_lack_of_memory_is_told():
    raising = "entry._run_to_the_end = lambda _: bytearray(10**14); "
    found = run(["-c", f"from recveil.cli import entry; {raising}entry.main()"], PLENTY)
    assert found.returncode == 2
    assert found.stderr.startswith("error: not enough memory: ")


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_our_own_codes_stay(code):
    assert (
        run(["-c", f"import sys; {START.format(f'sys.exit({code})')}"], PLENTY).returncode == code
    )


def test_ctrl_c_while_it_is_loaded_is_no_traceback():
    finder = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'recveil.cli.entry':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from recveil.cli import starting\n"
        "starting.main(['--version'])"
    )
    found = run(["-c", finder], PLENTY)
    assert (found.returncode, found.stderr) == (130, "Interrupted; nothing was begun.\n")


def test_a_signal_reaches_the_verb():
    verb = "(os.kill(os.getppid(), 15), __import__('time').sleep(30))"
    found = run(["-c", f"import os; {START.format(verb)}"], PLENTY)
    assert found.returncode == 128 + 15


def test_without_a_limit_nothing_is_watched(monkeypatch):
    from recveil.cli import entry, starting

    monkeypatch.setattr(starting, "address_space", lambda: None)
    monkeypatch.setattr(os, "fork", lambda: 1 / 0)
    monkeypatch.setattr(entry, "main", lambda arguments: sys.exit(len(arguments)))
    with pytest.raises(SystemExit) as stop:
        starting.main(["a", "b", "c"])
    assert stop.value.code == 3


def test_nothing_is_written_that_others_can_write_to():
    """Compiled code neither, which libraries write, and which is run."""
    say = "lambda _: print(os.umask(0))"
    start = f"import os; from recveil.cli import entry, starting; entry.main = {say}; "
    found = subprocess.run(
        [sys.executable, "-c", f"{start} os.umask(0); starting.main()"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert int(found.stdout) == 0o022
