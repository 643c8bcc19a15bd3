"""What the fast and the slow tests of `test_tampering.py` share."""

import hashlib
import itertools
import json
import shutil
from pathlib import Path

import pytest

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
    """Renew all checksums, as an adversary would after a change."""
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
    "a rounding that is a text": _set("settings", "value_step", value="tenth"),
    "a rounding below zero": _set("settings", "value_step", value=-0.1),
    "a rounding beyond the scale": _set("settings", "value_step", value=1e9),
    "a rounding that labels do not keep": _set("settings", "value_step", value=0.37),
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
    for name in ("users", "records", "values", "items", "classes", "singletons")
}
