"""Releases of words: what their files say, and that both checkers see whatever is changed."""

import hashlib
import json
import shutil
from pathlib import Path

import independent
import pyarrow.parquet as pq
import pytest

from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import RatingScale
from recveil.release.data_card import data_card
from recveil.release.manifest import Manifest, to_bytes
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

WORDS = ("hate", 'dis"like', "like, a bit", "<b>love|`é`")
SCALE = RatingScale.of_labels(WORDS)
MAKERS = {
    "padded": lambda: PredictiveAnonymizer(5, seed=1),
    "simple": lambda: PredictiveAnonymizer(5, "simple", seed=1),
    "k-corating": lambda: KCoRater(5, seed=1),
    "mean": lambda: KCoRater(5, protect="mean", seed=1),
    "sparse": lambda: SparseRows(5, seed=1),
    "drawn": lambda: Synthesizer(None, seed=1),
}
FORMS = [("users", "parquet"), ("users", "csv"), ("groups", "csv"), ("groups", "parquet")]


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(60, 30, 600, seed=3, scale=RatingScale(1, 4, 1))
    return made.with_scale(SCALE)


@pytest.fixture(scope="module")
def made(tmp_path_factory, ratings):
    folder = tmp_path_factory.mktemp("words")
    for name, make in MAKERS.items():
        release = make().anonymize(ratings)
        for layout, form in FORMS[: 2 if name == "drawn" else 4]:
            release.write(folder / f"{name}-{layout}-{form}", layout=layout, file_format=form)
    return folder


@pytest.mark.parametrize("form", FORMS, ids="-".join)
@pytest.mark.parametrize("name", MAKERS)
def test_both_checkers_confirm_it_from_the_files(made, name, form):
    folder = made / "-".join((name, *form))
    if not folder.exists():
        pytest.skip("drawn people form no groups")
    assert verify(folder).holds
    assert not list(independent.problems(folder))


@pytest.mark.parametrize("name", MAKERS)
def test_what_the_files_say(made, name):
    folder = made / f"{name}-users-parquet"
    result = json.loads((folder / "release.json").read_text())
    assert result["format"] == "recveil-release-9"
    assert result["scale"] == {
        **{"low": 1.0, "high": 4.0, "step": 1.0},
        **{"labels": list(WORDS), "ordered": True},
    }
    assert result["settings"].get("value_step", 1.0) == 1.0
    words = pq.read_table(folder / "ratings.parquet")["rating"].to_pylist()
    assert set(words) <= set(WORDS)
    assert len(set(words)) > 1


def test_the_card_names_the_words_where_nothing_of_them_is_markup(made):
    card = (made / "padded-users-parquet" / "README.md").read_text()
    assert '`"hate"`, `"dis\\"like"`, `"like, a bit"`, `"\\u003cb\\u003elove\\u007c\\u0060é' in card
    assert "from lowest to highest" in card
    assert "<b>" not in card


def test_releases_of_numbers_stay_of_their_format(tmp_path, ratings):
    plain = ratings.with_scale(RatingScale(1, 4, 1))
    PredictiveAnonymizer(5, seed=1).anonymize(plain).write(tmp_path / "out")
    result = json.loads((tmp_path / "out" / "release.json").read_text())
    assert result["format"] == "recveil-release-9"
    assert list(result["scale"]) == ["low", "high", "step"]


@pytest.fixture
def forged(made, tmp_path):
    """Change a release, renew all checksums, and return both verdicts."""

    def forged(name, change, *, ratings=lambda text: text):
        folder = Path(shutil.copytree(made / name, tmp_path / name))
        manifest = json.loads((folder / "release.json").read_text())
        change(manifest)
        file = folder / "ratings.csv"
        file.write_text(ratings(file.read_text()))
        try:
            card = data_card(Manifest.from_json(manifest), file.name)
            (folder / "README.md").write_text(card)
        except (ValueError, KeyError, TypeError):
            pass  # no card follows from it
        for entry, result in manifest["files"].items():
            content = (folder / entry).read_bytes()
            result |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        (folder / "release.json").write_bytes(to_bytes(manifest))
        try:
            ours = [each.problem for each in verify(folder).violations]
        except ValueError as error:  # refused as no release at all
            ours = [str(error)]
        return ours, [*independent.problems(folder)]

    return forged


def test_a_signed_copy_is_as_good(forged):
    assert forged("simple-users-csv", lambda _: None) == ([], [])


CHANGES = {
    "format 5": lambda result: result.update(format="recveil-release-5"),
    "format 6": lambda result: result.update(format="recveil-release-6"),
    "no words": lambda result: (result["scale"].pop("labels"), result["scale"].pop("ordered")),
    "fewer words": lambda result: result["scale"]["labels"].pop(),
    "other words": lambda result: result["scale"]["labels"].__setitem__(0, "hatred"),
    "another order": lambda result: result["scale"]["labels"].reverse(),
    "a formula": lambda result: result["scale"]["labels"].__setitem__(0, "=1+1"),
    "one twice": lambda result: result["scale"]["labels"].__setitem__(0, WORDS[1]),
    "a number": lambda result: result["scale"]["labels"].__setitem__(0, 7),
    "a text": lambda result: result["scale"].update(labels="abcd"),
    "order is no truth value": lambda result: result["scale"].update(ordered=1),
    "numbered from 0": lambda result: result["scale"].update(low=0.0, high=3.0),
    "in tenths": lambda result: result["settings"].update(value_step=0.1),
    "another key": lambda result: result["scale"].update(note="x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_is_changed_in_the_words_is_found_by_both(forged, change):
    ours, theirs = forged("simple-users-csv", change)
    assert ours
    assert theirs


def of_last_line(word):
    def change(text):
        lines = text.splitlines()
        users, item, _ = lines[-1].split(",", 2)
        return "\n".join([*lines[:-1], f"{users},{item},{word}", ""])

    return change


@pytest.mark.parametrize("word", ['"Hate"', '"hate "', '""', "hate", "1", '"1"', '"x"'])
def test_a_word_that_is_none_is_found_by_both(forged, word):
    ours, theirs = forged("simple-users-csv", lambda _: None, ratings=of_last_line(word))
    assert ours
    assert theirs


class TestPlainFiles:
    """Tables of words from other programs: `verify` compares them as text."""

    @pytest.mark.parametrize(("word", "holds"), [("love", True), ("Love", False)])
    def test_words_are_compared_as_they_stand(self, tmp_path, word, holds):
        file = tmp_path / "words.csv"
        file.write_text(f"user,item,rating\n1,7,love\n2,7,{word}\n")
        assert verify(file, k=2).holds is holds
