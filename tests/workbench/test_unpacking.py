"""A malicious zip is unpacked whole and harmless, or not at all."""

import contextlib
import io
import stat
import zipfile

import pytest

from error_assertions import raises
from recveil.runtime.errors import RecveilError
from recveil.workbench import tasks
from recveil.workbench.tasks import contains_release, unpack_release


def entry(name, *, mode=0o644, kind=stat.S_IFREG):
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


@pytest.fixture
def unpack(tmp_path):
    """Pack entries, unpack them, and return the folder."""

    def unpack(*entries):
        path, folder = tmp_path / "some.zip", tmp_path / "in" / "some"
        with zipfile.ZipFile(path, "w") as archive:
            for info, content in entries:
                archive.writestr(info, content)
        unpack_release(path, folder)
        return folder

    yield unpack
    # Whatever was in there, nothing stands elsewhere.
    assert {each.name for each in tmp_path.iterdir()} <= {"some.zip", "in"}


MANIFEST = (entry("release.json"), b"{}")


def test_files_are_unpacked_with_or_without_their_folder(unpack, tmp_path):
    folder = unpack(MANIFEST, (entry("ratings.csv"), b"a,b\n"))
    assert {each.name for each in folder.iterdir()} == {"release.json", "ratings.csv"}
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "ratings.csv").stat().st_mode & 0o077 == 0
    other = tmp_path / "in" / "other"
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("out/"), b"")
        archive.writestr(entry("out/release.json"), b"{}")
    unpack_release(tmp_path / "some.zip", other)
    assert [each.name for each in other.iterdir()] == ["release.json"]


@pytest.mark.parametrize(
    "name",
    [
        *("../evil", "out/../../evil", "/etc/evil", "..", "out\\..\\..\\evil", "C:evil"),
        *("out/evil\x1b[2J", "out/\u202egnp.evil", "a\nb"),
    ],
)
def test_names_that_lead_out_are_refused(unpack, tmp_path, name):
    with raises("release.archive") as error:
        unpack(MANIFEST, (entry(name), b"x"))
    assert len(str(error.value)) < 300
    assert not (tmp_path / "in" / "some").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_are_refused(unpack, tmp_path, kind):
    with raises("release.archive"):
        unpack(MANIFEST, (entry("ratings.csv", kind=kind), b"/etc/passwd"))
    assert not (tmp_path / "in" / "some").exists()


def test_a_bomb_is_stopped_while_it_grows(unpack, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "_ALWAYS", 10**6)
    monkeypatch.setattr(tasks, "_GROWTH", 2)
    with raises("release.too-large"):
        unpack(MANIFEST, (entry("ratings.csv"), bytes(20_000_000)))
    assert not (tmp_path / "in" / "some").exists()


def test_a_size_that_is_a_lie_changes_nothing(tmp_path, monkeypatch):
    """What counts is what comes."""
    monkeypatch.setattr(tasks, "_ALWAYS", 10**6)
    monkeypatch.setattr(tasks, "_GROWTH", 2)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(entry("release.json"), bytes(20_000_000))
    result = content.getvalue().replace((20_000_000).to_bytes(4, "little"), b"\x10\0\0\0")
    (tmp_path / "some.zip").write_bytes(result)
    with raises("release.archive"):
        unpack_release(tmp_path / "some.zip", tmp_path / "in" / "some")
    assert not (tmp_path / "in" / "some").exists()


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_that_cannot_be_counted_are_refused(tmp_path, monkeypatch, way):
    """Two kilobytes of these are gigabytes in memory; nothing of them is opened."""
    with zipfile.ZipFile(tmp_path / "some.zip", "w", way) as archive:
        archive.writestr("release.json", bytes(1_000_000))
    monkeypatch.setattr(tasks.ZipFile, "open", None)
    with raises("release.archive") as error:
        unpack_release(tmp_path / "some.zip", tmp_path / "in" / "some")
    assert len(str(error.value)) < 300
    assert not (tmp_path / "in" / "some").exists()


def test_many_files_are_refused(unpack):
    with raises("release.too-large"):
        unpack(MANIFEST, *((entry(f"file{at}"), b"") for at in range(1_001)))


def test_a_file_that_stands_twice_is_refused(unpack):
    with raises("release.archive"):
        unpack(MANIFEST, (entry("RELEASE.json"), b"{}"))


def test_a_private_folder_in_the_archive_is_refused(unpack):
    """Dropping both folders must not pass the private one on."""
    with raises("release.archive"):
        unpack((entry("out/release.json"), b"{}"), (entry("out.private/private.json"), b"{}"))


def test_damaged_archives_are_refused(unpack, tmp_path):
    unpack(MANIFEST, (entry("ratings.csv"), bytes(range(256)) * 40))
    whole = (tmp_path / "some.zip").read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        (tmp_path / "some.zip").write_bytes(damaged)
        folder = tmp_path / "in" / f"damaged{at}"
        with contextlib.suppress(RecveilError):
            unpack_release(tmp_path / "some.zip", folder)
            continue
        assert not folder.exists()


def test_what_holds_a_release(tmp_path):
    path = tmp_path / "some.zip"
    assert not contains_release(path)
    path.write_bytes(b"PK no zip")
    assert not contains_release(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.csv", b"1,2,3")
    assert not contains_release(path)
