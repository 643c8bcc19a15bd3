"""What the fast and the slow tests of `test_explanations.py` share."""

import shutil

import pytest

from recveil.cli import main
from recveil.datasets import generate

AUDIT = "audit ratings.csv --targets 10 --no-curves"

# Releases that the lines above ask about.
MADE = {
    "out": "ratings.csv --k 4 --method predictive --homogenize simple",
    "other": "ratings.csv --k 5 --method predictive",
    "co-rated": "ratings.csv --k 4 --method k-corating",
    "drawn": "ratings.csv --epsilon 100 --scale 1:5:1 --item-catalog as-rated",
    "liked": "likes.csv --k 4 --method sparse",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meanings")
    generate(folder / "ratings.csv", users=60, items=40, ratings=900)
    rows = [line.split(",") for line in (folder / "ratings.csv").read_text().splitlines()]
    (folder / "likes.csv").write_text("".join(f"{row[0]},{row[1]}\n" for row in rows))
    known = "".join(f"a,{item},{rating}\n" for _, item, rating, _ in rows[1:6])
    (folder / "aux.csv").write_text(f"target,item,rating\n{known}")
    for name, made in MADE.items():
        source, *options = made.split()
        with pytest.raises(SystemExit) as ended:
            main(["anonymize", str(folder / source), "-o", str(folder / name), *options])
        assert ended.value.code == 0, name
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("COLUMNS", "250")  # so that no head of a column is broken


@pytest.fixture
def printed(here, capsys):
    def run(line: str) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        result = capsys.readouterr()
        assert ended.value.code == 0, result.err
        return result.out

    return run
