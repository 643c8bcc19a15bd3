"""Every file of the fuzzers' corpus, without a fuzzer: an answer, or an error of ours."""

import dataclasses
import gzip
import random
import shutil
from pathlib import Path

import dialects
import forging
import independent
import mutating
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import run
import targets
from hypothesis import given
from hypothesis import strategies as st
from independent_parquet import problems_of_parquet

from recveil.io.formats import delimited
from recveil.ratings import Ratings
from recveil.release import manifest_reader
from recveil.verification import (
    published_file,
    release_folder,
    synthetic_release,
    verify,
)
from recveil.verification.equivalence_classes import Classes

CORPUS = Path(targets.__file__).parent / "corpus"

FILES = sorted(file for file in CORPUS.rglob("*") if file.is_file())


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_file_of_the_corpus_is_a_finding(file):
    targets.TARGETS[file.parent.name](file.read_bytes())


def test_every_target_has_a_small_corpus():
    assert {file.parent.name for file in FILES} == set(targets.TARGETS)
    assert sum(file.stat().st_size for file in FILES) < 200_000


def test_what_is_compiled_is_not_watched():
    """It would not compile."""
    src = CORPUS.parents[1] / "src"
    compiled = {
        ".".join(path.relative_to(src).with_suffix("").parts)
        for package in ("io", "ratings", "release", "verification", "runtime")
        for path in (src / "recveil" / package).rglob("*.py")
        if "@compiled" in path.read_text(encoding="utf-8")
    }
    assert compiled
    assert compiled <= set(run.COMPILED)


@pytest.mark.parametrize(
    "name",
    ["padded-groups", "hidden", "levels", "diverse", "k-corating", "formulas", "card", "classes"],
)
def test_what_the_fuzzer_changes_is_a_release_that_holds(name, tmp_path):
    """Else it would look for a false verdict where there is none."""
    targets.unpack((CORPUS / "release" / name).read_bytes(), tmp_path)
    forging.complete(tmp_path, "ratings.csv")
    assert verify(tmp_path).holds
    assert list(independent.problems(tmp_path)) == []


# Texts that pyarrow reads as it reads ours.
PARSED_ALIKE = [
    *("one person's labels with a point", "one person's labels with a power", "another line end"),
    *("an empty line", "quotes around a number", "quotes around a label", "a zero before"),
    *("a header without quotes", "no quotes around a text"),
]


def leave_text_alone(monkeypatch):
    """Plant a fault: a text is not compared with recveil's own notation."""
    monkeypatch.setattr(published_file, "_compare", lambda *_, **__: 0)
    monkeypatch.setattr(published_file, "_unusual", lambda *_: iter(()))


def slipped(result):
    """Plant a fault: each rating is the one before it."""
    held = (result.users, result.items, result.indptr, result.indices)
    return Ratings(*held, np.roll(result.values, 1), result.days, result.scale)


def lost(result):
    """Plant a fault: the last rating of the last user is lost."""
    indptr = result.indptr.copy()
    indptr[-1] -= 1
    held = (
        result.indices[:-1],
        result.values[:-1],
        None if result.days is None else result.days[:-1],
    )
    return Ratings(result.users, result.items, indptr, *held, result.scale)


