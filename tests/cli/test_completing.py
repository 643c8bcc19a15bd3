"""Completion, asked for as the shells do it."""

import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from recveil.cli.options import (
    claims,
    compared_methods,
    formats,
    one_of,
    presets,
    some_of,
    target_formats,
)

SHELLS = [
    pytest.param(
        shell,
        marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"no {shell} installed"),
    )
    for shell in ("bash", "zsh", "fish")
]
# Each sources the script that installing writes, completes "$@", and prints what is
# offered, a line each.
ASK = {
    "bash": 'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); '
    "_recveil_completion recveil; printf '%s\\n' \"${COMPREPLY[@]}\"",
    "zsh": "compdef() {}; _files() {}; "
    '_arguments() { print -r -- "$1"; }; '
    'source ./script; words=("$@"); CURRENT=$#; _recveil_completion',
    "fish": 'source ./script; complete -C "$argv"',
}


@pytest.fixture
def ask(tmp_path):
    """Return what a shell offers for a line of words, the last of which is not finished."""
    program = tmp_path / "bin" / "recveil"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\n"
        f"import sys\nfrom recveil.cli import main\nsys.argv[0] = 'recveil'\nmain()\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "COLUMNS": "500"}

    def offered(shell, *words):
        script = subprocess.run(
            ["recveil"],
            env={**environment, "_RECVEIL_COMPLETE": f"source_{shell}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert script.stderr == ""
        (tmp_path / "script").write_text(script.stdout)
        extra = [] if shell == "fish" else ["asking"]  # its own name, which fish does not take
        result = subprocess.run(
            [shell, "-c", ASK[shell], *extra, *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert result.stderr == ""
        if shell == "zsh":  # names in quotes, and perhaps their help
            return re.findall(r'"([^"]+)"(?::"[^"]*")?', result.stdout)
        return [line.split("\t")[0] for line in result.stdout.splitlines() if line]

    return offered


@pytest.mark.parametrize("shell", SHELLS)
class TestInAShell:
    def test_verbs(self, ask, shell):
        assert ask(shell, "recveil", "se") == ["selftest"]

    def test_options(self, ask, shell):
        offered = ask(shell, "recveil", "anonymize", "x", "--pri")
        assert offered == ["--privacy-levels"]

    def test_methods(self, ask, shell):
        offered = ask(shell, "recveil", "anonymize", "x", "--method", "s")
        assert offered == ["sparse", "synthetic"]

    def test_files_are_left_to_the_shell(self, ask, shell, tmp_path):
        (tmp_path / "ratings.csv").touch()
        for words in (["audit", "rat"], ["audit", "x", "--release", "rat"]):
            assert ask(shell, "recveil", *words) in ([], ["ratings.csv"])


def test_it_is_installed_where_a_shell_finds_it(ask, tmp_path):
    done = subprocess.run(
        ["bash", "-c", f"{tmp_path}/bin/recveil --install-completion; true"],  # it asks who calls
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "bash completion installed" in done.stdout
    script = tmp_path / ".bash_completions" / "recveil.sh"
    assert "complete -o default -F" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize(
    ("names", "some"),
    [
        (formats, "parquet"),
        (target_formats, "recbole"),
        (presets, "insider"),
        (compared_methods, "padded-mdav"),
        (claims, "identical-rows"),
    ],
)
def test_names_are_those_that_are_known(names, some):
    assert some in names()
    assert one_of(names)(some) == [some]
    assert one_of(names)("nobody") == []


def test_of_several_the_last_is_completed_and_none_twice():
    complete = some_of(lambda: ["padded", "simple", "sparse"])
    assert complete("") == ["padded", "simple", "sparse"]
    assert complete("s") == ["simple", "sparse"]
    assert complete("simple,padded,s") == ["simple,padded,sparse"]
