"""The room Release: a release is made, checked, described and taken away; its twin is not."""

import io
import json
import shutil
from pathlib import Path
from typing import ClassVar
from zipfile import ZipFile

import pytest

from recveil.datasets import make_ratings
from recveil.methods import forget
from recveil.verification import verify


@pytest.fixture
def dropped(browser, quick, small_table):
    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    return browser


@pytest.fixture
def made(dropped):
    dropped.send("/release/make", method="padded", k="4", name="first", file_format="csv")
    (job,) = dropped.wait("release")
    assert (job.state, job.error) == ("done", "")
    return dropped


def release(browser):
    return next(job for job in browser.bench.project.jobs() if job.task == "release")


def test_the_verdict_the_card_and_the_rows_are_shown(made):
    page = made.get("/release").text
    assert "maps users to rows" in page
    assert "users who share it" in page
    assert "✓ holds" in page
    assert "4 are required" in page
    assert "## What is not guaranteed" in page
    assert "The same row for " in page
    assert "style=" not in page


def test_the_twin_is_named_and_never_served(made):
    page = made.get("/release").text
    twin = made.bench.project.folder / "releases" / "first.private"
    assert str(twin) in page
    assert (twin / "assignment.parquet").is_file()
    number = release(made).id
    for place in ("first.private/private.json", f"{number}/private.json", f"{number}/download/.."):
        assert made.get(f"/release/{place}").status_code in (404, 200)
        assert "seed" not in made.get(f"/release/{place}").text.partition("<main")[0]


def test_what_is_downloaded_holds(made, tmp_path):
    answer = made.get(f"/release/{release(made).id}/download")
    assert answer.headers["content-disposition"] == 'attachment; filename="first.zip"'
    with ZipFile(io.BytesIO(answer.content)) as archive:
        assert not [name for name in archive.namelist() if "private" in name]
        archive.extractall(tmp_path)
    assert verify(tmp_path / "first").holds


def test_what_was_changed_since_is_not_handed_out(made):
    card = Path(release(made).settings["output"]) / "README.md"
    card.write_text(card.read_text() + "\nAnn is p3.\n")
    answer = made.get(f"/release/{release(made).id}/download")
    assert answer.status_code == 400
    assert "was changed after it was verified" in answer.text


def test_the_publishers_words_stand_next_to_the_release(made):
    words = {"publisher": 'The "Library"', "contact": "data@example.org"}
    made.send(f"/release/{release(made).id}/describe", **words)
    assert [job.state for job in made.wait("release describe")] == ["done"]
    answer = made.get(f"/release/{release(made).id}/download")
    with ZipFile(io.BytesIO(answer.content)) as archive:
        stated = archive.read("croissant.json").decode()
    assert 'The \\"Library\\"' in stated
    assert "first/ratings.csv" in stated
    assert "data@example.org" in made.get("/release").text  # kept for the next one
    (card,) = made.bench.project.folder.glob("releases/*.card.toml")
    assert card.stat().st_mode & 0o777 == 0o600


def test_a_release_of_the_same_name_has_nothing_of_the_one_before(made):
    """Its description and its attack are its own."""
    first = release(made)
    made.send(f"/release/{first.id}/describe", publisher="The Library")
    made.wait("release", "release describe")
    made.send(f"/release/{first.id}/attack")
    made.wait("release", "release attack")
    output = Path(first.settings["output"])
    shutil.rmtree(output)
    shutil.rmtree(output.parent / "first.private")
    made.send("/release/make", method="padded", k="6", name="first", file_format="csv")
    made.wait("release")
    page = made.get("/release").text
    assert "as it will be published</summary>" not in page
    assert 'id="attack"' in page
    answer = made.get(f"/release/{release(made).id}/download")
    assert "croissant.json" not in ZipFile(io.BytesIO(answer.content)).namelist()
    made.send(f"/release/{first.id}/describe", publisher="The Library")
    made.wait("release", "release describe")
    assert "is not the release that was verified" in made.get(f"/release?release={first.id}").text


