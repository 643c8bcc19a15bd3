"""Little memory, by ulimit -v: a sentence and code 2, in seconds, whatever a library does."""

import os
import subprocess
import sys

import pytest

from shared.cli_starting import PLENTY, START, is_running, resource, run, until, with_limits


@pytest.mark.parametrize("addresses", [150_000_000, 400_000_000, 690_000_000])
def test_too_few_addresses_are_reported_at_once(addresses):
    found = run(["-m", "recveil", "verify", "ratings.csv"], addresses)
    assert found.returncode == 2
    assert found.stderr.startswith("error: not enough memory: this process may use ")
    assert found.stderr.endswith("raise that limit\n")


def test_an_error_for_lack_of_memory_is_reported():
    raising = "entry._run_verb = lambda _: bytearray(10**14); "
    found = run(["-c", f"from recveil.cli import entry; {raising}entry.main()"], PLENTY)
    assert found.returncode == 2
    assert found.stderr.startswith("error: not enough memory: ")


def test_what_hangs_without_working_space_has_it_before_a_verb_begins():
    """OpenBLAS of SciPy 1.17 asks for it forever, at its first call, where there is none."""
    result = "from recveil.runtime import threads; "
    result += "threads.take_working_space = lambda _: print('taken'); "
    code = result + START.format("print('verb')")
    assert run(["-c", code], 1_200_000_000).stdout == "taken\nverb\n"


def test_ctrl_c_while_it_is_loaded_is_no_traceback():
    finder = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'recveil.cli.entry':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from recveil.cli import launcher\n"
        "launcher.main(['--version'])"
    )
    found = run(["-c", finder], PLENTY)
    assert (found.returncode, found.stderr) == (130, "Interrupted; nothing was started.\n")


def test_without_a_limit_nothing_is_watched(monkeypatch):
    from recveil.cli import entry, launcher

    monkeypatch.setattr(launcher, "address_space", lambda: None)
    monkeypatch.setattr(launcher, "data_size", lambda: None)
    monkeypatch.setattr(os, "fork", lambda: 1 / 0)
    monkeypatch.setattr(entry, "main", lambda arguments: sys.exit(len(arguments)))
    with pytest.raises(SystemExit) as stop:
        launcher.main(["a", "b", "c"])
    assert stop.value.code == 3


@pytest.mark.parametrize(
    ("given", "taken"), [(0, 0o022), (0o027, 0o027), (0o777, 0o077), (0o400, 0o022)]
)
def test_nothing_is_written_that_others_can_write_to(given, taken):
    """Compiled code neither, which libraries write, and which is run; its owner can read it."""
    say = "lambda _: print(os.umask(0))"
    start = f"import os; from recveil.cli import entry, launcher; entry.main = {say}; "
    found = subprocess.run(
        [sys.executable, "-c", f"{start} os.umask({given}); launcher.main()"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert int(found.stdout) == taken


def test_who_is_killed_takes_the_verb_along(tmp_path):
    """A SIGKILL reaches the process that waits, alone; the run is not to go on in the other."""
    result = tmp_path / "pid"
    verb = f"(open({str(result)!r}, 'w').write(str(os.getpid())), __import__('time').sleep(60))"

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (PLENTY, PLENTY))

    command = [sys.executable, "-c", f"import os; {START.format(verb)}"]
    with subprocess.Popen(command, preexec_fn=limit) as watcher:
        until(lambda: result.exists() and result.read_text())
        pid = int(result.read_text())
        assert pid != watcher.pid
        watcher.kill()
    until(lambda: not is_running(pid))


@pytest.mark.parametrize("data", [50_000_000, 90_000_000, 130_000_000, 205_000_000])
def test_too_little_data_is_reported_like_too_few_addresses(tmp_path, data):
    """Before, libraries hung or aborted."""
    (tmp_path / "r.csv").write_text("user,item,rating\n1,1,4\n2,1,4\n")
    found = with_limits(["verify", str(tmp_path / "r.csv"), "--k", "2"], DATA=data)
    if data > 200_000_000 and found.returncode == 0:
        return  # it was enough
    assert found.returncode == 2
    assert "error: not enough memory: this process may use " in found.stderr
    assert "of data (ulimit -d)" in found.stderr
