"""--explain: what words mean stands below the result, and only words that stand in it."""

import re
import shutil

import pytest

from recveil.cli import main
from recveil.datasets import generate

pytestmark = pytest.mark.usefixtures("few_recommenders")

AUDIT = "audit ratings.csv --targets 10 --no-curves"

LINES = {
    "audit": AUDIT,
    "audit of likes": "audit likes.csv --targets 10 --no-curves",
    "audit of a release": f"{AUDIT} --release out --against other",
    "audit of co-rated rows": f"{AUDIT} --release co-rated",
    "audit of drawn people": f"{AUDIT} --release drawn",
    "outside knowledge": f"{AUDIT} --aux aux.csv",
    "anonymize": "anonymize ratings.csv -o again --k 4 --method sparse",
    "verify": "verify out",
    "verify co-rated rows": "verify co-rated",
    "verify drawn people": "verify drawn",
    "evaluate": "evaluate ratings.csv --release out --split 0.2 --targets 10 --all",
    "evaluate likes": "evaluate likes.csv --release liked --split 0.2 --targets 10 --no-membership",
    "compare": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10",
    "compare members": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10 "
    "--risk membership",
}
# Releases that the lines above ask about.
MADE = {
    "out": "ratings.csv --k 4 --homogenize simple",
    "other": "ratings.csv --k 5",
    "co-rated": "ratings.csv --k 4 --method k-corating",
    "drawn": "ratings.csv --epsilon 100 --scale 1:5:1 --catalogue as-rated",
    "liked": "likes.csv --k 4 --method sparse",
}
# Of the intervals, the bounds and what is not covered nothing may hide behind an option.
ALWAYS = {
    "audit": ["95 % intervals", "a blind guess finds"],
    "audit of likes": ["Here no dates are known", "Here the wrong entries are items"],
    "audit of a release": ["the promise is at most 25.0%", "95 % intervals"],
    "verify": ["Not covered by this verdict"],
    "evaluate": ["on this one split", "tell more of it than of the labels"],
    "compare": ["on this one split", "Not measured: who is in a release at all"],
    "compare members": ["who makes others for comparison usually tells more"],
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
        told = capsys.readouterr()
        assert ended.value.code == 0, told.err
        return told.out

    return run


def explained(text: str) -> tuple[str, list[str]]:
    """Return what stands above the meanings, and the words below that have one."""
    above, _, below = text.partition("What the words mean\n")
    return above, re.findall(r"^([^:\n]+): ", below, re.MULTILINE)


@pytest.mark.parametrize("name", LINES)
def test_only_words_of_the_result_are_explained(name, printed):
    above, words = explained(printed(f"{LINES[name]} --explain"))
    assert words
    assert len(words) == len(set(words))
    shown = " ".join(re.sub("[┃│]", " ", above).split())
    for word in words:
        assert word.lower() in shown.lower(), word
    for sentence in ALWAYS.get(name, []):
        assert sentence in shown


@pytest.mark.parametrize("name", ["audit of a release", "verify", "compare"])
def test_nothing_but_meanings_hides_behind_the_option(name, printed):
    plain, (above, _) = printed(LINES[name]), explained(printed(f"{LINES[name]} --explain"))
    how_to_ask = r"^--explain says what the words mean.*\n"
    assert name == "verify" or re.search(how_to_ask, plain, re.MULTILINE)
    said = re.sub(how_to_ask, "", plain, flags=re.MULTILINE).partition("Wrote ")[0]
    assert said.strip() == above.partition("\nWhat the adversaries know\n")[0].strip()
