"""A release in the words of data portals."""

import json

import numpy as np
import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer, anonymize
from recveil.publish import describe
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest_reader import known_manifest

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")

MADE = make_ratings(n_users=60, n_items=20, n_ratings=500, seed=2, scale=RatingScale(1, 5, 1))

RATINGS = Ratings.from_columns(
    [f"secret-{user}" for user in MADE.user_positions()],
    MADE.indices,
    MADE.values,
    scale=MADE.scale,
)

WAYS = {
    "padded": (lambda: PredictiveAnonymizer(4, seed=918_273), {}),
    "padded, users, csv": (
        lambda: PredictiveAnonymizer(4, seed=918_273),
        {"layout": "users", "file_format": "csv"},
    ),
    "levels": (
        lambda: PredictiveAnonymizer(
            4, "simple", grouping="level-gather", privacy_levels=np.full(60, 4), seed=918_273
        ),
        {},
    ),
    "k-corated": (lambda: KCoRater(4, seed=918_273), {}),
    "sparse": (lambda: SparseRows(4, seed=918_273), {}),
    "drawn": (lambda: Synthesizer(20.0, catalogue="as-rated"), {}),
    "model": (lambda: Synthesizer(20.0, catalogue="as-rated"), {"layout": "model"}),
}


@pytest.fixture(scope="module", params=WAYS)
def folder(request, tmp_path_factory):
    make, options = WAYS[request.param]
    folder = tmp_path_factory.mktemp("described") / "out"
    make().anonymize(RATINGS).write(folder, **options)
    return folder


@pytest.fixture(scope="module")
def padded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("padded") / "out"
    PredictiveAnonymizer(4, seed=918_273).anonymize(RATINGS).write(folder)
    return folder


def described(folder, card=None, force=True):
    target = folder.parent / "croissant.json"
    if card is not None:
        (folder.parent / "card.toml").write_text(card)
    describe(folder, target, card=card and folder.parent / "card.toml", force=force)
    return json.loads(target.read_text("utf-8"))


@pytest.fixture(scope="module")
def found(padded):
    """The file of an audit, and what stands in it."""
    file = padded.parent / "audit.json"
    told = audit(RATINGS, release=padded, targets=20, curves=False).to_dict()
    file.write_text(json.dumps(told, default=str))
    return file, told


class TestUnpaid:
    """Figures of an audit are worked out from real people, which no epsilon covers."""

    def told(self, folder, off_scale, name):
        release = {
            "sha256": known_manifest(folder).sha256,
            "headline": "AUC 0.59.",
            "verdict": [],
            "warnings": [],
        }
        data = {"columns": {"user": "u", "item": "i"}, "off_scale_dropped": off_scale}
        file = folder.parent / "drawn audit.json"
        file.write_text(json.dumps({"release": release, "data": data}))
        describe(folder, folder.parent / name, audit=file, force=True)
        return (folder.parent / name).read_text("utf-8")

    @pytest.mark.parametrize("name", ["c.json", "page.md"])
    def test_of_a_differentially_private_release(self, tmp_path, name):
        Synthesizer(20.0, catalogue="as-rated").anonymize(RATINGS).write(tmp_path / "out")
        text = self.told(tmp_path / "out", 3, name)
        assert "off the scale" not in text
        assert text == self.told(tmp_path / "out", 2, name)
        before, figures = text.split("AUC 0.59.")
        assert "without noise. No epsilon was paid for them" in before
        assert "No epsilon" not in figures


@pytest.fixture(scope="module")
def judged(padded):
    """The file of an evaluation, and what stands in it."""
    file = padded.parent / "evaluation.json"
    told = evaluate(padded, RATINGS, split=0.2, targets=10, with_membership=False).to_json()
    file.write_text(json.dumps(told))
    return file, told


