"""The report for an impact assessment has the audit's figures, and rejects those of others."""

import hashlib
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Interval
from recveil.attacks.membership.inference import only
from recveil.auditing import audit
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluation import audit_lists
from recveil.io.write import write_ratings
from recveil.methods import anonymize
from recveil.report.assessment import report
from recveil.report.assessment._report import _before
from shared.report_assessment import (
    folder,  # noqa: F401 (fixtures)
    words_of,
)

RISKS = ("singling_out", "linkability", "inference")
SECTIONS = ("risks", "promise", "affected", "remains", "published", "evidence", "reproduce", "sign")


@pytest.fixture(scope="module")
def made(folder):
    signed = {"name": "Ada <b>", "role": "data protection officer", "date": "2026-11-27"}
    return report(folder / "out", folder / "report.html", audit=folder / "audit.json", **signed)


def test_the_three_sentences_are_those_of_the_audit(folder, made):
    page = (folder / "report.html").read_text()
    found = json.loads((folder / "audit.json").read_text())
    for risk in RISKS:
        finding = found["risks"][risk]["sentence"].split(": ", 1)[1]
        assert finding[1:] in words_of(page)
    assert made.audit["risks"] == found["risks"]


def test_all_sections_are_there_and_it_stands_alone(folder, made):
    page = (folder / "report.html").read_text()
    places = [page.index(f'<section id="{section}"') for section in SECTIONS]
    assert places == sorted(places)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "Ada &lt;b&gt;" in page
    assert "data protection officer" in page
    assert (folder / "report.html").stat().st_mode & 0o077 == 0  # it is private
    assert len(words_of(page).split()) < 1_200  # four printed pages
    words = words_of(page)
    assert "To be decided publish, or not, and why which risk is accepted" in words
    assert "in a release of MovieLens" not in words  # what was measured on others
    assert "items that the user rated (structure-based)" in words


def test_rows_of_wide_tables_are_cards_on_narrow_screens(folder, made):
    page = (folder / "report.html").read_text()
    wide = [
        table
        for table in re.findall("<table.*?</table>", page, re.DOTALL)
        if "</thead>" in table and len(re.findall("<th[ >]", table.partition("</thead>")[0])) > 2
    ]
    assert len(wide) >= 2
    for table in wide:
        assert table.startswith('<table class="cards">')
        cells = re.findall("<td([^>]*)>", table)
        assert cells
        assert all("data-label=" in cell or "colspan=" in cell for cell in cells)


def test_each_published_file_has_its_digest(folder, made):
    page = (folder / "report.html").read_text()
    manifest = json.loads((folder / "out" / "release.json").read_text())
    assert all(each["sha256"] in page for each in manifest["files"].values())
    found = json.loads((folder / "audit.json").read_text())
    assert found["release"]["sha256"] in page


@pytest.mark.parametrize("attacks_all", [True, False])
def test_targets_count_as_not_attacked_by_the_leading_adversary(folder, tmp_path, attacks_all):
    """Adversaries who know all ratings need no minimum of them."""
    found = json.loads((folder / "audit.json").read_text())
    leading, *_, last = sorted(
        found["release"]["attacks"], key=lambda each: -(each["reidentified"]["rate"] or 0)
    )
    leading["targets_skipped"], last["targets_skipped"] = 12, 53
    if not attacks_all:
        found["release"]["all_known"] = found["release"]["clusters"] = None
    (tmp_path / "audit.json").write_text(json.dumps(found))
    report(folder / "out", tmp_path / "report.html", audit=tmp_path / "audit.json")
    words = words_of((tmp_path / "report.html").read_text())
    assert f"12 targets had too few ratings that the adversary “{leading['name']}”" in words
    assert "53 targets" not in words
    assert ("their risk is not known to be low" in words) is not attacks_all


def test_the_audit_of_another_release_is_rejected(folder, tmp_path):
    with raises("release.mismatch"):
        report(folder / "other", tmp_path / "r.html", audit=folder / "audit.json")
    assert not (tmp_path / "r.html").exists()


def test_other_ratings_than_those_behind_the_release_are_rejected(folder, tmp_path):
    lines = (folder / "ratings.csv").read_text().splitlines()
    (tmp_path / "less.csv").write_text("\n".join(lines[:-1]) + "\n")
    with raises("release.mismatch"):
        report(folder / "out", tmp_path / "r.html", ratings=tmp_path / "less.csv")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.html.pdf"])
def test_only_a_name_of_a_page_is_accepted(folder, tmp_path, name):
    with raises("output.place"):
        report(folder / "out", tmp_path / name, audit=folder / "audit.json")


