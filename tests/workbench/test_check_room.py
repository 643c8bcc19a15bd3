"""Check: anybody's release or table, dropped or named."""

import html
import io
import json
import re
import shlex
import subprocess
import sys
import zipfile

import pytest

from recveil.methods import anonymize

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def release(tmp_path_factory, small_table):
    folder = tmp_path_factory.mktemp("releases")
    (folder / "ratings.csv").write_bytes(small_table)
    anonymize(folder / "ratings.csv", folder / "out", k=4, seed=987_654_321)
    return folder / "out"


def packed(folder, within="out/", described=False, **changed):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in folder.iterdir():
            archive.writestr(f"{within}{file.name}", changed.get(file.name, file.read_bytes()))
        if described:
            archive.writestr("croissant.json", b"{}")
    return content.getvalue()


class TestADroppedRelease:
    def test_is_verified(self, browser, release):
        assert browser.drop("out.zip", packed(release), "/check/upload").json()["next"] == "/check"
        (job,) = browser.wait("check")
        assert (job.state, job.error) == ("done", "")
        page = browser.get("/check").text
        assert "✓ holds" in page
        assert "recveil verify" in page

    def test_that_was_changed_does_not_hold(self, browser, release):
        told = json.loads((release / "release.json").read_text())
        told["k"] = told["k"] - 1
        changed = {"release.json": json.dumps(told).encode()}
        browser.drop("out.zip", packed(release, **changed), "/check/upload")
        (job,) = browser.wait("check")
        if job.state == "done":
            assert not browser.bench.project.result(job)["verification"]["holds"]
        assert "✓ holds" not in browser.get("/check").text

    def test_without_its_private_folder_says_why_it_was_not_attacked(
        self, browser, release, small_table
    ):
        browser.drop("ratings.csv", small_table)
        browser.drop("out.zip", packed(release), "/check/upload")
        browser.wait("data", "risk", "check")
        page = browser.get("/check").text
        assert "✓ holds" in page
        assert "It was not attacked" in page
        assert "unpacked/" not in page
        assert "private twin" in page

    @pytest.mark.parametrize("within", ["out/", ""])
    def test_is_checked_by_anybody_with_the_commands_that_are_shown(
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

    def test_may_have_its_description_beside_it(self, browser, release):
        """As the workbench packs it."""
        browser.drop("out.zip", packed(release, described=True), "/check/upload")
        (job,) = browser.wait("check")
        assert (job.state, job.error) == ("done", "")
        page = browser.get("/check").text
        assert "✓ holds" in page
        assert "croissant.json, which lies beside the release in the zip, is no part of it" in page

    def test_leaves_one_unpacked_folder(self, browser, release):
        for _ in range(2):
            browser.drop("out.zip", packed(release), "/check/upload")
            browser.wait("check")
        folders = list((browser.bench.project.folder / "jobs").glob("*/unpacked"))
        assert len(folders) == 1

    def test_that_means_harm_is_refused(self, browser, tmp_path):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("release.json", b"{}")
            archive.writestr("../../../evil", b"x")
        browser.drop("<b>out.zip", content.getvalue(), "/check/upload")
        (job,) = browser.wait("check")
        assert job.state == "failed"
        page = browser.get("/check").text
        assert "lead out" in page or "folders" in page
        assert "<b>out" not in page
        assert not list(tmp_path.rglob("evil"))


class TestANamedRelease:
    def test_is_verified_and_attacked(self, browser, release, small_table):
        browser.drop("ratings.csv", small_table)
        browser.wait("data", "risk")
        before = sorted(each.name for each in release.parent.rglob("*"))
        browser.send("/check/name", place=str(release))
        (job,) = browser.wait("check")
        found = browser.bench.project.result(job)
        assert found["verification"]["holds"]
        assert found["not_attacked"] == ""
        page = browser.get("/check").text
        assert found["release"]["headline"].split("“")[0] in page
        assert f"--release {release}" in page
        assert browser.get(f"/risk/{job.id}/audit.html").status_code == 200
        assert sorted(each.name for each in release.parent.rglob("*")) == before

    def test_serves_nothing_of_its_private_folder(self, browser, release):
        browser.send("/check/name", place=str(release))
        browser.wait("check")
        page = browser.get("/check").text
        private = json.loads((release.parent / "out.private" / "private.json").read_text())
        assert str(private["seed"]) not in page


class TestATable:
    def test_is_asked_for_k(self, browser, small_table):
        browser.drop("shared.csv", small_table, "/check/upload")
        (job,) = browser.wait("check")
        assert job.state == "failed"
        assert "--k" in job.error
        browser.send("/check/again", k="2", user="user", item="item", rating="rating")
        (job,) = browser.wait("check")
        assert job.state == "done", job.error
        page = browser.get("/check").text
        assert "✗ does not hold" in page
        assert "a table, and no release" in page
        assert "--k 2" in page

    @pytest.mark.parametrize("said", [{"k": "0"}, {"k": "many"}, {"k": "9" * 99}, {"claim": "x"}])
    def test_what_makes_no_sense_is_refused(self, browser, small_table, said):
        browser.drop("shared.csv", small_table, "/check/upload")
        browser.wait("check")
        assert browser.send("/check/again", **said).status_code == 400

    def test_of_nobody_is_refused(self, browser):
        assert browser.send("/check/again", k="2").status_code == 400
        assert browser.send("/check/name", place="/nowhere").status_code == 400
        assert browser.get("/check").status_code == 200


def test_what_was_checked_can_be_removed(browser, release, tmp_path):
    browser.drop("first.zip", packed(release), "/check/upload")
    browser.drop("out.zip", packed(release), "/check/upload")
    browser.wait("check")
    browser.send("/check/name", place=str(release))
    browser.wait("check")
    project = browser.bench.project
    assert list((project.folder / "checked").rglob("*.zip"))
    assert browser.send("/check/forget").status_code == 200
    assert not (project.folder / "checked").exists()
    assert not list(project.folder.glob("jobs/*/*"))
    assert (release / "release.json").is_file()
    assert "out.zip" not in browser.get("/check").text
    told = [line["what"] for line in project.log()]
    assert "verified what was removed since: it holds" in told
    assert f"verified “{release.name}”: it holds" in told
    in_database = (project.folder / "project.sqlite").read_bytes()
    assert not [name for name in (b"first.zip", b"out.zip") if name in in_database]
    browser.drop("out.zip", packed(release), "/check/upload")
    assert [job.state for job in browser.wait("check")] == ["done"]


def test_a_link_in_the_place_of_what_was_dropped_is_not_followed(browser, tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "thesis.txt").write_text("mine")
    (browser.bench.project.folder / "checked").symlink_to(tmp_path / "victim")
    browser.send("/check/forget")
    assert (tmp_path / "victim" / "thesis.txt").read_text() == "mine"


def test_all_that_was_done_stands_in_the_log(browser, release, small_table):
    browser.drop("ratings.csv", small_table)
    browser.wait("data", "risk")
    browser.drop("out.zip", packed(release), "/check/upload")
    browser.wait("check")
    commands = "\n".join(line["command"] for line in browser.bench.project.log())
    for verb in ("inspect", "audit", "verify"):
        assert f"recveil {verb} " in commands
    assert "verified “out.zip”: it holds" in browser.get("/log").text