def renamed(result):
    """Plant a fault: a user gets another id."""
    users = np.array([*map(str, result.users[:-1]), f"{result.users[-1]} "], dtype=object)
    held = (result.items, result.indptr, result.indices, result.values, result.days, result.scale)
    return Ratings(users, *held)


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

    @pytest.mark.parametrize("name", ["reviews", "mixed-ends", "stray-pair-review"])
    def test_fields_that_span_lines_without_a_word_are_found(self, monkeypatch, name):
        table = (CORPUS / "dialects" / name).read_bytes()
        dialects.compare_dialect(table)
        monkeypatch.setattr(delimited, "_check_fields_that_span_lines", lambda *given: given[-1])
        with pytest.raises(targets.FoundError, match="span lines, but the notes"):
            dialects.compare_dialect(table)

    @pytest.mark.parametrize("way", [slipped, lost, renamed])
    def test_other_rows_of_a_dialect_are_found(self, monkeypatch, way):
        good = dialects.understand

        def understand(*given, **more):
            reading = good(*given, **more)
            return dataclasses.replace(reading, ratings=way(reading.ratings))

        monkeypatch.setattr(dialects, "understand", understand)
        with pytest.raises(targets.FoundError):
            dialects.compare_dialect((CORPUS / "dialects" / "reviews").read_bytes())

    def test_users_who_are_counted_twice_are_found(self, monkeypatch):
        table = (CORPUS / "text" / "header.csv").read_bytes()
        good = verify

        def generous(path, **given):
            verdict = good(path, **given)
            object.__setattr__(verdict, "k_achieved", verdict.k_achieved + 1)
            return verdict

        monkeypatch.setattr(targets, "verify", generous)
        with pytest.raises(targets.FoundError, match="2 people share a row by verify, 1 by"):
            targets.text(table)

    @pytest.mark.parametrize("fault", [slipped, lost, renamed])
    @pytest.mark.parametrize(
        ("target", "file"),
        [
            ("json", "array.json"),
            ("json", "lines.jsonl"),
            ("wide", "named.csv"),
            ("wide", "european.csv"),
            ("wide", "jester.csv"),
            ("wide", "tabs.tsv"),
            ("netflix", "two"),
            ("columnar", "unsigned.parquet"),
            ("columnar", "views.arrow"),
        ],
    )
    def test_a_table_that_is_read_otherwise_is_found(self, monkeypatch, target, file, fault):
        """A rating that slips to the next row, one that is lost, and one of another user."""
        data = (CORPUS / target / file).read_bytes()
        targets.TARGETS[target](data)
        good_ratings, good_reading = targets.read_ratings, targets.understand

        def understand(path, **given):
            reading = good_reading(path, **given)
            return dataclasses.replace(reading, ratings=fault(reading.ratings))

        monkeypatch.setattr(targets, "read_ratings", lambda *a, **b: fault(good_ratings(*a, **b)))
        monkeypatch.setattr(targets, "understand", understand)
        with pytest.raises(targets.FoundError, match=r"nobody says so|is lost"):
            targets.TARGETS[target](data)

    @pytest.mark.parametrize(
        "data",
        [
            b'{"user": "ann", "item": 1, "rating": 3, "note": "caf\xe9"}\n{"user": "ben", '
            b'"item": 1, "rating": 4}',
            b'{"user": true, "item": 1, "rating": 3}\n{"user": false, "item": 1, "rating": 4}',
            b'{"user": " ann", "item": "1\\t", "rating": 3}\n{"user": "ann", "item": 2, '
            b'"rating": 4}',
            b'\xef\xbb\xbf[{"user": 1, "item": 1, "rating": 3}, {"user": 2, "item": 1, '
            b'"rating": 0.1}]',
            '[{"user": "é", "item": 1, "rating": 3}, {"user": 2, "item": 1, "rating": 4}]'.encode(
                "utf-16"
            ),
            gzip.compress(
                b'{"user": 1, "item": 1, "rating": 3}\n{"user": 2, "item": 1, "rating": 4}'
            ),
            b'{"user": NaN, "item": 1, "rating": "3,5"}\n{"user": 2, "item": 1, "rating": 4}',
        ],
        ids=["no-utf-8", "truth", "spaces", "mark", "utf-16", "gzip", "nan"],
    )
    @pytest.mark.filterwarnings(
        "ignore:.*among the users|.*users may be|.*with a blank:UserWarning"
    )
    def test_objects_that_are_unusual_are_no_findings(self, data, tmp_path):
        targets.objects(data)
        (tmp_path / "r").write_bytes(data)
        named = {name: name for name in ("user", "item", "rating")}
        read = targets.read_ratings(tmp_path / "r", format="json", times=False, **named)
        assert read.n_ratings == 2

    @pytest.mark.parametrize("target", ["gzip", "packed"])
    def test_packed_data_whose_end_is_not_checked_are_found(self, monkeypatch, target):
        """A reader that takes the end of a cut file for the end of its table."""
        table = (CORPUS / "packed" / "plain.csv").read_bytes()
        for rest in range(4):  # each of the four ways
            targets.TARGETS[target](table[:-1] + b"\n" * rest)
        good = targets.understand

        def lenient(path, **given):
            if path.name != "cut":
                return good(path, **given)
            reading = good(path.with_name("whole"), **given)
            return dataclasses.replace(reading, ratings=lost(reading.ratings))

        monkeypatch.setattr(targets, "understand", lenient)
        with pytest.raises(targets.FoundError, match="cut are read as if"):
            targets.TARGETS[target](table)

    def test_a_packed_table_that_is_cut_is_found(self, monkeypatch):
        table = (CORPUS / "packed" / "plain.csv").read_bytes()
        for rest in range(4):  # each of the four ways
            targets.packed(table[:-1] + b"\n" * rest)
        good = targets.understand

        def cut(path, **given):
            if path.name == "whole":
                plain = path.with_name("cut")
                plain.write_bytes(table[: table.rindex(b"ann")])
                return good(plain, **given)
            return good(path, **given)

        monkeypatch.setattr(targets, "understand", cut)
        with pytest.raises(targets.FoundError, match="packed"):
            targets.packed(table)

    def found(self, target, change, data, tries):
        """Whether a target raises for one of many changes; each begins anew."""
        for seed in range(tries):
            try:
                targets.TARGETS[target](change(data, random.Random(seed)))
            except targets.FoundError as error:
                return str(error)
        return ""

    def test_a_card_that_is_not_compared_is_found(self, monkeypatch):
        card = (CORPUS / "release" / "card").read_bytes()
        assert not self.found("release", mutating.change_card, card, 10)
        monkeypatch.setattr(release_folder, "wrong_card", lambda *_: iter(()))
        assert "the card" in self.found("release", mutating.change_card, card, 10)

    def test_a_list_of_classes_that_is_not_compared_is_found(self, monkeypatch):
        """The corpus holds one without a card, so that digests are made to fit to it."""
        release = (CORPUS / "release" / "classes").read_bytes()
        digest, _, _ = release.partition(b"=== classes.csv\n")[2].partition(b",")
        broken = release.replace(digest[-32:], b"0" * 32)
        targets.release(broken)
        monkeypatch.setattr(release_folder, "wrong_classes", lambda *_: iter(()))
        with pytest.raises(targets.FoundError, match="classes"):
            targets.release(broken)

    def test_levels_that_are_not_kept_are_found(self, monkeypatch):
        """A k that changes in all lines of a record, while verify asks for the lowest alone."""
        levels = (CORPUS / "release" / "levels").read_bytes()
        assert not self.found("release", mutating.change_record, levels, 30)
        good = Classes.add
        monkeypatch.setattr(
            Classes, "add", lambda self, *given, promised=None: good(self, *given[:4])
        )
        assert "people share what" in self.found("release", mutating.change_record, levels, 30)

    @pytest.mark.parametrize("change", PARSED_ALIKE)
    def test_each_text_that_is_parsed_alike_is_found(self, monkeypatch, tmp_path, change):
        targets.unpack((CORPUS / "release" / "simple-users").read_bytes(), tmp_path)
        forging.complete(tmp_path, "ratings.csv")
        forging.forge_text(tmp_path, forging.OF_TEXT[change])
        targets.compare_verdicts(tmp_path)
        leave_text_alone(monkeypatch)
        with pytest.raises(targets.FoundError, match=r"notation|header"):
            targets.compare_verdicts(tmp_path)

    @pytest.mark.parametrize("name", ["simple-users", "drawn", "levels"])
    def test_settings_that_are_not_checked_are_found(self, monkeypatch, name):
        release = (CORPUS / "release" / name).read_bytes()
        assert not self.found("release", mutating.change_settings, release, 30)
        monkeypatch.setattr(manifest_reader, "problems_of_settings", lambda *_: iter(()))
        assert "settings" in self.found("release", mutating.change_settings, release, 30)

    @pytest.mark.parametrize("name", ["simple-users", "k-corating", "sparse", "drawn", "hidden"])
    def test_a_note_in_settings_that_is_not_checked_is_found(self, monkeypatch, name):
        release = (CORPUS / "release" / name).read_bytes()
        broken = release.replace(b'    "method"', b'    "note": "alice",\n    "method"')
        targets.release(broken)
        monkeypatch.setattr(manifest_reader, "problems_of_settings", lambda *_: iter(()))
        with pytest.raises(targets.FoundError, match="the settings are no method's"):
            targets.release(broken)

    def test_keys_that_are_not_compared_are_found(self, monkeypatch):
        release = (CORPUS / "release" / "simple-users").read_bytes()
        broken = release.replace(b'"low": 1.0', b'"note": 1.0,\n    "low": 1.0')
        targets.release(broken)
        monkeypatch.setattr(manifest_reader, "_key_problems", lambda *_: iter(()))
        with pytest.raises(targets.FoundError, match="other keys"):
            targets.release(broken)

    @pytest.mark.parametrize("target", ["stored-ratings", "stored-model"])
    def test_bytes_that_are_not_accounted_for_are_found(self, monkeypatch, target):
        (file,) = (CORPUS / target).glob("*.parquet")
        data = file.read_bytes()
        assert not self.found(target, mutating.change_parts, data, 10)

        class Blind:
            def __init__(self, *_):
                self.check_group = self.check_end = lambda *_: None

        monkeypatch.setattr(published_file, "_Account", Blind)
        assert self.found(target, mutating.change_parts, data, 10)
        gap = data[:-8][: -int.from_bytes(data[-8:-4], "little")]
        with pytest.raises(targets.FoundError, match="bytes before the footer"):
            targets.TARGETS[target](gap + b"alice" + data[len(gap) :])

    def test_epsilon_that_is_not_added_up_is_found(self, monkeypatch):
        """And numbers of a ledger that are not compared."""
        drawn = (CORPUS / "release" / "drawn").read_bytes()
        broken = drawn.replace(b'"epsilon": 20.0', b'"epsilon": 2.0')
        targets.release(broken)
        monkeypatch.setattr(synthetic_release, "wrong_epsilon", lambda *_: iter(()))
        with pytest.raises(targets.FoundError, match="epsilon is lower"):
            targets.release(broken)


