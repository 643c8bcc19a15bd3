"""Where results go: files that stay whole, pipes, streams that take no Unicode, Ctrl-C late."""

import io
import json
import os
import re
import signal
import stat
import sys
import threading
from pathlib import Path

import pytest

from recveil.cli import main
from recveil.runtime import devices
from recveil.runtime.compiled import compiled

RATINGS = "user,item,rating\nué,i€,3\nb,c,4\n"


@pytest.fixture(autouse=True)
def ratings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS, encoding="utf-8")


def ended(capfd, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    streams = capfd.readouterr()
    return stop.value.code, streams.out, streams.err


def test_a_full_disk_keeps_the_older_json(capfd, monkeypatch):
    Path("old.json").write_text('{"old": 1}')
    write = Path.write_text

    def full(path, text, *rest, **named):
        write(path, text[:10], *rest, **named)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    code, _, err = ended(capfd, "verify", "ratings.csv", "--k", "2", "--json", "old.json")
    assert code == 2
    assert "old.json: cannot be written" in err
    assert Path("old.json").read_text() == '{"old": 1}'
    assert sorted(path.name for path in Path().iterdir()) == ["old.json", "ratings.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "ratings.csv", "--k", "2", "--json", "new"),
        ("convert", "ratings.csv", "out.csv", "--json", "new"),
        ("audit", "ratings.csv", "--no-curves", "--json", "new"),
        ("audit", "ratings.csv", "--no-curves", "--html", "new"),
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_what_may_hold_ids_is_its_owner_s_alone(capfd, arguments, is_there):
    """A failed verification shows ids of users; an audit, whom it found."""
    before = os.umask(0o022)
    if is_there:
        Path("new").touch(0o644)
    ended(capfd, *arguments)
    os.umask(before)
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o600


def test_a_device_that_takes_no_more_is_named(capfd):
    code, _, err = ended(capfd, "verify", "ratings.csv", "--k", "2", "--json", "/dev/full")
    assert code == 2
    assert "/dev/full: cannot be written (No space left on device); name a plain file" in err


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (("convert", "ratings.csv", "out.csv"), "out.csv"),
        (("audit", "ratings.csv", "--no-curves", "--html", "page.html"), "page.html"),
    ],
)
def test_what_was_written_before_a_full_device_is_named(capfd, arguments, written):
    code, _, err = ended(capfd, *arguments, "--json", "/dev/full")
    assert code == 2
    assert Path(written).exists()
    first, second = err.splitlines()[-2:]
    assert "/dev/full: cannot be written" in first
    assert second.startswith(f"{written} was written and is complete")


def test_json_may_go_into_a_pipe_and_nothing_takes_its_place(capfd):
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_text()))
    reader.start()
    code, *_ = ended(capfd, "verify", "ratings.csv", "--k", "2", "--json", "pipe")
    reader.join(20)
    assert code == 1
    assert json.loads(read[0])["holds"] is False
    assert Path("pipe").is_fifo()
    assert devices.is_device(Path("/dev/null"))
    assert not devices.is_device(Path("ratings.csv"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_stream_that_takes_no_unicode_gets_escapes(monkeypatch, encoding):
    Path("ratings.csv").rename(name := os.fsdecode("é".encode() + b"\xff.csv"))
    for options in (["--json", "-"], []):
        bytes_out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(bytes_out, encoding))
        with pytest.raises(SystemExit) as stop:
            main(["verify", name, "--k", "2", *options])
        assert stop.value.code == 1
        text = bytes_out.getvalue()
        if options:
            assert json.loads(text.decode(encoding))["holds"] is False
        assert b"does not hold" in text or options


def test_ctrl_c_after_the_file_stands_there_says_so(capfd, monkeypatch):
    from recveil.report import terminal

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(terminal, "show_reading", interrupt)
    code, _, err = ended(capfd, "convert", "ratings.csv", "out.csv")
    assert (code, err) == (
        130,
        "Interrupted; out.csv was written and is complete; nothing else was written.\n",
    )
    assert Path("out.csv").is_file()


def test_ctrl_c_before_says_that_nothing_was_written(capfd, monkeypatch):
    def interrupt(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    code, _, err = ended(capfd, "convert", "ratings.csv", "out.csv")
    assert (code, err) == (130, "Interrupted; unfinished output was not written.\n")
    assert [path.name for path in Path().iterdir()] == ["ratings.csv"]


@compiled()
def count(n):
    total = 0.0
    for i in range(n):
        for j in range(1_000):
            total += (i * j) % 7
    return total, n


def test_ctrl_c_in_a_compiled_kernel_is_no_fault(capfd, monkeypatch):
    from recveil.cli import outputs

    count(1)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    def work(*_):
        timer.start()
        count(300_000)

    monkeypatch.setattr(outputs, "write_json", work)
    # A shell's background asks not to hear it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    code, _, err = ended(capfd, "verify", "ratings.csv", "--k", "2")
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert code == 130
    assert re.match(r"Interrupted; ", err)


@pytest.mark.parametrize("size", ["10MB", "4 GB"])
def test_max_memory_reaches_the_reader(capfd, size):
    Path("many.csv").write_text("user,item,rating\n" + "1,2,3\n" * 300_000)
    code, _, err = ended(
        capfd, "convert", "many.csv", "out.csv", "--duplicates", "last", "--max-memory", size
    )
    if size == "4 GB":
        assert code == 0
    else:
        assert code == 2
        assert err.startswith("error: many.csv: its rows take at least ")


def test_max_memory_must_be_an_amount(capfd):
    code, _, err = ended(capfd, "verify", "ratings.csv", "--k", "2", "--max-memory", "lots")
    assert code == 2
    assert err.startswith("error: max_memory (--max-memory) is lots; expected at least 10MB")