def test_a_description_that_was_changed_is_not_handed_out(made):
    made.send(f"/release/{release(made).id}/describe", publisher="The Library")
    made.wait("release", "release describe")
    (file,) = made.bench.project.folder.glob("releases/*.croissant.json")
    file.write_text(file.read_text() + " ")
    answer = made.get(f"/release/{release(made).id}/download")
    assert answer.status_code == 400
    assert "describe it again" in answer.text


def test_words_that_hide_something_are_refused(made):
    answer = made.send(f"/release/{release(made).id}/describe", publisher="a\u202eb")
    assert answer.status_code == 400
    assert "U+202E" in answer.text
    assert not list(made.bench.project.folder.glob("releases/*.card.toml"))


def test_a_second_release_of_the_same_users_is_warned_of(made):
    made.send("/release/make", method="sparse", k="4", name="second", file_format="parquet")
    made.wait("release")
    page = made.get("/release").text
    assert "Releases of the same users can be linked" in page
    assert f"/release?release={release(made).id}" in page


def test_a_name_that_is_taken_is_not_overwritten(made):
    before = (Path(release(made).settings["output"]) / "release.json").read_bytes()
    made.send("/release/make", method="padded", k="5", name="first", file_format="csv")
    (job,) = made.wait("release")
    assert job.state == "failed"
    assert "exists" in made.get("/release").text
    assert (Path(job.settings["output"]) / "release.json").read_bytes() == before


def test_the_attack_on_it_is_reported(made):
    made.send(f"/release/{release(made).id}/attack")
    assert [job.state for job in made.wait("release attack")] == ["done"]
    page = made.get("/release").text
    assert "In the release, " in page
    number = made.bench.project.last_job("release attack").id
    assert "sandbox" in made.get(f"/release/{number}/audit.html").headers["content-security-policy"]


def test_the_log_states_who_did_what(made):
    page = made.get("/log").text
    assert "finished making the release first of shop.csv" in page
    assert "recveil anonymize" in page
    command = release(made).command
    assert command.endswith("--method predictive --homogenize padded --file-format csv")


def test_an_attack_a_description_and_a_release_run_side_by_side(made):
    number = release(made).id
    again = {"method": "padded", "k": "5", "name": "second", "file_format": "csv"}
    made.send(f"/release/{number}/attack", follow=False)
    made.send(f"/release/{number}/describe", publisher="The Library", follow=False)
    made.send("/release/make", **again, follow=False)
    refused = made.send("/release/make", **{**again, "name": "third"})
    jobs = made.wait("release attack", "release describe", "release")
    assert [job.state for job in jobs] == ["done"] * 3
    assert refused.status_code == 400
    assert "is being made" in refused.text


def test_a_cancelled_attack_leads_back_to_the_page(made):
    made.send(f"/release/{release(made).id}/attack", follow=False)
    attack = made.bench.project.last_job("release attack")
    answer = made.send(f"/jobs/{attack.id}/cancel", follow=False)
    assert answer.headers["location"] == "/release"


def test_a_sign_off_is_logged_and_in_the_dossier(made):
    job = release(made)
    decision = {"decided_by": "Ann <Wu>", "because": "It is low.", "date": "2026-01-31"}
    for wrong in ({"decided_by": " "}, {"because": ""}, {"date": "31/01/2026"}):
        answer = made.send(f"/release/{job.id}/sign", **(decision | wrong))
        assert answer.status_code == 400
    assert "data-signed" not in made.get("/release").text
    assert made.send(f"/release/{job.id}/sign", **decision).is_success
    assert 'data-signed="2026-01-31"' in made.get("/release").text
    assert "Ann <Wu> on 2026-01-31" in made.bench.project.log()[0]["what"]
    page = made.get(f"/release/{job.id}/dossier").text
    assert "Ann &lt;Wu&gt;" in page
    assert made.bench.project.result(job)["sha256"] in page


def test_rows_of_synthetic_users_are_shown(dropped):
    dropped.send("/release/make", method="synthetic-exact", name="drawn", file_format="csv")
    (job,) = dropped.wait("release")
    assert (job.state, job.error) == ("done", "")
    page = dropped.get("/release").text
    assert "what an adversary learns" in page
    # No user has a row.
    assert "lists the users of the table" in page
    assert "maps users to rows" not in page
    assert "users who share it" not in page