class TestEvaluation:
    def test_what_was_measured_is_told(self, padded, judged):
        file, told = judged
        describe(padded, padded.parent / "measured.json", evaluation=file, force=True)
        text = (padded.parent / "measured.json").read_text()
        said = json.loads(text)["rai:dataUseCases"]
        assert f"Measured by the publisher: {told['headline']}" in said
        assert "20% of everybody's ratings were held out" in said[0]
        assert "The release" in told["headline"] or "Lists cannot be told" in told["headline"]
        assert not any(note in text for note in told["disclosure"]["verdict"])
        assert "secret" not in text

    def test_by_what_it_was_judged(self, tmp_path):
        train, test = make_ratings(40, 15, 300, seed=1), make_ratings(40, 15, 200, seed=2)
        PredictiveAnonymizer(4, seed=1).anonymize(train).write(tmp_path / "out")
        found = evaluate(tmp_path / "out", train=train, test=test, targets=5, with_membership=False)
        told = found.to_json()
        (tmp_path / "e.json").write_text(json.dumps(told))
        describe(tmp_path / "out", tmp_path / "c.json", evaluation=tmp_path / "e.json")
        said = json.loads((tmp_path / "c.json").read_text())["rai:dataUseCases"]
        assert f"Judged by {told['test_cells']:,} ratings that were held out" in said[0]

    def test_of_likes_no_ratings_are_spoken_of(self, tmp_path):
        likes = RATINGS.as_likes()
        SparseRows(4, seed=1).anonymize(likes).write(tmp_path / "out")
        describe(tmp_path / "out", tmp_path / "croissant.json")
        (records,) = json.loads((tmp_path / "croissant.json").read_text())["recordSet"]
        assert records["description"].endswith("one line a like.")
        meanings = {field["name"]: field["description"] for field in records["field"]}
        assert meanings["item_id"] == "the item, under its own id"
        told = evaluate(tmp_path / "out", likes, split=0.2, targets=5, with_membership=False)
        (tmp_path / "e.json").write_text(json.dumps(told.to_json()))
        describe(tmp_path / "out", tmp_path / "c.json", evaluation=tmp_path / "e.json")
        said = json.loads((tmp_path / "c.json").read_text())["rai:dataUseCases"]
        assert "20% of everybody's likes were held out" in said[0]
        assert "raw likes" in said[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("origin")
    rows = [
        f"{u % 30},{i},{u % 5 + 1},2020-01-{u % 28 + 1:02}" for u in range(60) for i in range(9)
    ]
    rows = [*dict.fromkeys(rows), "31,8,77,2020-01-01"]
    (folder / "salaries of acme.csv").write_text(
        "acme_member,acme_film,acme_stars,acme_day\n" + "\n".join(rows) + "\n"
    )
    reading = {"user": "acme_member", "item": "acme_film", "rating": "acme_stars"}
    reading |= {"time": "acme_day", "scale": RatingScale(1, 5, 1), "drop_off_scale": True}
    reading |= {"duplicates": "last"}
    table = folder / "salaries of acme.csv"
    anonymize(table, folder / "out", k=3, seed=1, **reading)
    told = audit(table, release=folder / "out", targets=5, curves=False, **reading).to_dict()
    (folder / "audit.json").write_text(json.dumps(told, default=str))
    return folder, told


class TestOrigin:
    """What is told of the owner's table: for what it had columns, and what was left out."""

    def told(self, folder, **options):
        audited = {"audit": folder / "audit.json"}
        describe(folder / "out", folder / "c.json", **audited, **options, force=True)
        text = (folder / "c.json").read_text()
        return text, json.loads(text)["rai:dataPreprocessingProtocol"]

    def test_roles_and_what_was_dropped(self, made):
        folder, audited = made
        text, said = self.told(folder)
        dropped = audited["data"]["off_scale_dropped"]
        assert dropped > 0
        assert said[0] == (
            "Read from a table with columns for user, item, rating and time; the times are not "
            "published."
        )
        assert f"Rows left out, as they were off the scale: {dropped:,}." in said
        assert "acme" not in text
        assert "salaries" not in text
