"""Every file of the fuzzers' corpus, without a fuzzer: an answer, or an error of ours."""

from pathlib import Path

import forging
import independent
import pytest
import targets

from recveil.verify import verify

CORPUS = Path(targets.__file__).parent / "corpus"
FILES = sorted(file for file in CORPUS.rglob("*") if file.is_file())


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_file_of_the_corpus_is_a_finding(file):
    targets.TARGETS[file.parent.name](file.read_bytes())


def test_every_target_has_a_small_corpus():
    assert {file.parent.name for file in FILES} == set(targets.TARGETS)
    assert sum(file.stat().st_size for file in FILES) < 200_000


@pytest.mark.parametrize("name", ["padded-groups", "hidden", "levels", "diverse", "k-corating"])
def test_what_the_fuzzer_changes_is_a_release_that_holds(name, tmp_path):
    """Else it would look for a false verdict where there is none."""
    targets.unpack((CORPUS / "release" / name).read_bytes(), tmp_path)
    forging.complete(tmp_path, "ratings.csv")
    assert verify(tmp_path).holds
    assert list(independent.problems(tmp_path)) == []


class TestTheFuzzersOwnEyes:
    """A target must raise where a checker is wrong, or it finds nothing."""

    def test_a_checker_that_holds_everything_is_found(self, monkeypatch):
        release = (CORPUS / "release" / "simple-groups-whole").read_bytes()
        broken = release.replace(b",3\n", b",2\n", 1)
        targets.release(broken)
        good = verify

        def blind(path, **_):
            verdict = good(path)
            object.__setattr__(verdict, "violations", [])
            object.__setattr__(verdict, "k_achieved", verdict.k_required)
            return verdict

        monkeypatch.setattr(targets, "verify", blind)
        with pytest.raises(targets.FoundError, match="verify holds, but"):
            targets.release(broken)

    def test_people_who_are_counted_twice_are_found(self, monkeypatch):
        table = (CORPUS / "text" / "header.csv").read_bytes()
        good = verify

        def generous(path, **given):
            verdict = good(path, **given)
            object.__setattr__(verdict, "k_achieved", verdict.k_achieved + 1)
            return verdict

        monkeypatch.setattr(targets, "verify", generous)
        with pytest.raises(targets.FoundError, match="2 people share a row by verify, 1 by"):
            targets.text(table)
