"""A release that was tampered with, and given new checksums, does not hold, or says so.

A publisher may want to carry something in a place that is not read. Each way below is tried
on every form of a release that has the place.
"""

import itertools
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.release.manifest import to_bytes
from recveil.verification import verify
from shared.verification_tampering import (  # noqa: F401 (fixtures)
    IN_MANIFEST,
    METHODS,
    _manifest,
    _refused,
    _sign,
    _sign_with_new_card,
    copy_of,
    made,
)

FORMS = ["-".join(form) for form in itertools.product(METHODS, ("users", "groups"))]

FORMS += ["synthetic-users"]

pytestmark = pytest.mark.usefixtures("synthetic")  # its releases are refused where it is unknown


def test_what_was_not_touched_holds(made):
    for folder in made.iterdir():
        if not folder.name.endswith(".private"):
            assert verify(folder).holds, verify(folder).violations
            _sign(folder)
            assert verify(folder).holds


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
    # What is not on the card, and cannot be derived from the ratings, is the publisher's statement.
    assert (*way, last) == ("scale", "step")
    assert "making" in {limit.code for limit in verify(folder).not_covered}


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
    assert "parquet-encoding" in {limit.code for limit in verify(folder).not_covered}
