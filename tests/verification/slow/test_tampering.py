"""A release that was tampered with, and given new checksums, does not hold, or says so.

Whoever publishes may want to carry something in a place where nobody looks. Each way below is tried
on every form of a release that has the place.
"""

import hashlib
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.release.data_card import data_card
from recveil.release.manifest import Manifest, to_bytes
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

METHODS = {
    "padded": PredictiveAnonymizer(4, seed=1),
    "simple": PredictiveAnonymizer(4, "simple", seed=1),
    "k-corating": KCoRater(3, protect="shuffle", seed=1),
}

FORMS = ["-".join(form) for form in itertools.product(METHODS, ("users", "groups"))]

FORMS += ["synthetic-users"]

pytestmark = pytest.mark.usefixtures("synthetic")  # its releases are refused where it is unknown


@pytest.fixture(scope="module")
def made(tmp_path_factory, synthetic) -> Path:
    folder = tmp_path_factory.mktemp("made")
    ratings = make_ratings(n_users=40, n_items=15, n_ratings=300, seed=6)
    for method, anonymizer in METHODS.items():
        release = anonymizer.anonymize(ratings)
        for layout, form in itertools.product(("users", "groups"), ("parquet", "csv")):
            release.write(folder / f"{method}-{layout}-{form}", layout=layout, file_format=form)
    for form in ("parquet", "csv"):
        drawn = synthetic(20.0).anonymize(ratings)
        drawn.write(folder / f"synthetic-users-{form}", file_format=form)
    drawn.write(folder / "synthetic-model", layout="model")
    return folder


@pytest.fixture
def copy_of(made, tmp_path):
    """Return a release that a test may break."""
    return lambda name: Path(shutil.copytree(made / name, tmp_path / name))


def _manifest(folder: Path) -> dict:
    return json.loads((folder / "release.json").read_text())


def _sign(folder: Path, manifest: dict | None = None) -> None:
    """Make all checksums anew, as somebody would who changed something."""
    manifest = _manifest(folder) if manifest is None else manifest
    for name, entry in manifest["files"].items():
        if (folder / name).is_file():
            content = (folder / name).read_bytes()
            entry |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (folder / "release.json").write_bytes(to_bytes(manifest))


def _sign_with_new_card(folder: Path, manifest: dict) -> None:
    name = next(iter(manifest["files"]))
    (folder / "README.md").write_text(data_card(Manifest.from_json(manifest), name))
    _sign(folder, manifest)


def _refused(folder: Path) -> bool:
    try:
        return not verify(folder).holds
    except RecveilError:
        return True


def test_what_was_not_touched_holds(made):
    for folder in made.iterdir():
        if not folder.name.endswith(".private"):
            assert verify(folder).holds, verify(folder).violations
            _sign(folder)
            assert verify(folder).holds


def _set(*path, value):
    def change(manifest):
        *way, last = path
        for name in way:
            manifest = manifest[name]
        manifest[last] = value

    return change


def _drop(*path):
    def change(manifest):
        *way, last = path
        for name in way:
            manifest = manifest[name]
        del manifest[last]

    return change


def _turn_round(*path):
    def change(manifest):
        for name in path:
            manifest = manifest[name]
        pairs = list(manifest.items())[::-1]
        manifest.clear()
        manifest.update(pairs)

    return change


