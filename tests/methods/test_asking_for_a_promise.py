"""anonymize asks for one of two promises: k, or epsilon."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import generate
from recveil.methods import anonymize
from recveil.methods.synthetic.options import parse_item_catalog
from recveil.ratings import RatingScale

pytestmark = pytest.mark.usefixtures("synthetic")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    generate("ratings.csv", users=60, items=30, ratings=900)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(["anonymize", "ratings.csv", "-o", "out", *arguments])
        result = capsys.readouterr()
        return stop.value.code, " ".join((result.out + result.err).split())

    return run


def test_neither_promise(run):
    code, result = run()
    assert code == 2
    assert "k (--k K): at least k users share each published row" in result
    assert "epsilon (--epsilon E): no user's row is published" in result


def test_both_promises(run):
    code, result = run("--k", "5", "--epsilon", "3")
    assert code == 2
    assert "k (--k) and" in result
    assert "k (--k K): at least" in result


def test_epsilon_is_enough(run, tmp_path):
    code, result = run("--epsilon", "20", "--scale", "1:5:1", "--people", "70")
    assert code == 0, result
    assert "epsilon 20 and delta 1e-06, as computed from its ledger" in result
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    assert manifest["claim"]["epsilon"] == 20.0
    assert manifest["counts"]["users"] == 70
    assert json.loads((tmp_path / "out.private" / "private.json").read_text())["seed"] is None
    code, result = run("--k", "5", "--force")  # the other promise, at the same place
    assert code == 0, result


def test_the_noise_is_secret(run):
    code, result = run("--epsilon", "20", "--scale", "1:5:1", "--seed", "1")
    assert code == 2
    assert "seed (--seed): with epsilon (--epsilon)" in result
    code, result = run("--epsilon", "none", "--seed", "1")  # nothing is promised of it
    assert code == 0, result


def test_a_scale_read_off_the_ratings_is_not_paid_for(run):
    code, result = run("--epsilon", "20")
    assert code == 2
    assert "name the scale, such as --scale 1:5:1" in result


def test_a_model_to_draw_from(run, tmp_path):
    code, result = run("--epsilon", "20", "--scale", "1:5:1", "--layout", "model")
    assert code == 0, result
    assert (tmp_path / "out" / "model.parquet").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "0"), "epsilon (--epsilon) is '0'; expected a number above 0"),
        (("--epsilon", "nan"), "expected a number above 0"),
        (("--epsilon", "much"), "expected a number above 0"),
        (("--epsilon", "3", "--delta", "1"), "delta (--delta) is 1.0"),
        (("--epsilon", "none", "--delta", "1e-6"), "epsilon is none, so there is no guarantee"),
        (("--epsilon", "3", "--n-users", "0"), "n_users (--n-users) is 0"),
        (
            ("--epsilon", "3", "--ratings", "halves"),
            "rating_grid (--ratings) is 'halves'; expected one of",
        ),
        (("--k", "5", "--n-users", "9"), "n_users (--n-users): only for the method synthetic"),
        (("--epsilon", "3", "--fill", "random"), "only for the method k-corating"),
        (("--epsilon", "3", "--hide-items"), "hide_items (--hide-items): not with the method"),
        (("--epsilon", "3", "--method", "predictive"), "predictive needs k (--k)"),
        (("--k", "3", "--method", "synthetic"), "synthetic needs epsilon (--epsilon)"),
        (("--method", "k-corating"), "k-corating needs k (--k)"),
        (("--method", "magic", "--k", "3"), "method 'magic': expected one of"),
        (("--epsilon", "3", "--item-catalog", "nowhere"), "'nowhere' does not exist"),
        (("--epsilon", "3", "--layout", "groups"), "who have no groups"),
    ],
)
def test_what_makes_no_sense_is_refused(run, tmp_path, options, words):
    scale = () if "--k" in options else ("--scale", "1:5:1")
    code, result = run(*options, *scale)
    assert code == 2
    assert words in result
    assert not (tmp_path / "out").exists()


def test_the_library_asks_in_the_same_way(tmp_path):
    generate(tmp_path / "r.csv", users=40, items=20, ratings=400)
    with raises("option.required"):
        anonymize(tmp_path / "r.csv", tmp_path / "out")
    made = anonymize(
        tmp_path / "r.csv", tmp_path / "out", epsilon=5.0, scale=RatingScale(1, 5, 1), n_users=9
    )
    assert (made.verification.epsilon, made.verification.users) == (5.0, 9)


class TestCatalogue:
    def test_a_file_of_ids(self, tmp_path):
        (tmp_path / "items.txt").write_text("9\n7\n11\n")
        assert parse_item_catalog(tmp_path / "items.txt").tolist() == [7, 9, 11]
        assert parse_item_catalog(["9", "11", "a"]).tolist() == ["11", "9", "a"]
        assert parse_item_catalog(np.array([3, 2])).tolist() == [2, 3]

    @pytest.mark.parametrize("names", [["item_id"], ["user_id", "item_id", "seen"]], ids=len)
    def test_a_table_gives_the_items_of_its_column(self, tmp_path, names):
        columns = {"user_id": ["a", "b", "c"], "item_id": [9, 7, 9], "seen": [1, 2, 3]}
        table = pa.table({name: columns[name] for name in names})
        table.to_pandas().to_csv(tmp_path / "items.csv", index=False)
        write_table(table, tmp_path / "items.parquet")
        (tmp_path / "items.jsonl").write_text('{"item_id": 9}\n{"item_id": 7}\n')
        files = [tmp_path / f"items.{kind}" for kind in ("csv", "parquet", "jsonl")]
        frames = [table.to_pandas(), pl.from_arrow(table), pl.from_arrow(table).lazy(), table]
        for given in (*files, *frames, pd.Series([9, 7]), pa.array([9, 7])):
            assert parse_item_catalog(given).tolist() == [7, 9]

    def test_a_column_of_items_is_found_by_its_name(self):
        assert parse_item_catalog(pd.DataFrame({"anything": ["b", "a"]})).tolist() == ["a", "b"]
        with raises("column.ambiguous", "'item_id', 'movie_id'"):
            parse_item_catalog(pd.DataFrame({"item_id": [7], "movie_id": [8]}))
        with raises("column.missing", "'a', 'b'"):
            parse_item_catalog(pa.table({"a": [7], "b": [8]}))

    @pytest.mark.parametrize(
        ("text", "code", "name"),
        [
            ("", "input.empty", "items.txt"),
            ("7\n\n9\n", "input.line", "items.txt"),
            ("7\n9\n7\n", "id.duplicate", "'7'"),
            ("code\n7\n", "input.header", "'code'"),
            ("item_id,movie_id\n7,8\n", "column.ambiguous", "'item_id', 'movie_id'"),
            ("item_id,title\n,Up\n", "input.line", "items.txt"),
        ],
    )
    def test_what_is_no_list_is_refused(self, tmp_path, text, code, name):
        (tmp_path / "items.txt").write_text(text)
        with raises(code, name):
            parse_item_catalog(tmp_path / "items.txt")