PAGES = {
    "an index": {"write_page_index": True},
    "a schema of its own": {"store_schema": True},
    "checksums": {"write_page_checksum": True},
    "no compression": {"compression": "none"},
    "pages of another version": {"data_page_version": "2.0"},
}


@pytest.mark.parametrize("how", PAGES)
def test_the_second_checker_knows_how_pages_are_written(how, tmp_path):
    table = pa.table({"item_id": list(range(50)), "rating": [1.5, 2.0] * 25})
    usual = {"compression": "zstd", "store_schema": False}
    pq.write_table(table, tmp_path / "usual", **usual)
    assert list(problems_of_parquet(tmp_path / "usual")) == []
    pq.write_table(table, tmp_path / "other", **usual | PAGES[how])
    assert list(problems_of_parquet(tmp_path / "other"))


def test_the_second_checker_knows_what_a_dictionary_holds(tmp_path):
    """An entry that no row has may be anything, such as a user's name."""
    shutil.copytree(targets.TESTS / "format_3" / "predictive-padded", tmp_path / "release")
    file = tmp_path / "release" / "ratings.parquet"
    assert list(independent.problems(file.parent)) == []
    whole = pq.ParquetFile(file).read()
    own = whole["user_id"].combine_chunks().dictionary_encode()
    entries = pa.concat_arrays([own.dictionary, pa.array(["alice smith is p0000-0"])])
    spoilt = pa.DictionaryArray.from_arrays(own.indices, entries)
    pq.write_table(
        whole.set_column(0, "user_id", spoilt),
        file,
        compression="zstd",
        store_schema=False,
        use_dictionary=[name for name in whole.column_names if name != "item_id"],
        column_encoding={"item_id": "DELTA_BINARY_PACKED"},
    )
    forging.sign(file.parent)
    assert pq.ParquetFile(file).read().equals(whole)
    assert "a dictionary of other values than the rows" in list(independent.problems(file.parent))
    assert not verify(file.parent).holds


@given(st.binary(max_size=300), st.sampled_from(sorted(CORPUS.rglob("*"))), st.integers(0, 999))
def test_whatever_is_changed_stays_bytes(data, file, seed):
    for some in (data, file.read_bytes() if file.is_file() else b""):
        for change in (
            mutating.change_release,
            mutating.change_notation,
            mutating.change_settings,
            mutating.change_parts,
        ):
            assert isinstance(change(some, random.Random(seed)), bytes)
