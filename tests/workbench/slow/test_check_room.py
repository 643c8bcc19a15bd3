"""Check: any user's release or table, dropped or named."""

import html
import re
import shlex
import subprocess
import sys

import pytest

from shared.workbench_check_room import (
    packed,
    release,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("quick")


class TestADroppedRelease:
    @pytest.mark.parametrize("options", [{}, {"with_table": "on"}])
    def test_without_its_private_folder_says_how_to_attack_it(
        self, browser, release, small_table, options
    ):
        browser.drop("ratings.csv", small_table)
        browser.drop("out.zip", packed(release), "/check/upload")
        browser.wait("data", "risk", "check")
        # An older page may still offer the attack.
        browser.send("/check/again", **options)
        browser.wait("check")
        page = browser.get("/check").text
        assert "✓ holds" in page
        assert 'data-check="lacks-private"' in page
        assert 'data-check="not-attacked"' not in page
        assert 'name="with_table"' not in page
        assert "unpacked/" not in page

    @pytest.mark.parametrize("within", ["out/", ""])
    def test_anyone_can_check_it_with_the_commands_that_are_shown(
        self, browser, release, tmp_path, within
    ):
        """They have the zip, and nothing of this project."""
        name = "-our 'first' one.zip"
        content = packed(release, within)
        browser.drop(name, content, "/check/upload")
        browser.wait("check")
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / name).write_bytes(content)
        page = browser.get("/check").text
        shown = html.unescape(re.search("<pre[^>]*><code>(.*?)</code>", page, re.DOTALL)[1])
        assert str(browser.bench.project.folder) not in shown
        unpack, verify = map(shlex.split, shown.split("\n"))
        assert (unpack[0], verify[:2]) == ("python", ["recveil", "verify"])
        for command in ([sys.executable, *unpack[1:]], [sys.executable, "-m", *verify]):
            subprocess.run(command, cwd=tmp_path / "theirs", check=True)


class TestANamedRelease:
    def test_is_verified_and_attacked(self, browser, release, small_table):
        browser.drop("ratings.csv", small_table)
        browser.wait("data", "risk")
        before = sorted(each.name for each in release.parent.rglob("*"))
        browser.send("/check/name", place=str(release))
        browser.wait("check")
        browser.send("/check/again", with_table="on")
        (job,) = browser.wait("check")
        found = browser.bench.project.result(job)
        assert found["verification"]["holds"]
        assert found["not_attacked"] == ""
        page = browser.get("/check").text
        assert found["risks"]["headline"] in page
        assert "class re-identified: its row alone fits best" in page
        assert ("made alike without a fifth" in page) == bool(found["release"]["membership"])
        assert f"--release {release}" in page
        assert browser.get(f"/risk/{job.id}/audit.html").status_code == 200
        assert sorted(each.name for each in release.parent.rglob("*")) == before


def test_all_that_was_done_stands_in_the_log(browser, release, small_table):
    browser.drop("ratings.csv", small_table)
    browser.wait("data", "risk")
    browser.drop("out.zip", packed(release), "/check/upload")
    browser.wait("check")
    commands = "\n".join(line["command"] for line in browser.bench.project.log())
    for verb in ("inspect", "audit", "verify"):
        assert f"recveil {verb} " in commands
    assert "verified “out.zip”: it holds" in browser.get("/log").text
