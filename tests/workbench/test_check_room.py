"""Check: any user's release or table, dropped or named."""

import io
import json
import zipfile

import pytest

from shared.workbench_check_room import (
    packed,
    release,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("quick")


class TestADroppedRelease:
    def test_is_verified(self, browser, release):
        assert browser.drop("out.zip", packed(release), "/check/upload").json()["next"] == "/check"
        (job,) = browser.wait("check")
        assert (job.state, job.error) == ("done", "")
        page = browser.get("/check").text
        assert "✓ holds" in page
        assert "recveil verify" in page

    def test_that_was_changed_does_not_hold(self, browser, release):
        stated = json.loads((release / "release.json").read_text())
        stated["k"] = stated["k"] - 1
        changed = {"release.json": json.dumps(stated).encode()}
        browser.drop("out.zip", packed(release, **changed), "/check/upload")
        (job,) = browser.wait("check")
        if job.state == "done":
            assert not browser.bench.project.result(job)["verification"]["holds"]
        assert "✓ holds" not in browser.get("/check").text

    def test_may_have_its_description_next_to_it(self, browser, release):
        """As the workbench packs it."""
        browser.drop("out.zip", packed(release, described=True), "/check/upload")
        (job,) = browser.wait("check")
        assert (job.state, job.error) == ("done", "")
        page = browser.get("/check").text
        assert "✓ holds" in page
        assert 'data-check="description"' in page

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
    def test_serves_nothing_of_its_private_folder(self, browser, release):
        browser.send("/check/name", place=str(release))
        browser.wait("check")
        page = browser.get("/check").text
        private = json.loads((release.parent / "out.private" / "private.json").read_text())
        assert str(private["seed"]) not in page

    def test_that_misses_a_stricter_k_keeps_its_claim(self, browser, release):
        browser.send("/check/name", place=str(release))
        (job,) = browser.wait("check")
        claimed = browser.bench.project.result(job)["verification"]["k_required"]
        browser.send("/check/again", k="29")
        browser.wait("check")
        page = browser.get("/check").text
        assert f"It keeps its claim, k = {claimed}." in page
        assert "✗ less than required" in page
        assert "does not hold" not in page
        assert any("keeps its claim, but" in line["what"] for line in browser.bench.project.log())

    def test_of_an_open_table_names_the_checkbox_that_attacks_it(
        self, browser, release, small_table
    ):
        browser.send("/check/name", place=str(release))
        browser.wait("check")
        assert 'data-check="with-table"' not in browser.get("/check").text
        browser.drop("shared.csv", small_table)
        page = browser.get("/check").text
        assert 'data-check="with-table"' in page
        assert page.count("Also attack the release") == 2


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
        assert 'data-check="no-release"' in page
        assert "--k 2" in page

    @pytest.mark.parametrize("said", [{"k": "0"}, {"k": "many"}, {"k": "9" * 99}, {"claim": "x"}])
    def test_what_makes_no_sense_is_refused(self, browser, small_table, said):
        browser.drop("shared.csv", small_table, "/check/upload")
        browser.wait("check")
        assert browser.send("/check/again", **said).status_code == 400

    def test_of_no_one_is_refused(self, browser):
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
    stated = [line["what"] for line in project.log()]
    assert "verified a removed file: it holds" in stated
    assert f"verified “{release.name}”: it holds" in stated
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