def test_an_attacked_release_has_a_report_for_an_assessment(made):
    job = release(made)
    assert made.get(f"/release/{job.id}/assessment.html").status_code == 400
    made.send(f"/release/{job.id}/attack")
    (attack,) = made.wait("release attack")
    assert (attack.state, attack.error) == ("done", "")
    found = made.bench.project.result(attack)["risks"]
    page = made.get(f"/release/{job.id}/assessment.html")
    finding = found["linkability"]["sentence"].split(": ", 1)[1]
    assert finding[1:] in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for place in ("/release", f"/release/{job.id}/dossier"):
        assert found["singling_out"]["sentence"] in made.get(place).text
    decision = {"decided_by": "Ann Wu", "because": "It is low.", "date": "2026-01-31"}
    made.send(f"/release/{job.id}/sign", **decision)
    assert "Ann Wu" in made.get(f"/release/{job.id}/assessment.html").text
    made.send(f"/release/{job.id}/attack")
    made.wait("release attack")
    assert "Ann Wu" not in made.get(f"/release/{job.id}/assessment.html").text  # decided before


class TestSeries:
    """Dates, classes of an earlier release, and attributes, from the form to the audit."""

    FORM: ClassVar = {"method": "sparse", "k": "4", "file_format": "csv"}

    @pytest.fixture
    def dated(self, small_table):
        head, *rows = small_table.decode().splitlines()
        days = [f"{row},{2023 + int(row.partition(',')[0]) % 2}-01-05" for row in rows]
        return "\n".join([f"{head},time", *days, ""]).encode()

    @pytest.fixture
    def users(self, tmp_path):
        lines = [f"{user},{'FM'[user % 2]},{'abc'[user % 3]}" for user in range(1, 81)]
        path = tmp_path / "people.csv"
        path.write_text("\n".join(["user,gender,plan", *lines, ""]))
        return path

    def make(self, browser, **form):
        browser.send("/release/make", method="sparse", k="4", file_format="csv", **form)
        (job,) = browser.wait("release")
        return job

    def test_the_next_release_has_the_classes_of_the_earlier_one(self, dropped):
        first = self.make(dropped, name="first")
        assert 'id="previous"' in dropped.get("/release").text
        job = self.make(dropped, name="second", previous=str(first.id))
        assert (job.state, job.error) == ("done", "")
        assert "--previous" in job.command
        previous = json.loads((Path(job.settings["output"]) / "release.json").read_text())
        assert previous["previous"]

    def test_attributes_are_published_and_attacked(self, dropped, users):
        options = {"users": str(users), "attribute": "gender", "sensitive_attribute": "plan"}
        job = self.make(dropped, name="people", **options)
        assert (job.state, job.error) == ("done", "")
        assert (Path(job.settings["output"]) / "users.csv").is_file()
        dropped.send(f"/release/{job.id}/attack")
        (attack,) = dropped.wait("release attack")
        assert (attack.state, attack.error) == ("done", "")
        found = dropped.bench.project.result(attack)
        assert found["options"]["attributes"] == ["gender", "plan"]
        assert dropped.get(f"/release/{job.id}/assessment.html").status_code == 200

    def test_attributes_of_synthetic_users_have_public_values(self, dropped, users):
        form = {"users": str(users), "attribute": "gender=F,M; plan=a,b,c", "public_items": "on"}
        form |= {"method": "synthetic-10", "allow_sparse_coverage": "on", "k": "4"}
        reading = {"user": "user", "item": "item", "rating": "rating", "scale": "1:5:1"}
        dropped.send("/data/reading", **reading)
        dropped.wait("data", "risk")
        dropped.send("/release/make", name="sampled", file_format="csv", **form)
        (job,) = dropped.wait("release")
        assert (job.state, job.error) == ("done", "")
        assert "--attribute gender=F,M --attribute plan=a,b,c" in job.command
        header = (Path(job.settings["output"]) / "users.csv").read_text().splitlines()[0]
        assert header.replace('"', "") == "user_id,gender,plan"
        assert "gender=F,M; plan=a,b" in dropped.get("/release").text
        dropped.send(f"/release/{job.id}/attack")
        (attack,) = dropped.wait("release attack")
        assert (attack.state, attack.error) == ("done", "")
        found = dropped.bench.project.result(attack)
        assert found["options"]["attributes"] == ["gender", "plan"]

    def test_titles_of_items_are_published(self, dropped, tmp_path):
        lines = [f"{item},Film {item}" for item in range(1, 41)]
        (tmp_path / "films.csv").write_text("\n".join(["item,title", *lines, ""]))
        job = self.make(dropped, name="titled", item_table=str(tmp_path / "films.csv"))
        assert (job.state, job.error) == ("done", "")
        assert "Film 7" in (Path(job.settings["output"]) / "items.csv").read_text()
        assert "--item-table" in job.command

    def test_dates_are_published(self, browser, quick, dated):
        browser.drop("dated.csv", dated)
        browser.wait("data", "risk")
        job = self.make(browser, name="dated", dates="year")
        assert (job.state, job.error) == ("done", "")
        assert "date" in (Path(job.settings["output"]) / "ratings.csv").read_text().split("\n")[0]

    def test_planned_releases_share_a_total_epsilon(self, dropped):
        dropped.send("/data/reading", user="user", item="item", rating="rating", scale="1:5:1")
        dropped.wait("data", "risk")
        form = {"method": "synthetic-10", "epsilon": "12", "releases": "3", "public_items": "on"}
        form |= {"file_format": "csv", "allow_sparse_coverage": "on"}
        manifests, previous = [], {}
        for name in ("one", "two"):
            dropped.send("/release/make", name=name, **form, **previous)
            (job,) = dropped.wait("release")
            assert (job.state, job.error) == ("done", "")
            manifests.append(
                json.loads((Path(job.settings["output"]) / "release.json").read_text())
            )
            previous = {"previous": str(job.id)}
        assert "--epsilon 12.0" in job.command
        assert "--releases 3 --reuse" in job.command
        assert [each["settings"].get("release_number") for each in manifests] == [None, 2]
        # A release of another method cannot follow it.
        refused = dropped.send("/release/make", method="sparse", k="4", name="x", **previous)
        assert refused.status_code == 400
        assert "“The earlier release”" in refused.text

    def test_a_cohort_has_its_users_alone(self, browser, quick):
        table = make_ratings(n_users=600, n_items=40, n_ratings=9_000, seed=2).to_arrow()
        columns = [table[name].to_pylist() for name in ("user_id", "item_id", "rating")]
        rows = [
            f"{u},{i},{value},{2023 + u % 2}-01-05" for u, i, value in zip(*columns, strict=True)
        ]
        browser.drop("dated.csv", "\n".join(["user,item,rating,time", *rows, ""]).encode())
        browser.send("/data/reading", user="user", item="item", rating="rating", scale="1:5:1")
        browser.wait("data", "risk")
        form = {"method": "synthetic-10", "cohort": "2024", "public_items": "on"}
        form |= {"allow_sparse_coverage": "on", "file_format": "csv"}
        browser.send("/release/make", name="joined", **form)
        (job,) = browser.wait("release")
        assert (job.state, job.error) == ("done", "")
        assert "--cohort 2024" in job.command
        manifest = json.loads((Path(job.settings["output"]) / "release.json").read_text())
        assert manifest["settings"]["cohort"] == "2024-01-01:2024-12-31"

    @pytest.mark.parametrize(
        ("form", "words"),
        [
            ({"previous": "99"}, "“The earlier release”"),
            ({"attribute": "gender"}, "“The file of users and their attributes”"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, dropped, form, words):
        answer = dropped.send(
            "/release/make", method="sparse", k="4", file_format="csv", name="wrong", **form
        )
        assert answer.status_code == 400
        assert words in answer.text

    def test_a_table_without_times_has_no_dates(self, dropped):
        job = self.make(dropped, name="dated", dates="month")
        assert job.state == "failed"
        assert "“Dates of ratings”" in dropped.get("/release").text


class TestErasure:
    """From the id of a user to the next release, which lacks them."""

    def erase(self, browser, user="7"):
        browser.send(f"/release/{release(browser).id}/forget", user=user)
        (job,) = browser.wait("release forget")
        assert (job.state, job.error) == ("done", "")
        return job

    def test_it_prepares_the_next_release_and_the_log_does_not_name_the_user(self, dropped):
        form = {"method": "sparse", "k": "4", "file_format": "csv"}
        dropped.send("/release/make", name="first", **form)
        (first,) = dropped.wait("release")
        job = self.erase(dropped)
        project = dropped.bench.project
        found = forget(
            first.settings["output"], user="7", ratings=first.settings["source"]
        ).to_dict()
        assert project.result(job)["decision"] == found["decision"] == "row-kept"
        page = dropped.get("/release").text
        assert 'data-decision="row-kept"' in page
        assert "The row stays published" in page
        assert "user" not in job.settings
        assert "--user ID" in job.command
        stated = [line["what"] for line in project.log()]
        assert "recorded the erasure of a user from the release first: row-kept" in stated
        log = Path(first.settings["output"]).with_name("first.private") / "erasures.jsonl"
        assert len(log.read_text().splitlines()) == 2
        dropped.send(f"/release/{first.id}/prepare")
        dropped.wait("data", "risk")
        table = project.chosen_input()
        assert table.name == "shop-cleaned.csv"
        assert not [row for row in Path(table.place).read_text().split() if row.startswith("7,")]
        page = dropped.get("/release").text
        assert f'<option value="{first.id}" selected>' in page
        assert 'name="k" type="number" min="2" step="1" value="4"' in page
        dropped.send("/release/make", name="second", previous=str(first.id), **form)
        (second,) = dropped.wait("release")
        assert (second.state, second.error) == ("done", "")
        assert verify(second.settings["output"], against=first.settings["output"]).holds

    def test_an_error_states_an_erased_id_on_the_page_and_never_in_the_log(self, dropped):
        form = {"method": "sparse", "k": "4", "file_format": "csv"}
        dropped.send("/release/make", name="first", **form)
        (first,) = dropped.wait("release")
        dropped.send(f"/release/{first.id}/forget", user="007")
        (other,) = dropped.wait("release forget")
        assert "'7'" in other.error
        self.erase(dropped)
        dropped.send("/release/make", name="second", previous=str(first.id), **form)
        (job,) = dropped.wait("release")
        assert job.state == "failed"
        assert "erased: &#39;7&#39;" in dropped.get("/release").text
        for each in dropped.bench.project.jobs():
            assert "'7'" not in each.error
        assert "&#39;7&#39;" not in dropped.get("/log").text

    def test_rows_of_few_users_have_to_be_replaced(self, made):
        job = self.erase(made)
        assert made.bench.project.result(job)["decision"] == "replace"
        page = made.get("/release").text
        assert "✗ the release has to be replaced" in page
        made.send(f"/release/{release(made).id}/prepare")
        page = made.get("/release").text
        assert 'value="padded" required checked>' in page
        assert " selected>first, " not in page

    def test_nothing_is_prepared_before(self, made):
        assert made.send(f"/release/{release(made).id}/prepare").status_code == 400


class TestLayouts:
    """What recipients load."""

    @pytest.mark.parametrize("layout", ["elliot", "lenskit", "movielens", "recbole"])
    def test_are_written_and_downloaded(self, made, layout):
        form = {"target_format": layout, "split": "0.2", "split_by": "user"}
        assert made.get(f"/release/{release(made).id}/layout").status_code == 400
        made.send(f"/release/{release(made).id}/convert", **form)
        (job,) = made.wait("release convert")
        assert (job.state, job.error) == ("done", "")
        assert f"--target-format {layout} --split 0.2" in job.command
        assert f"download>Download first-{layout}</a>" in made.get("/release").text
        answer = made.get(f"/release/{release(made).id}/layout")
        with ZipFile(io.BytesIO(answer.content)) as archive:
            names = archive.namelist()
        assert {name.partition("/")[0] for name in names} == {f"first-{layout}"}
        assert [name for name in names if "test" in name]
        file = made.bench.project.job_folder(job.id) / names[0]
        file.write_bytes(file.read_bytes() + b" ")
        assert made.get(f"/release/{release(made).id}/layout").status_code == 400

    def test_the_latest_ratings_need_dates(self, made):
        form = {"target_format": "movielens", "split": "0.2", "split_by": "time"}
        made.send(f"/release/{release(made).id}/convert", **form)
        (job,) = made.wait("release convert")
        assert job.state == "failed"
        assert "dates" in made.get("/release").text