def test_two_releases_that_break_the_guarantee_lead(folder, tmp_path):
    ratings, both = folder / "ratings.csv", {"second_release": folder / "other", "targets": 20}
    found = audit(ratings, release=folder / "out", curves=False, **both).to_dict()
    (tmp_path / "both.json").write_text(json.dumps(found))
    report(folder / "out", tmp_path / "r.html", audit=tmp_path / "both.json")
    page = words_of((tmp_path / "r.html").read_text())
    line, linkage = found["risks"]["singling_out"], found["release"]["linkage"]
    assert (line["name"], line["bound"]) == ("alone in both releases", None)
    assert line["rate"]["rate"] == linkage["unique"] > 0.25
    alone = round(linkage["unique"] * linkage["users"])
    assert f"{alone} of the {linkage['users']} users in both releases" in page
    # The verified promise is followed by its limit.
    assert page.index("✓ holds") < page.index("✗ exceeded") < page.index("at most 1/4")
    report(folder / "out", tmp_path / "one.html", audit=folder / "audit.json")
    assert "exceeded" not in words_of((tmp_path / "one.html").read_text())


def test_names_removed_is_not_measured_where_it_was_measured_otherwise(made):
    of_row, members = ({"name": name} for name in ("class inferred", "membership"))
    before = {"name": "record matched", "rate": Interval(0.8, 0.7, 0.9, 50)._asdict()}
    before["is_area"] = False
    assert _before(members, before) == "not measured"
    assert _before(of_row, before) == "80% (70–90)"
    assert _before({"name": None}, before) == "80% (70–90)"


def test_an_audit_by_an_earlier_version_is_rejected(folder, tmp_path):
    found = json.loads((folder / "audit.json").read_text())
    del found["risks"]
    (tmp_path / "old.json").write_text(json.dumps(found))
    with raises("input.not-a-result"):
        report(folder / "out", tmp_path / "r.html", audit=tmp_path / "old.json")


@pytest.mark.parametrize("given", [{}, {"ratings": "ratings.csv", "audit": "audit.json"}])
def test_exactly_one_source_of_figures_is_needed(folder, tmp_path, given):
    given = {name: folder / file for name, file in given.items()}
    with raises("option.required"):
        report(folder / "out", tmp_path / "r.html", **given)


def test_a_missing_release_is_an_input_error_that_names_the_options(tmp_path):
    with raises("input.not-found") as error:
        report(tmp_path / "lists.json", tmp_path / "r.html")
    assert all(name in str(error.value) for name in ("--ratings", "--audit", "audit-lists"))


def test_an_existing_report_is_replaced_only_with_force(folder, made, tmp_path):
    (tmp_path / "r.html").write_text("old")
    with raises("output.exists"):
        report(folder / "out", tmp_path / "r.html", audit=folder / "audit.json")
    report(folder / "out", tmp_path / "r.html", audit=folder / "audit.json", force=True)


def test_a_long_name_is_rejected(folder, tmp_path):
    with raises("option.value"):
        report(folder / "out", tmp_path / "r.html", audit=folder / "audit.json", name="x" * 201)


def test_the_command_audits_the_table_itself(folder, tmp_path):
    command = ["report", str(folder / "out"), str(tmp_path / "r.html")]
    with pytest.raises(SystemExit) as stop:
        main([*command, "--ratings", str(folder / "ratings.csv"), "--json", str(tmp_path / "j")])
    assert stop.value.code in (0, None)
    found = json.loads((tmp_path / "j").read_text())
    assert found["verification"]["holds"]
    assert found["risks"]["linkability"]["rate"]["trials"] > 0
    finding = found["risks"]["singling_out"]["sentence"].split(": ", 1)[1]
    assert finding[1:] in words_of((tmp_path / "r.html").read_text())


