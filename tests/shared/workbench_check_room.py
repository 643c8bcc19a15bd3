"""What the fast and the slow tests of `test_check_room.py` share."""

import io
import zipfile

import pytest

from recveil.methods import anonymize


@pytest.fixture(scope="module")
def release(tmp_path_factory, small_table):
    folder = tmp_path_factory.mktemp("releases")
    (folder / "ratings.csv").write_bytes(small_table)
    anonymize(folder / "ratings.csv", folder / "out", k=4, method="predictive", seed=987_654_321)
    return folder / "out"


def packed(folder, within="out/", described=False, **changed):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in folder.iterdir():
            archive.writestr(f"{within}{file.name}", changed.get(file.name, file.read_bytes()))
        if described:
            archive.writestr("croissant.json", b"{}")
    return content.getvalue()
