"""The verb: a server on this machine alone, that ends when it is asked to."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from recveil.workbench import serving
from shared.workbench_serving import (
    address,  # noqa: F401 (fixtures)
    serving_in,
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_answers_and_ends(tmp_path, number, code):
    with serving_in(tmp_path) as (address, process):
        place, _, token = address.partition("/?token=")
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(place + "/data")
        assert refused.value.code == 403
        refused.value.close()
        process.send_signal(number)
        out, errors = process.communicate(timeout=40)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert "is kept in" in errors
    assert token not in errors + out
    left = {each.name for each in (tmp_path / "project").iterdir()}
    assert "open.html" not in left


def test_what_came_half_is_gone_at_the_next_start(tmp_path):
    """Of both folders: what is private does not stay."""
    from recveil.workbench.project import UPLOADS, Project

    project = Project(tmp_path / "project")
    halves = [project.folder_for(name) / "0123.part" for name in UPLOADS]
    forgotten = project.folder_for("jobs", "7")  # of a table whose removal was killed
    project.close()
    for half in halves:
        half.write_text("ann,film,5")
    command = [sys.executable, "-m", "recveil", "workbench", "project", "--no-open-browser"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert "http://" in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=40)
    assert not [each for each in (*halves, forgotten) if each.exists()]
    assert {half.parent.name for half in halves} == {"inputs", "checked"}


def test_the_token_stands_in_no_command_line(monkeypatch, tmp_path):
    """All users of a machine can read those; so a file leads to the page."""
    opened = []
    monkeypatch.setattr(serving.webbrowser, "open", opened.append)
    address = "http://127.0.0.1:8000/?token=secret&x=<b>"
    serving._open(tmp_path / "open.html", address)
    (place,) = opened
    assert "secret" not in place
    assert place.startswith("file://")
    text = (tmp_path / "open.html").read_text()
    assert "token=secret&amp;x=&lt;b&gt;" in text
    assert os.stat(tmp_path / "open.html").st_mode & 0o077 == 0  # noqa: PTH116