def test_what_was_left_out_is_stated(tmp_path):
    ratings = make_ratings(n_users=60, n_items=50, n_ratings=900, seed=3)
    write_ratings(ratings, tmp_path / "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()
    rows = [f"{line},2024-01-{1 + at % 28:02}" for at, line in enumerate(lines[1:])]
    (tmp_path / "r.csv").write_text("\n".join([f"{lines[0]},date", *rows, *rows[:7], ""]))
    made = anonymize(tmp_path / "r.csv", tmp_path / "out", k=8, seed=1, duplicates="last")
    report(tmp_path / "out", tmp_path / "page.html", ratings=tmp_path / "r.csv", duplicates="last")
    words = words_of((tmp_path / "page.html").read_text())
    coverage = made.summary.coverage
    assert f"items kept {coverage.n_items_kept} of {coverage.n_items} " in words
    assert f"ratings of kept items {coverage.rating_share:.1%}".replace(".0%", "%") in words
    assert "rows dropped before 7 " in words
    assert "dates not published" in words
    before, _, digest = words.partition(" of no file ratings_sha256 in private.json ")
    assert digest.startswith(made.release.private.ratings_sha256)
    assert made.release.private.ratings_sha256 not in before


def test_what_only_the_private_folder_knows_is_not_left_out_silently(folder, tmp_path):
    alone = tmp_path / "alone"
    shutil.copytree(folder / "out", alone)
    report(alone, tmp_path / "r.html", audit=folder / "audit.json")
    assert "folder “alone.private” was not found" in words_of((tmp_path / "r.html").read_text())
    shutil.copytree(folder / "other.private", tmp_path / "alone.private")
    report(alone, tmp_path / "r.html", audit=folder / "audit.json", force=True)
    words = words_of((tmp_path / "r.html").read_text())
    assert "folder “alone.private” is of another release" in words
    assert "lacks the SHA-256 of the ratings" in words


def test_other_releases_of_the_users_are_named(folder, made, tmp_path):
    words = words_of((folder / "report.html").read_text())
    assert "“other” (120 of them). An adversary with more than one can intersect" in words
    for part in ("out", "out.private"):
        shutil.copytree(folder / part, tmp_path / part)
    report(tmp_path / "out", tmp_path / "r.html", audit=folder / "audit.json")
    assert "Other releases in the same folder" not in words_of((tmp_path / "r.html").read_text())


def test_releases_of_a_series_are_no_others(folder, tmp_path):
    ratings = folder / "ratings.csv"
    for part in ("out", "out.private"):
        shutil.copytree(folder / part, tmp_path / part)
    next_one = tmp_path / "next"
    anonymize(ratings, next_one, k=4, seed=1, previous=tmp_path / "out.private")
    report(tmp_path / "out", tmp_path / "r.html", audit=folder / "audit.json")
    assert "Other releases in the same folder" not in words_of((tmp_path / "r.html").read_text())
    anonymize(ratings, tmp_path / "apart", k=4, seed=1)
    report(tmp_path / "out", tmp_path / "r.html", audit=folder / "audit.json", force=True)
    assert "“apart” (" in words_of((tmp_path / "r.html").read_text())


def test_rows_of_users_who_left_are_counted_apart(tmp_path):
    ratings = make_ratings(n_users=60, n_items=50, n_ratings=900, seed=3)
    anonymize(ratings, tmp_path / "first", k=8, seed=1)
    write_ratings(only(ratings, np.arange(2, 60)), tmp_path / "r.csv")
    previous = tmp_path / "first.private"
    anonymize(tmp_path / "r.csv", tmp_path / "next", k=8, seed=1, previous=previous)
    report(tmp_path / "next", tmp_path / "page.html", ratings=tmp_path / "r.csv")
    words = words_of((tmp_path / "page.html").read_text())
    assert "The table has 58 users" in words
    assert "The release has 60 users, with 2 of earlier releases" in words


def test_it_can_be_repeated(folder, made, tmp_path):
    words = words_of((folder / "report.html").read_text())
    assert "recveil audit RATINGS --release out --seed 0 --targets 60 The release" in words
    digest = hashlib.sha256((folder / "audit.json").read_bytes()).hexdigest()
    assert f"JSON of the audit {digest}" in words


def test_shadow_releases_are_named_with_whom_they_expose(folder, tmp_path):
    found = audit(
        folder / "ratings.csv", release=folder / "out", targets=20, curves=False, shadows=8
    ).to_dict()
    (tmp_path / "audit.json").write_text(json.dumps(found))
    report(folder / "out", tmp_path / "r.html", audit=tmp_path / "audit.json")
    words = words_of((tmp_path / "r.html").read_text())
    assert "8 shadow releases, each of one half of the 120 users" in words
    assert "--shadows 8" in words
    assert all(each in words for each in found["release"]["verdict"] if "Most exposed" in each)


def test_the_figure_of_one_inferred_row_is_read_as_it_was_written(folder, tmp_path):
    """A mean of one share has an infinite interval, which JSON cannot hold: 0 to 1 is published."""
    found = audit(folder / "ratings.csv", release=folder / "out", targets=1, curves=False)
    figures = found.risks.inference.figures
    rates = {each.rate[1:] for each in figures if each.name == "items in the row"}
    assert rates == {(0.0, 1.0, 1)}
    assert "inf)" not in json.dumps(found.to_dict()["risks"])
    (tmp_path / "audit.json").write_text(json.dumps(found.to_dict()))
    report(folder / "out", tmp_path / "r.html", audit=tmp_path / "audit.json")
    assert "(0–100" in words_of((tmp_path / "r.html").read_text())


CHANGED = {
    "a number": ("linkability", "rate", 0.5),
    "a text": ("linkability", "rate", "none"),
    "no rate": ("linkability", "rate", None),
    "no figures": ("linkability", "figures", []),
    "another rate": ("linkability", "rate", Interval(0.01, 0.0, 0.02, 60)._asdict()),
    "another bound": ("singling_out", "bound", 0.05),
    "another sentence": ("singling_out", "sentence", "No risk at all."),
    "another reason": ("inference", "unmeasured", "none"),
    "another risk": (None, "highest", "inference"),
    "another headline": (None, "headline", "All risks are negligible"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_audit_is_an_input_error(folder, tmp_path, change):
    found = json.loads((folder / "audit.json").read_text())
    risk, part, value = CHANGED[change]
    assert found["risks"]["highest"] != "inference"
    (found["risks"] if risk is None else found["risks"][risk])[part] = value
    (tmp_path / "audit.json").write_text(json.dumps(found))
    with raises("input.damaged"):
        report(folder / "out", tmp_path / "r.html", audit=tmp_path / "audit.json")
    assert not (tmp_path / "r.html").exists()


def test_an_audit_that_an_earlier_version_ranked_otherwise_is_ranked_anew(folder, tmp_path):
    found = audit(folder / "ratings.csv", release=folder / "out", curves=False)
    written, line = found.to_dict(), found.risks.singling_out
    weakest_first = sorted(line.figures, key=lambda each: each.order, reverse=True)
    earlier = replace(line, figures=tuple(weakest_first))
    document = written | {"risks": replace(found.risks, singling_out=earlier).to_dict()}
    assert document["risks"] != written["risks"]
    (tmp_path / "audit.json").write_text(json.dumps(document))
    made = report(folder / "out", tmp_path / "r.html", audit=tmp_path / "audit.json")
    assert made.audit["risks"] == json.loads(json.dumps(written["risks"]))


def test_a_bound_that_the_claim_does_not_give_is_an_input_error(folder, tmp_path):
    """A bound that was changed in all places is consistent, but not with the release."""
    text = (folder / "audit.json").read_text()
    found = json.loads(text)
    line = found["risks"]["singling_out"]
    assert line["bound"] == 0.25
    assert "at most 25%" in line["sentence"]
    line["bound"], line["sentence"] = 0.1, line["sentence"].replace("at most 25%", "at most 10%")
    for figure in line["figures"]:
        figure["bound"] = 0.1
    (tmp_path / "audit.json").write_text(json.dumps(found))
    with raises("input.damaged"):
        report(folder / "out", tmp_path / "r.html", audit=tmp_path / "audit.json")
    assert not (tmp_path / "r.html").exists()


def test_users_in_two_notations_are_warned_of_and_recorded(tmp_path, capsys):
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=3)
    write_ratings(ratings, tmp_path / "plain.csv")
    head, *rows = (tmp_path / "plain.csv").read_text().splitlines()
    rows = [f"{'Uu'[at % 2]}ser {row}" for at, row in enumerate(rows)]
    (tmp_path / "r.csv").write_text("\n".join([head, *rows]))
    out = tmp_path / "out"
    with pytest.raises(SystemExit):
        main(["anonymize", str(tmp_path / "r.csv"), "-o", str(out), "--k", "5", "--json", "-"])
    printed = capsys.readouterr()
    (alike,) = json.loads(printed.out)["data"]["alike_users"]
    assert " users may be 60: " in alike
    assert printed.err.count(alike) == 1
    private = json.loads((tmp_path / "out.private" / "private.json").read_text())
    assert alike in private["summary"]
    report(out, tmp_path / "page.html", ratings=tmp_path / "r.csv")
    assert alike in words_of((tmp_path / "page.html").read_text())


def remember(train, histories, n):
    """Return what a user rated, if the user is known."""
    known = {user: row for row, user in enumerate(train.users.tolist())}
    return [
        train.items[train.row(known[user])[0]][:n] if user in known else train.items[:n]
        for user in histories.users.tolist()
    ]


class TestRecommender:
    """A report of lists or a model: no promise, and three risks."""

    def make(self, folder, tmp_path, recommender):
        found = audit_lists(folder / "ratings.csv", recommender=recommender, shadows=8)
        (tmp_path / "lists.json").write_text(json.dumps(found.to_dict()))
        result = report(tmp_path / "lists.json", tmp_path / "r.html", name="Ada <b>")
        return found, result, (tmp_path / "r.html").read_text()

    def test_a_recommender_that_remembers(self, folder, tmp_path):
        found, result, page = self.make(folder, tmp_path, remember)
        assert result.audit["risks"]["highest"] == "linkability"
        text = words_of(page)
        assert "No promise was made, and there is no guarantee" in text
        assert "highest measured" in text
        assert text.count("Not measured, as recveil has no attack") == 4  # each with its evidence
        places = [page.index(f'<section id="{section}"') for section in SECTIONS]
        assert places == sorted(places)
        assert len(text.split()) < 1_200  # four printed pages
        assert (
            "recveil audit-lists RATINGS --recommender MODULE:remember --length 10 --shadows 8"
            in text
        )
        digest = hashlib.sha256((tmp_path / "lists.json").read_bytes()).hexdigest()
        assert digest in page
        assert found.digests["ratings"] in page
        assert "Ada &lt;b&gt;" in page
        share, control = found.of_users.exposed
        assert share.low > 0.9 > control.high
        assert "120 users of the table were scored" in text
        assert f"{round(share.low * 120)} to {round(share.high * 120)} of all users" in text

    def test_lists_that_are_the_same_for_all(self, folder, tmp_path):
        same = lambda train, histories, n: [train.items[:n]] * histories.n_users  # noqa: E731
        _, result, page = self.make(folder, tmp_path, same)
        assert result.audit["risks"]["highest"] is None
        assert "not clearly above its control" in words_of(page)
        assert "highest measured" not in page

    def test_the_larger_of_two_cases_leads(self, folder, tmp_path):
        """With EASE, lists of all users are alike, unless nonmembers get popular items."""
        found, result, page = self.make(folder, tmp_path, "ease")
        areas = {name: one.inferred.auc.rate for name, one in found.by_newcomers.items()}
        largest = max(areas["unrated"], areas["popular"])
        assert largest > 0.9 > areas["history"]
        which = " that they did not rate" * (areas["unrated"] > areas["popular"])
        words = words_of(page)
        places = [
            words.index(text)
            for text in (
                f"if nonmembers got popular items{which}, AUC would be {largest:.2f} (",
                "If they got their own lists: one of three risks",
                f"Linkability, if nonmembers got popular items{which} ",
                "Linkability Can what is known",
            )
        ]
        assert places == sorted(places)
        assert result.headline.startswith("If nonmembers got popular items, AUC would be ")
        assert "(low)" not in words

    @pytest.mark.parametrize(
        ("part", "value"),
        [
            ("n_users", 5),
            ("shadows", 1_000),
            ("headline", "All three risks are negligible"),
            ("notes", []),
            ("by_newcomers", {}),
            ("exposed", None),
        ],
    )
    def test_a_changed_audit_is_an_input_error(self, folder, tmp_path, part, value):
        found = audit_lists(folder / "ratings.csv", recommender="popular", shadows=8).to_dict()
        (tmp_path / "l.json").write_text(json.dumps({**found, part: value}))
        with raises("input.damaged"):
            report(tmp_path / "l.json", tmp_path / "r.html")
        line = {**found["risks"]["linkability"], "sentence": "nothing"}
        found["risks"]["linkability"] = line
        (tmp_path / "l.json").write_text(json.dumps(found))
        with raises("input.damaged"):
            report(tmp_path / "l.json", tmp_path / "r.html")

    def test_no_other_file_is_reported(self, folder, tmp_path):
        (tmp_path / "x.json").write_text("[]")
        for file in (tmp_path / "x.json", folder / "audit.json", folder / "ratings.csv"):
            with raises("input.not-a-result"):
                report(file, tmp_path / "r.html")
        with raises("option.conflict"):
            report(tmp_path / "x.json", tmp_path / "r.html", audit=folder / "audit.json")
        found = audit_lists(folder / "ratings.csv", recommender="popular", shadows=8).to_dict()
        (tmp_path / "x.json").write_text(json.dumps({**found, "risks": {"highest": "none"}}))
        with raises("input.damaged"):
            report(tmp_path / "x.json", tmp_path / "r.html")
        assert not (tmp_path / "r.html").exists()
