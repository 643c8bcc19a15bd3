"""A release in many parts is a release to all that checks, reads or describes one."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release_in_parts import InParts

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Synthesizer
from recveil.methods.earlier_releases import find_earlier
from recveil.publish import Release, describe
from recveil.publish.folder import write_release
from recveil.publish.staging import foreign_to_a_release
from recveil.release.manifest import part_name
from recveil.release.reader import read_private_folder
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

RATINGS = make_ratings(90, 40, 900, seed=3)


@pytest.fixture(scope="module", params=["simple", "padded", "drawn"])
def release(request):
    if request.param == "drawn":
        return Synthesizer(None, item_catalog="as-rated", seed=1).anonymize(RATINGS)
    return PredictiveAnonymizer(4, request.param, seed=7).anonymize(RATINGS)


@pytest.fixture
def out(release, tmp_path) -> Path:
    assert write_release(release, tmp_path / "out", by=InParts()).holds
    return tmp_path / "out"


def test_it_holds_what_one_file_holds(release, out, tmp_path):
    release.write(tmp_path / "whole")
    parts, whole = Release.read(out), Release.read(tmp_path / "whole")
    assert parts.to_arrow().equals(whole.to_arrow())
    in_parts, in_one = (verify(each).to_dict() for each in (out, tmp_path / "whole"))
    limits = [limit.code for limit in verify(out).not_covered]
    assert limits == [*(limit.code for limit in verify(tmp_path / "whole").not_covered), "parts"]
    for name in ("users", "records", "classes", "k_achieved", "singletons"):
        assert in_parts[name] == in_one[name]


def test_the_private_twin_is_read_from_all_of_its_parts(release, out):
    assert verify(out, private=out.with_name("out.private")).holds
    assert [(e.folder.name, e.n_users) for e in find_earlier(RATINGS.users, out)] == [("out", 90)]
    if release.published.claim.about.contains_users:
        assert len(read_private_folder(out).ids) == 90
    (out.with_name("out.private") / "assignment-00001.parquet").unlink()
    with raises("private.not-found"):
        verify(out, private=out.with_name("out.private"))


def test_nothing_in_it_is_foreign(out):
    assert foreign_to_a_release(out) == []
    assert foreign_to_a_release(out.with_name("out.private")) == []


def test_the_card_reads_all_parts_with_pandas(out, monkeypatch):
    monkeypatch.chdir(out)
    card = (out / "README.md").read_text()
    assert "`ratings-*.parquet`" in card
    lines = re.search(r"((?:    .*\n)*    import pandas as pd\n(?:    .*\n)+)", card).group()
    found = {}
    exec("\n".join(line[4:] for line in lines.splitlines()), found)
    rows = next(each for each in found.values() if isinstance(each, pd.DataFrame))
    assert len(rows) == Release.read(out).to_arrow().num_rows


def test_it_is_described_as_a_set_of_files(out, tmp_path):
    describe(out, tmp_path / "croissant.json")
    result = json.loads((tmp_path / "croissant.json").read_text())
    (files,) = [each for each in result["distribution"] if each["@type"] == "cr:FileSet"]
    assert files["includes"] == "ratings-*.parquet"
    assert len(files["containedIn"]) == 3
    sources = {field["source"]["fileSet"]["@id"] for field in result["recordSet"][0]["field"]}
    assert sources == {files["@id"]}


class TestWhatVerifyFinds:
    def found(self, out) -> str:
        verdict = verify(out)
        assert not verdict.holds
        return " ".join(f"{each.where}: {each.problem}" for each in verdict.violations)

    def test_parts_that_changed_places(self, out):
        first, second = out / part_name(0), out / part_name(1)
        shutil.copy(first, out / "kept")
        shutil.copy(second, first)
        (out / "kept").rename(second)
        assert "not the next pseudonym" in self.found(out)

    def test_a_part_more(self, out):
        shutil.copy(out / part_name(2), out / part_name(3))
        assert "not a part of a release" in self.found(out)

    def test_who_is_who_among_them(self, out):
        shutil.copy(out.with_name("out.private") / part_name(0, "assignment"), out)
        assert "a private file" in self.found(out)

    def test_a_part_that_is_missing(self, out):
        (out / part_name(1)).unlink()
        with raises("release.damaged"):
            verify(out)

    def test_parts_that_are_not_numbered_from_0_on(self, out):
        result = json.loads((out / "release.json").read_text())
        (out / part_name(2)).rename(out / part_name(5))
        result["files"] = {
            part_name(5) if name == part_name(2) else name: entry
            for name, entry in result["files"].items()
        }
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        (out / "release.json").write_text(text)
        assert "files carries 'ratings-00005.parquet', which no release has" in self.found(out)

    def test_where_in_which_part(self, release, out):
        if not release.published.claim.about.contains_users:
            return
        table = pq.read_table(out / part_name(1))
        ratings = table["rating"].to_pylist()
        ratings[3] = 99.0
        pq.write_table(table.set_column(2, "rating", pa.array(ratings)), out / part_name(1))
        assert "ratings-00001.parquet row 4: its rating is outside the scale" in self.found(out)
