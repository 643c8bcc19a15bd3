"""What a table holds, on the terminal."""

import os
import pty
import re
import subprocess
import sys


def test_a_terminal_gets_three_rows(tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\nsecret-ann,heat,4\nben,heat,3\n")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "60", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "recveil", "inspect", "ratings.csv"]
    subprocess.run(
        command, cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL, env=environment, check=True
    )
    os.close(theirs)
    out = b""
    while piece := _read(ours):
        out += piece
    os.close(ours)
    assert b"secret-ann" in out
    assert b"##" in out
    assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", out)  # no colours
    assert out.isascii()


def _read(descriptor):
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # nothing writes any more
        return b""
