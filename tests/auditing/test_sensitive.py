"""Sensitive items that found records reveal, and what a found record differs in."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, Candidates, draw_knowledge
from recveil.attacks.reidentification.on_release import best_guesses
from recveil.auditing import audit, run_attack
from recveil.auditing.sensitive import measure_in_release, measure_in_table
from recveil.datasets import make_ratings
from recveil.io.side_tables import SensitiveItems, read_sensitive
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale

EVERYONE = np.arange(60)
KNOWS = Adversary(known=4, name="four")


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


@pytest.fixture(scope="module")
def file(ratings, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "sensitive.csv"
    of_both = [(ratings.items[at], "politics" if at % 2 else "health") for at in range(30, 36)]
    rows = [*of_both, ("nowhere", "religion")]
    path.write_text("item_id,category\n" + "".join(f"{item},{kind}\n" for item, kind in rows))
    return path


def counted(ratings, masks, known, found, row):
    """For each category: targets whose found record has an unknown item that they rated."""
    rates = dict.fromkeys(masks, 0.0)
    for at, target in enumerate(known.targets):
        if found[at] >= 0:
            new = set(ratings.row(target)[0]) & set(row(found[at])[0])
            new -= set(known.items[known.indptr[at] : known.indptr[at + 1]])
            for name, mask in masks.items():
                rates[name] += any(mask[item] for item in new) / known.requested
    return rates


def test_what_the_records_of_a_table_reveal(ratings, file):
    sensitive, found = read_sensitive(file, ratings.items), Candidates.from_ratings(ratings)
    assert {name: mask.sum() for name, mask in sensitive.masks.items()} == {
        "any": 6,
        "politics": 3,
        "health": 3,
    }
    outcome = run_attack(ratings, found, KNOWS, EVERYONE)
    measured = measure_in_table(ratings, found, sensitive, [outcome], EVERYONE)
    assert (measured.where, measured.adversary, measured.n_unknown) == ("table", "four", 1)
    known = draw_knowledge(ratings, KNOWS, EVERYONE)
    # Nearly all records are found here; those with a tie are not.
    all_found = counted(ratings, sensitive.masks, known, known.targets, ratings.row)
    dense = ratings.csr.toarray() > 0
    for each in measured.categories:
        raters = dense[:, sensitive.masks[each.category]].any(axis=1).sum()
        assert (each.n_raters, each.revealed.trials) == (raters, 60)
        missed = 1 - outcome.reidentified.rate + 1e-9
        assert -missed <= each.revealed.rate - all_found[each.category] <= 1e-9
        assert each.control.high < each.revealed.low


def test_what_the_rows_of_a_release_reveal(ratings, file):
    release = PredictiveAnonymizer(k=3, homogenize="simple", seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    sensitive = read_sensitive(file, ratings.items)
    measured = measure_in_release(ratings, table, "out", sensitive, KNOWS, EVERYONE)
    known, guesses = best_guesses(ratings, table, KNOWS, EVERYONE)
    found = np.where(guesses.target_is_top, guesses.best, -1)
    rates = counted(ratings, sensitive.masks, known, found, table.row)
    for each in measured.categories:
        assert each.revealed.rate == pytest.approx(rates[each.category])


def test_by_hand():
    # ann rated a b c, ben a b d, eve d e. c is sensitive: a record found by a and b, ann's, reveals
    # it; no other user has c, so that no random record does.
    ratings = Ratings.from_columns(
        ["ann"] * 3 + ["ben"] * 3 + ["eve"] * 2, list("abcabdde"), [5, 1, 2, 1, 5, 3, 4, 4]
    )
    found, one = Candidates.from_ratings(ratings), np.array([0])
    masks = {"any": np.array([False, False, True, False, False])}
    for seed in range(9):
        known = draw_knowledge(ratings, Adversary(known=2), one, seed)
        outcome = run_attack(ratings, found, Adversary(known=2), one, seed=seed)
        sensitive = SensitiveItems(masks, 0)
        (measured,) = measure_in_table(ratings, found, sensitive, [outcome], one, seed).categories
        knows_it = 2 in known.items
        assert (measured.n_raters, measured.items) == (1, 1)
        assert (measured.revealed.rate, measured.control.rate) == (0 if knows_it else 1, 0)


def test_the_control_is_of_users_who_are_reidentified():
    """Twins tie, so no record is found: a random one in place of none reveals nothing, either."""
    ratings = Ratings.from_columns(
        ["ann"] * 3 + ["ben"] * 3 + ["eve"] * 3, list("abcabcabc"), [5.0, 1.0, 2.0] * 3
    )
    found, all_three = Candidates.from_ratings(ratings), np.arange(3)
    known = Adversary(known=2)
    outcome = run_attack(ratings, found, known, all_three, seed=1)
    sensitive = SensitiveItems({"any": np.array([True, True, True])}, 0)
    (measured,) = measure_in_table(ratings, found, sensitive, [outcome], all_three, 1).categories
    assert (measured.revealed.rate, measured.control.rate) == (0, 0)


def test_a_file_without_categories_has_one_and_wrong_files_are_refused(ratings, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(f"item_id\n{ratings.items[3]}\n")
    assert list(read_sensitive(path, ratings.items).masks) == ["any"]
    for content, code in (
        ("item_id\nnowhere\n", "id.unknown"),
        ("name\n3\n", "column.missing"),
        ("", "input.empty"),
    ):
        path.write_text(content)
        with raises(code):
            read_sensitive(path, ratings.items)


def test_an_audit_reports_both_sides(ratings, file, tmp_path):
    release = PredictiveAnonymizer(k=3, homogenize="simple", seed=1).anonymize(ratings)
    release.write(tmp_path / "out")
    own = tmp_path / "own.csv"
    items, values = ratings.row(5)
    lines = [
        f"me,{ratings.items[item]},{value:g}\n" for item, value in zip(items, values, strict=True)
    ]
    own.write_text("target,item,rating\n" + "".join(lines))
    result = audit(
        ratings,
        release=tmp_path / "out",
        auxiliary=own,
        sensitive=file,
        adversaries=[KNOWS],
        targets=40,
        curves=False,
    )
    parts = result.to_dict()
    assert [each["where"] for each in parts["sensitive"]] == ["table", "out"]
    assert "sensitive item" in result.to_html()
    (found,) = parts["suspects"]
    assert found["users"][0] == str(ratings.users[5])
    assert found["alteration"]["is_match"]
    assert [found["alteration"][name] for name in ("missing", "added", "changed")] == [0, 0, 0]
    (in_release,) = parts["suspects_in_release"]
    table = AttackTarget.from_folder(tmp_path / "out", ratings)
    record = int(in_release["users"][0].split()[1]) - 1
    row_items, row_values = table.row(record)
    common = np.intersect1d(items, row_items)
    apart = [abs(row_values[row_items == item][0] - values[items == item][0]) for item in common]
    expected = (
        items.size - common.size,
        row_items.size - common.size,
        sum(a > 1e-3 for a in apart),
    )
    altered = in_release["alteration"]
    assert (altered["missing"], altered["added"], altered["changed"]) == expected
    assert altered["largest_change"] == pytest.approx(max(apart), abs=1e-5)


def test_nominal_labels_have_no_sensitive_items(tmp_path):
    scale = RatingScale.of_labels(("down", "up"), ordered=False)
    words = Ratings.from_columns([1, 1, 2], [1, 2, 1], ["down", "up", "up"], scale=scale)
    (tmp_path / "s.csv").write_text("item_id\n1\n")
    with raises("option.unsupported"):
        audit(words, sensitive=tmp_path / "s.csv", curves=False)
