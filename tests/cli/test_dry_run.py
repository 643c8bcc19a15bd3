"""anonymize --dry-run, as its user meets it."""

import json

import pytest
from pyarrow import csv, parquet

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=60, n_items=30, n_ratings=600, seed=2), "ratings.csv")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(["anonymize", "ratings.csv", "-o", "out", *map(str, arguments)])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


@pytest.mark.parametrize(
    "options",
    [
        ("--k", 4),
        ("--k", 4, "--method", "predictive"),
        ("--k", 4, "--method", "predictive", "--homogenize", "simple"),
        ("--k", 4, "--method", "k-corating"),
        ("--epsilon", 20, "--scale", "1:5:1"),
    ],
)
def test_it_says_what_would_be_done_and_exits_with_0(run, tmp_path, options):
    code, out, err = run(*options, "--dry-run")
    assert (code, err) == (0, "")
    for words in ("Would publish", "Expected: about", "Memory: about", "Estimated: "):
        assert words in out
    assert out.endswith("Nothing was written: no out, and no out.private.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]


def test_it_touches_nothing_that_a_killed_run_left(run, tmp_path):
    left = tmp_path / ".out.partial-0123abcd"
    left.mkdir()
    (left / "lock").write_text("locked")
    assert run("--k", 4, "--dry-run")[0] == 0
    assert (left / "lock").exists()
    assert run("--k", 4)[0] == 0
    assert not left.exists()


def test_json_keeps_its_contract(run, tmp_path):
    code, out, err = run("--k", 4, "--dry-run", "--json", "-")
    assert (code, err) == (0, "")
    plain = json.loads(out)
    assert set(plain) == {
        *(
            "schema_version",
            "dry_run",
            "method",
            "k",
            "groups",
            "users",
            "expected",
            "memory",
            "estimated_from",
        ),
        *("rejection", "leftovers", "output", "private", "data", "earlier", "coverage"),
        "earlier_searched_in",
    }
    assert (plain["groups"], plain["users"], plain["dry_run"]) == (15, 60, True)


def test_it_refuses_as_the_run_does(run, tmp_path):
    (tmp_path / "out").mkdir()
    for options in (("--k", 4), ("--k", 4, "--dry-run")):
        code, out, err = run(*options)
        assert (code, out) == (2, "")
        assert "out exists" in err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_dates_that_are_left_out_are_named_once(run, tmp_path, suffix):
    table = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=2).to_arrow()
    table = table.select(["user_id", "item_id", "rating"])
    days = [f"2024-01-{1 + row % 28:02}" for row in range(len(table))]
    table = table.append_column("when", [days]).append_column("city", [["Bern"] * len(table)])
    write = csv.write_csv if suffix == ".csv" else parquet.write_table
    write(table, tmp_path / "ratings.csv")
    code, out, _ = run("--k", 4, "--dry-run", "--time", "when", "--format", suffix[1:])
    assert (code, out.count("'when'")) == (0, 1)
    assert "not read: 'city'" in out
    assert "no dates: 'when'" in out


def test_dates_of_files_without_names_are_named(run, tmp_path):
    table = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=2)
    rows = zip(table.user_positions(), table.indices, table.values, strict=True)
    text = "".join(f"{user}\t{item}\t{value:g}\t881250949\n" for user, item, value in rows)
    (tmp_path / "ratings.csv").write_text(text)
    code, out, _ = run("--k", 4, "--dry-run", "--format", "movielens-tab")
    assert (code, out.count("no dates: 'time (column 4)'")) == (0, 1)
