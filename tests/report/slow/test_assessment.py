"""The report for an impact assessment, of releases that take long to audit."""

import re

from recveil.auditing import audit, write_risk
from recveil.datasets import make_ratings
from recveil.io.write import write_ratings
from recveil.methods import anonymize
from recveil.publish import budget
from recveil.report.assessment import report
from shared.report_assessment import (
    folder,  # noqa: F401 (fixtures)
    words_of,
)


def test_users_who_were_left_out_are_data_subjects(folder, tmp_path):
    table = folder / "ratings.csv"
    risk = tmp_path / "risk.csv"
    found = audit(table, release=folder / "out", targets=20, shadows=8)
    write_risk(found.ratings.users, found.risk, risk)
    options = {"k": 4, "method": "sparse", "seed": 1, "protect_riskiest": 0.1, "risk": risk}
    for name, more, said in (("gone", {}, "are not in it"), ("cut", {"truncate_to": 5}, "fewer")):
        anonymize(table, tmp_path / name, **options, **more)
        report(tmp_path / name, tmp_path / "r.html", ratings=table, force=True)
        words = words_of((tmp_path / "r.html").read_text())
        assert "The table has 120 users" in words
        assert f"12 users with the highest membership risk {'have ' * bool(more)}{said}" in words


def test_epsilons_are_not_said_to_cover_a_release_with_k(tmp_path):
    ratings = make_ratings(n_users=120, n_items=30, n_ratings=1_800, seed=3)
    write_ratings(ratings, tmp_path / "r.csv")
    options = {"item_catalog": "as-rated", "scale": "1:5:1"}
    anonymize(tmp_path / "r.csv", tmp_path / "out", epsilon=50.0, **options)
    report(tmp_path / "out", tmp_path / "page.html", ratings=tmp_path / "r.csv", scale="1:5:1")
    (sentence,) = re.findall(
        r"What several releases[^.]*\.", words_of((tmp_path / "page.html").read_text())
    )
    assert "with k, no guarantee covers both" in sentence


def test_the_total_of_recorded_releases_is_that_of_budget(tmp_path):
    ratings = make_ratings(n_users=120, n_items=30, n_ratings=1_800, seed=3)
    write_ratings(ratings, tmp_path / "r.csv")
    folders = [tmp_path / name for name in ("out", "other")]
    for output in folders:
        options = {"item_catalog": "as-rated", "scale": "1:5:1", "ledger": tmp_path / "ledger"}
        anonymize(tmp_path / "r.csv", output, epsilon=5.0, **options)
    report(folders[0], tmp_path / "page.html", ratings=tmp_path / "r.csv", scale="1:5:1")
    words = words_of((tmp_path / "page.html").read_text())
    total = budget(folders)
    assert f" 2 runs spent epsilon {total.epsilon:.3g} on " in words
    assert f"(delta {total.delta:g})" in words
    assert "no privacy ledger" not in words
