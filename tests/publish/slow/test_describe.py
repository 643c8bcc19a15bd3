"""A release in the words of data portals."""

import json

import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.publish import describe
from recveil.release.manifest_reader import known_manifest
from shared.publish_describe import MADE, RATINGS, folder, found, judged, made, padded  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


class TestUnpaid:
    """Figures of an audit are computed from real users, which no epsilon covers."""

    def result(self, folder, off_scale, name):
        release = {
            "sha256": known_manifest(folder).sha256,
            "headline": "AUC 0.59.",
            "verdict": [],
            "warnings": [],
            "linkage": None,
        }
        data = {"columns": {"user": "u", "item": "i"}, "off_scale_dropped": off_scale}
        file = folder.parent / "drawn audit.json"
        file.write_text(json.dumps({"release": release, "data": data}))
        describe(folder, folder.parent / name, audit=file, force=True)
        return (folder.parent / name).read_text("utf-8")

    @pytest.mark.parametrize("name", ["c.json", "page.md"])
    def test_of_a_differentially_private_release(self, tmp_path, name):
        Synthesizer(20.0, item_catalog="as-rated").anonymize(RATINGS).write(tmp_path / "out")
        text = self.result(tmp_path / "out", 3, name)
        assert "off the scale" not in text
        assert text == self.result(tmp_path / "out", 2, name)
        before, figures = text.split("AUC 0.59.")
        assert "without noise. They are not charged" in before
        assert "No epsilon" not in figures


class TestEvaluation:
    def test_what_was_measured_is_stated(self, padded, judged):
        file, result = judged
        describe(padded, padded.parent / "measured.json", evaluation=file, force=True)
        text = (padded.parent / "measured.json").read_text()
        said = json.loads(text)["rai:dataUseCases"]
        assert f"Measured by the publisher: {result['headline']}" in said
        assert "20% of each user's ratings were held out" in said[0]
        assert "The release" in result["headline"] or "Lists cannot be told" in result["headline"]
        assert not any(note in text for note in result["disclosure"]["verdict"])
        assert "secret" not in text

    def test_by_what_it_was_judged(self, tmp_path):
        train, test = make_ratings(40, 15, 300, seed=1), make_ratings(40, 15, 200, seed=2)
        PredictiveAnonymizer(4, seed=1).anonymize(train).write(tmp_path / "out")
        found = evaluate(tmp_path / "out", train=train, test=test, targets=5, with_membership=False)
        result = found.to_dict()
        (tmp_path / "e.json").write_text(json.dumps(result))
        describe(tmp_path / "out", tmp_path / "c.json", evaluation=tmp_path / "e.json")
        said = json.loads((tmp_path / "c.json").read_text())["rai:dataUseCases"]
        assert f"Evaluated by {result['test_cells']:,} ratings that were held out" in said[0]

    def test_of_likes_no_ratings_are_spoken_of(self, tmp_path):
        likes = RATINGS.as_likes()
        SparseRows(4, seed=1).anonymize(likes).write(tmp_path / "out")
        describe(tmp_path / "out", tmp_path / "croissant.json")
        (records,) = json.loads((tmp_path / "croissant.json").read_text())["recordSet"]
        assert records["description"].endswith("one interaction per line.")
        meanings = {field["name"]: field["description"] for field in records["field"]}
        assert meanings["item_id"] == "the id of the item"
        result = evaluate(tmp_path / "out", likes, split=0.2, targets=5, with_membership=False)
        (tmp_path / "e.json").write_text(json.dumps(result.to_dict()))
        describe(tmp_path / "out", tmp_path / "c.json", evaluation=tmp_path / "e.json")
        said = json.loads((tmp_path / "c.json").read_text())["rai:dataUseCases"]
        assert "20% of each user's likes were held out" in said[0]
        assert "raw likes" in said[1]


class TestOrigin:
    """What is reported of the owner's table: its columns, and what was left out."""

    def result(self, folder, **options):
        audited = {"audit": folder / "audit.json"}
        describe(folder / "out", folder / "c.json", **audited, **options, force=True)
        text = (folder / "c.json").read_text()
        return text, json.loads(text)["rai:dataPreprocessingProtocol"]

    def test_roles_and_what_was_dropped(self, made):
        folder, audited = made
        text, said = self.result(folder)
        dropped = audited["data"]["off_scale_dropped"]
        assert dropped > 0
        assert said[0] == (
            "Read from a table with columns for user, item, rating and time; the times are not "
            "published."
        )
        assert f"Rows omitted because the rating was off the scale: {dropped:,}." in said
        assert "acme" not in text
        assert "salaries" not in text


def test_the_card_does_not_deny_what_it_states(tmp_path):
    SparseRows(4, seed=1).anonymize(MADE).write(tmp_path / "out")
    own = " ".join((tmp_path / "out" / "README.md").read_text().split())
    denials = ["nothing was measured on this release", "Neither their number nor their share"]
    assert all(denial in own for denial in denials)
    found = audit(MADE, release=tmp_path / "out", targets=9, curves=False)
    kept = evaluate(tmp_path / "out", MADE, split=0.2)
    for name, result in (("a", found), ("e", kept)):
        (tmp_path / f"{name}.json").write_text(json.dumps(result.to_dict(), default=str))
    files = {"audit": tmp_path / "a.json", "evaluation": tmp_path / "e.json"}
    describe(tmp_path / "out", tmp_path / "card.md", **files)
    card = " ".join((tmp_path / "card.md").read_text().split())
    assert not any(denial in card for denial in denials)
    assert "This card ends with what was measured. The points below" in card
