"""What the fast and the slow tests of `test_walks.py` share."""

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from recveil.cli import main

# Walked elsewhere (tests/cli/test_inputs.py, test_extending.py, test_verify_alone.py), or opens a
# browser.
OTHERS = {
    *("how-to/inputs.md", "how-to/extending.md", "how-to/install.md", "how-to/workbench.md"),
}

FOLDERS = ("tutorial", "how-to")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and content of each block of code."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


class Walk:
    """One reader in one folder, who remembers the last exit code and the names in Python."""

    def __init__(self):
        self.code, self.names = 0, {}

    def run(self, command: str) -> str:
        """Do one line of a console, and return what it prints."""
        if command == "echo $?":
            return f"{self.code}\n"
        if command.startswith("export "):
            os.environ.update([command.removeprefix("export ").split("=")])
            return ""
        words = shlex.split(command.removesuffix(" > /dev/null"))
        if words[0] != "recveil":
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, timeout=60
            )
            self.code = done.returncode
            return done.stdout + done.stderr
        out = io.StringIO()
        result = (contextlib.redirect_stdout(out), contextlib.redirect_stderr(out))
        with result[0], result[1], pytest.raises(SystemExit) as ended:
            main(words[1:])
        self.code = ended.value.code or 0
        assert self.code in (0, 1), out.getvalue()
        return out.getvalue()

    def execute(self, code: str, page: str) -> str:
        """Do a block of Python, and return what it prints."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page, "exec"), self.names)
        return out.getvalue()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PGUSER", "shop")  # so that it is put back, whatever a page exports
