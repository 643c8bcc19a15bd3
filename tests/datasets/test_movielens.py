import hashlib
import zipfile
from pathlib import Path

from error_assertions import raises
from recveil import datasets
from recveil.datasets import fetch_movielens


def _archive(path: Path, member: str, text: str) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, text)
    return hashlib.md5(path.read_bytes()).hexdigest()


def test_an_archive_that_is_there_is_checked_and_read(tmp_path, monkeypatch):
    rows = "".join(
        f"{user}\t{item}\t{1 + user % 5}\t881250949\n" for user in range(5) for item in range(3)
    )
    md5 = _archive(tmp_path / "ml-100k.zip", "ml-100k/u.data", rows)
    monkeypatch.setitem(datasets._ARCHIVES, "100k", ("ml-100k.zip", "u.data", md5))
    ratings = fetch_movielens("100k", folder=tmp_path)
    assert (ratings.n_users, ratings.n_items) == (5, 3)


def test_the_latest_archive_is_checked_against_the_sum_next_to_it(tmp_path):
    rows = "userId,movieId,rating,timestamp\n1,2,3.5,881250949\n2,2,4.0,881250949\n"
    md5 = _archive(tmp_path / "ml-latest-small.zip", "ml-latest-small/ratings.csv", rows)
    (tmp_path / "ml-latest-small.zip.md5").write_text(f"MD5 (ml-latest-small.zip) = {md5}\n")
    assert fetch_movielens("latest-small", folder=tmp_path).n_ratings == 2


def test_without_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    import pooch

    def offline(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.setattr(pooch, "retrieve", offline)
    with raises("machine.network"):
        fetch_movielens("1m", folder=tmp_path)


def test_another_archive_under_that_name_is_refused(tmp_path, monkeypatch):
    import pooch

    def tampered(*_, **__):
        raise ValueError("hash mismatch")

    monkeypatch.setattr(pooch, "retrieve", tampered)
    with raises("input.damaged"):
        fetch_movielens("1m", folder=tmp_path)


def test_without_a_home_a_folder_is_asked_for(monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda _: "~/.cache/recveil")
    with raises("option.required"):
        fetch_movielens("100k")