IN_MANIFEST = {
    "a who-is-who": _set("who", value={"p1": "alice"}),
    "a note": _set("note", value="p1 is alice"),
    "a seed in settings": _set("settings", "seed", value=7),
    "a path in settings": _set("settings", "source", value="/home/alice/ratings.csv"),
    "more of diversity": _set("diversity", "note", value="x"),
    "more of the scale": _set("scale", "note", value="x"),
    "more counts": _set("counts", "alices", value=1),
    "more of a file": _set("files", "README.md", "author", value="alice"),
    "one more file": _set("files", "alice.txt", value={"sha256": "0" * 64, "bytes": 3}),
    "a version that is a text": _set("recveil", value="alice is p1"),
    "a version with a local part": _set("recveil", value="0.1.0+alice"),
    "a version of many digits": _set("recveil", value="0.1.20091214"),
    "a version that is an address": _set("recveil", value="192.168.1.77"),
    "a version with parts twice": _set("recveil", value="0.1.post1.post2"),
    "a version of one number": _set("recveil", value="7"),
    "a version that is a list": _set("recveil", value=["0.1.0"]),
    "a predictor that is a sentence": _set("settings", "predictor", value="alice is p1"),
    "a grouping that is a map": _set("settings", "grouping", value={"p1": "alice"}),
    "a fill that is a sentence": _set("settings", "fill", value="alice is p1"),
    "a rounding that is a text": _set("settings", "label_step", value="tenth"),
    "a rounding below zero": _set("settings", "label_step", value=-0.1),
    "a rounding beyond the scale": _set("settings", "label_step", value=1e9),
    "a rounding that labels do not keep": _set("settings", "label_step", value=0.37),
    "a protection that is a text": _set("settings", "protect", value="alice"),
    "another homogenizing": _set("settings", "homogenize", value="both"),
    "an unknown method": _set("settings", "method", value="magic"),
    "another known method": _set("settings", "method", value="raw"),
    "no method": _drop("settings", "method"),
    "levels as a number": _set("levels", value=0),
    "k as another number": _set("k", value=3.0),
    "a scale of whole numbers": _set("scale", "low", value=1),
    "an endless scale": _set("scale", "high", value=1e300),
    "a narrower scale": _set("scale", "high", value=2.0),
    "no recveil": _drop("recveil"),
    "no diversity": _drop("diversity"),
    "no levels": _drop("levels"),
    "keys in another order": _turn_round(),
    "settings in another order": _turn_round("settings"),
    "counts in another order": _turn_round("counts"),
    "files in another order": _turn_round("files"),
    "an older format": _set("format", value="recveil-release-1"),
    "bytes that are a text": _set("files", "README.md", "bytes", value="alice"),
} | {
    f"a wrong count of {name}": _set("counts", name, value=12345)
    for name in ("users", "records", "labels", "items", "classes", "alone")
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", IN_MANIFEST)
def test_release_json_carries_nothing_else(copy_of, form, way):
    folder = copy_of(f"{form}-csv")
    manifest = _manifest(folder)
    try:
        IN_MANIFEST[way](manifest)
    except KeyError:
        return
    (folder / "release.json").write_bytes(to_bytes(manifest))
    assert _refused(folder)
    if way.startswith("bytes"):
        return
    # And if the card and the checksums go along.
    try:
        _sign_with_new_card(folder, manifest)
    except Exception:  # there is no card for such a release
        return
    assert _refused(folder)


def _places(value, path=()):
    """Every place in a manifest, by its way there."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield (*path, name)
            yield from _places(part, (*path, name))


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)

values = st.recursive(
    scalars, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=4
)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_single_change_of_the_manifest_passes(data, made, tmp_path_factory):
    name = data.draw(
        st.sampled_from(["simple-users-csv", "padded-groups-csv", "k-corating-users-csv"])
    )
    folder = tmp_path_factory.mktemp("one") / name
    shutil.copytree(made / name, folder)
    manifest = _manifest(folder)
    before = to_bytes(manifest)
    *way, last = data.draw(st.sampled_from(sorted(_places(manifest))))
    place = manifest
    for step in way:
        place = place[step]
    how = data.draw(st.sampled_from(["change", "drop", "add"]))
    if how == "drop":
        del place[last]
    elif how == "add":
        place[data.draw(st.text(max_size=9))] = data.draw(values)
    else:
        place[last] = data.draw(values)
    try:
        after = to_bytes(manifest)
    except UnicodeEncodeError:
        return
    if after == before:
        return
    (folder / "release.json").write_bytes(after)
    if _refused(folder):
        return
    # What is not on the card, and cannot be told from the ratings, is the publisher's word.
    assert (*way, last) == ("scale", "step")
    assert any("settings, scale" in sentence for sentence in verify(folder).not_covered)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_inserted_byte_passes(data, made, tmp_path_factory):
    name = data.draw(st.sampled_from(["simple-users-csv", "padded-groups-parquet"]))
    folder = tmp_path_factory.mktemp("one") / name
    shutil.copytree(made / name, folder)
    file = data.draw(st.sampled_from(sorted(folder.iterdir())))
    content = file.read_bytes()
    at = data.draw(st.integers(0, len(content)))
    file.write_bytes(content[:at] + data.draw(st.binary(min_size=1, max_size=3)) + content[at:])
    if file.name != "release.json":
        _sign(folder)
    assert _refused(folder)


def test_flipped_bits_of_a_parquet_file_are_found(made, tmp_path):
    """All but those that say how values are compressed, which verify names as not covered."""
    folder = Path(shutil.copytree(made / "simple-users-parquet", tmp_path / "flipped"))
    file = folder / "ratings.parquet"
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    survived = []
    for at in rng.choice(len(content), 250, replace=False).tolist():
        changed = bytearray(content)
        changed[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        _sign(folder)
        if not _refused(folder):
            survived.append(at)
            assert pq.read_table(file).equals(pq.read_table(made / folder.name / file.name))
    assert len(survived) <= 5
    file.write_bytes(content)
    _sign(folder)
    assert any("compressed" in sentence for sentence in verify(folder).not_covered)
