import io
from zipfile import ZIP_STORED, ZipFile

import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.release.manifest import FileEntry
from recveil.verification import verify
from recveil.workbench.tasks import published_files, stream_zip


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "out"
    PredictiveAnonymizer(4, seed=1).anonymize(make_ratings(40, 20, 400, seed=2)).write(folder)
    return folder


def sha256(folder):
    return FileEntry.of(folder / "release.json").sha256


def zip_of(folder):
    return b"".join(stream_zip(published_files(folder, sha256(folder))))


def test_what_is_unpacked_is_the_release(release, tmp_path):
    with ZipFile(io.BytesIO(zip_of(release))) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "got")
    assert verify(tmp_path / "got" / "out").holds
    for file in release.iterdir():
        assert (tmp_path / "got" / "out" / file.name).read_bytes() == file.read_bytes()


def test_nothing_else_is_sent(release):
    (release / "notes.txt").write_text("ann is p3")
    names = ZipFile(io.BytesIO(zip_of(release))).namelist()
    assert sorted(names) == [
        "out/README.md",
        "out/classes.csv",
        "out/ratings.parquet",
        "out/release.json",
    ]


def test_it_reveals_no_time_and_no_user(release):
    for entry in ZipFile(io.BytesIO(zip_of(release))).infolist():
        assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        assert (entry.external_attr >> 16, entry.extra) == (0o100644, b"")
        assert (entry.compress_type == ZIP_STORED) == entry.filename.endswith(".parquet")


def test_the_same_release_is_the_same_zip(release):
    assert zip_of(release) == zip_of(release)


def test_a_large_file_comes_in_pieces(tmp_path):
    from recveil.workbench.tasks import ZipEntry

    file = tmp_path / "large.parquet"
    file.write_bytes(bytes(3 << 20))
    pieces = list(stream_zip([ZipEntry("large.parquet", file)]))
    assert max(map(len, pieces)) < 1 << 20


@pytest.mark.parametrize("name", ["ratings.parquet", "README.md", "release.json"])
def test_what_was_changed_since_is_not_sent(release, name):
    verified = sha256(release)
    with (release / name).open("ab") as file:
        file.write(b" ")
    with raises("release.changed"):
        published_files(release, verified)


def test_a_link_is_not_followed(release, tmp_path):
    verified = sha256(release)
    (release / "README.md").rename(tmp_path / "elsewhere.md")
    (release / "README.md").symlink_to(tmp_path / "elsewhere.md")
    with raises("release.changed"):
        published_files(release, verified)


def test_what_is_missing_is_reported(release):
    verified = sha256(release)
    (release / "README.md").unlink()
    with raises("input.unreadable"):
        published_files(release, verified)
