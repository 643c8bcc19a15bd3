"""The command that a page shows does what the page did."""

import os
import shlex

import pytest

from recveil.cli import main
from recveil.cli.settings_file import FILE
from recveil.workbench.wording import html_words
from recveil.workbench.workspace import SETTINGS_FILE, format_command


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main([*words])
    assert ended.value.code == 0


def test_a_settings_file_counts_for_the_command_as_little_as_for_the_page(
    tmp_path, monkeypatch, capsys, small_table
):
    """A page once read the scale 1:5:1, and its own command, run next to that file, 1:9:1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(small_table)
    assert "--config" not in format_command("inspect", "t.csv")
    (tmp_path / FILE).write_text('[inspect]\nscale = "1:9:1"\n')
    (tmp_path / FILE).chmod(0o600)
    command = format_command("inspect", "t.csv")
    assert command.endswith(f"--config {os.devnull}")
    run(*shlex.split(command)[1:])
    assert "1:9:1" not in capsys.readouterr().out
    run("inspect", "t.csv")
    assert "1:9:1" in capsys.readouterr().out
    assert SETTINGS_FILE == FILE


@pytest.mark.parametrize("verb", ["inspect", "audit", "compare", "anonymize", "verify", "describe"])
def test_every_verb_that_pages_show_can_leave_it_out(verb, capsys):
    run(verb, "--help")
    assert "--config" in capsys.readouterr().out


def test_options_are_replaced_in_the_texts_of_a_report():
    style = "<style>p { color: var(--bad) }</style>"
    page = f"{style}<p>Name &lt;it&gt; (--user).</p><p>a--b</p>"
    assert html_words(page) == f"{style}<p>Name &lt;it&gt;.</p><p>a--b</p>"
