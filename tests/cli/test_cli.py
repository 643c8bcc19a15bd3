"""The command line as its user meets it: arguments in, exit code and two streams out."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

import recveil
from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from shared.cli_cli import run  # noqa: F401 (fixtures)


@pytest.fixture
def source(tmp_path) -> Path:
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=2)
    write_ratings(ratings, tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


def test_from_generate_to_verify(run, tmp_path):
    code, out, _ = run("generate", "made.parquet", "--users", 50, "--items", 40, "--ratings", 500)
    assert code == 0
    assert "500 generated ratings of 40 items by 50 users" in out
    code, out, _ = run("anonymize", "made.parquet", "-o", "out", "--k", 5, "--method=predictive")
    assert code == 0
    assert "scale 1:5:1 (inferred" in out
    assert "shared by at least 5 users" in out
    code, out, _ = run("verify", "out")
    assert code == 0
    assert "holds" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "made.parquet",
        "out",
        "out.private",
    ]


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
@pytest.mark.parametrize("grouping", ["k-gather", "bisecting", "predictive", "bounded-t-means"])
def test_every_method_verifies(run, source, homogenize, grouping):
    options = ("--homogenize", homogenize, "--grouping", grouping, "--json", "-")
    code, out, err = run(
        "anonymize", source, "-o", "out", "--k", 4, "--method=predictive", *options
    )
    assert (code, err.startswith("Expected: about "), err.count("\n")) == (0, True, 1)
    result = json.loads(out)
    assert result["verification"]["holds"]
    assert result["verification"]["k_achieved"] >= 4
    assert result["data"]["users"] == 60


def test_verify_json_keeps_its_contract(run, source):
    run("anonymize", source, "-o", "out", "--k", 4, "--method=predictive", "--file-format", "csv")
    code, out, err = run("verify", "out", "--json", "-")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["holds"] is True
    assert result["claim"] == "identical-rows"
    assert (result["k_required"], result["users"], result["violations"]) == (4, 60, [])
    assert isinstance(result["k_achieved"], int)
    assert isinstance(result["classes"], int)


def test_a_changed_number_exits_with_1_and_is_named(run, source, tmp_path):
    options = ("--file-format", "csv", "--layout", "users")
    run("anonymize", source, "-o", "out", "--k", 4, "--method=predictive", *options)
    table = pa_csv.read_csv(tmp_path / "out" / "ratings.csv").to_pylist()
    lines = (tmp_path / "out" / "ratings.csv").read_text().splitlines()
    changed = lines[7].rsplit(",", 1)[0] + (",1.7" if not lines[7].endswith("1.7") else ",1.8")
    (tmp_path / "out" / "ratings.csv").write_text("\n".join([*lines[:7], changed, *lines[8:], ""]))
    code, out, _ = run("verify", "out")
    assert code == 1
    assert "does not hold" in out
    assert table[6]["user_id"] in out
    code, out, _ = run("verify", "out", "--json", "-")
    assert code == 1
    assert table[6]["user_id"] in [v["user_id"] for v in json.loads(out)["violations"]]


def test_a_wrong_checksum_exits_with_1(run, source, tmp_path):
    run("anonymize", source, "-o", "out", "--k", 4, "--method=predictive")
    with (tmp_path / "out" / "README.md").open("a") as card:
        card.write("!")
    code, out, _ = run("verify", "out")
    assert code == 1
    assert "README.md" in out


def test_a_foreign_file(run, tmp_path):
    (tmp_path / "some.csv").write_text("user,item,rating\na,1,5\nb,1,5\nc,1,4\n")
    assert run("verify", "some.csv", "--k", 1)[0] == 0
    code, out, _ = run("verify", "some.csv", "--k", 2)
    assert code == 1
    assert "some.csv line 4" in out
    code, _, err = run("verify", "some.csv")
    assert code == 2
    assert "(--k)" in err


def test_only_the_first_ten_violations_are_shown_and_json_has_all(run, tmp_path):
    rows = "".join(f"user{number},{number},3\n" for number in range(25))
    (tmp_path / "some.csv").write_text("user,item,rating\n" + rows)
    _, out, _ = run("verify", "some.csv", "--k", 2)
    assert "25 violations" in out
    assert "user9" in out
    assert "user10" not in out
    _, out, _ = run("verify", "some.csv", "--k", 2, "--json", "-")
    assert len(json.loads(out)["violations"]) == 25


def test_duplicates_are_an_error_first(run, tmp_path):
    (tmp_path / "some.txt").write_text("1 7 4\n2 7 4\n1 7 5\n2 8 1\n")
    command = ("anonymize", "some.txt", "-o", "out", "--k", 2, "--method=predictive")
    command += ("--user", 1, "--item", 2)
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert "1 (user, item) pair occurs more than once" in err
    assert "--duplicates last" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["some.txt"]
    command = (*command, "--duplicates", "last", "--scale", "1:5:1")
    code, out, _ = run(*command)
    assert code == 0
    assert "1 row was dropped" in " ".join(out.split())


BAD_INPUT = {
    "empty.csv": ("", "empty"),
    "header-only.csv": ("user,item,rating\n", "has no rows"),
    "nan.csv": ("user,item,rating\n1,1,nan\n2,1,3\n", "line 2: rating nan is not a finite number"),
    "inf.csv": ("user,item,rating\n1,1,3\n2,1,inf\n", "line 3: rating inf is not a finite number"),
    "scale.csv": ("user,item,rating\n1,1,3\n2,1,7.5\n", "line 3: rating 7.5 outside the scale"),
    "columns.csv": ("user,item,rating\n1,1,3\n2,1\n", "line 3: expected 3 columns, got 2"),
    "bytes.csv": (b"user,item,rating\n1,1,3\n2,\xff\xfe,3\n", "line 3"),
    "word.csv": ("user,item,rating\n1,1,good\n2,1,3\n", "line 2: rating 'good' is not a number"),
    "names.csv": ("who,what,much\n1,1,3\n", "no user column"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_exits_with_2_and_writes_nothing(run, tmp_path, name):
    content, problem = BAD_INPUT[name]
    content = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    before = sorted(tmp_path.iterdir())
    for file in (name, f"{name}.gz"):
        for command in (("anonymize", file, "-o", "out", "--k", 2), ("convert", file, "out.csv")):
            code, out, err = run(*command, "--scale", "1:5:1")
            assert (code, out) == (2, ""), command
            assert err.startswith("error: ")
            assert problem in err
            assert "Traceback" not in err
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize(
    "arguments",
    [
        ("anonymize", "nowhere.csv", "-o", "out", "--k", 2),
        ("anonymize", "ratings.csv", "-o", "out", "--k", 1),
        ("anonymize", "ratings.csv", "-o", "out", "--k", 61),
        ("anonymize", "ratings.csv", "-o", "out", "--k", "many"),
        ("anonymize", "ratings.csv", "-o", "no/out", "--k", 2),
        ("anonymize", "ratings.csv", "-o", "ratings.csv", "--k", 2, "--force"),
        ("anonymize", "ratings.csv", "-o", ".", "--k", 2, "--force"),
        (
            *("anonymize", "ratings.csv", "-o", "out", "--k", 2, "--method=predictive"),
            *("--round", "half"),
        ),
        ("anonymize", "ratings.csv", "-o", "out", "--k", 2, "--scale", "1-5"),
        ("anonymize", "ratings.csv", "-o", "out", "--k", 2, "--user", "who"),
        ("anonymize", "ratings.csv", "-o", "out"),
        ("verify", "nowhere", "--k", 2),
        ("verify", ".", "--k", 2),
        ("convert", "ratings.csv", "out.xlsx"),
        ("convert", "ratings.csv", "no/out.csv"),
        ("generate", "out.csv", "--users", 0),
        ("generate", "out.csv", "--ratings", 5),
        ("generate", "out.xlsx"),
        ("demo", "--k", 0),
        ("frobnicate",),
    ],
)
def test_wrong_usage_exits_with_2_and_changes_nothing(run, source, arguments):
    before = {path: path.read_bytes() for path in source.parent.iterdir()}
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err
    assert {path: path.read_bytes() for path in source.parent.iterdir()} == before


def test_convert_round_trip(run, source):
    for target in ("a.parquet", "b.inter", "c.csv", "d.inter.gz"):
        code, out, _ = run("convert", source, target)
        assert code == 0
        assert f"Wrote {target}" in out
        source = target
    assert run("convert", "d.inter.gz", "e.csv")[0] == 0
    assert Path("e.csv").read_bytes() == Path("c.csv").read_bytes()


def test_convert_and_generate_replace_nothing_without_force(run, source):
    before = source.read_bytes()
    for command in (("convert", source, source), ("generate", source)):
        code, _, err = run(*command)
        assert code == 2
        assert "--force" in err
    assert run("convert", source, source, "--force")[0] == 2
    assert source.read_bytes() == before
    assert run("generate", source, "--force")[0] == 0


def test_a_release_with_one_row_a_group_is_not_taken_for_plain_ratings(run, source):
    run("anonymize", source, "-o", "out", "--k", 4, "--method=predictive")
    for command in (("convert", "x.csv"), ("anonymize", "-o", "again", "--k", "2")):
        code, _, err = run(command[0], "out/ratings.parquet", *command[1:])
        assert code == 2
        assert "group_size" in err


def test_convert_does_not_call_the_labels_of_a_release_ratings(run, source):
    run("anonymize", source, "-o", "out", "--k", 4, "--method=predictive")
    _, out, _ = run("convert", "out", "rows.csv")
    assert re.search(r"Read [\d,]+ values of \d+ items in the rows of \d+ users; scale 1:5\.", out)
    _, out, _ = run("convert", "rows.csv", "again.csv")
    assert re.search(r"Read [\d,]+ ratings of \d+ items by \d+ users; scale .* \(inferred", out)


def test_simple_states_what_it_publishes_as_it_is(run, source):
    options = ("--k", 4, "--method=predictive", "--homogenize", "simple", "--force", "--seed", 1)
    code, out, _ = run("anonymize", source, "-o", "out", *options)
    assert code == 0
    _, as_json, _ = run("anonymize", source, "-o", "out", *options, "--json", "-")
    stated = json.loads(as_json)["lone_ratings"]
    kept = json.loads(Path("out.private/private.json").read_text())["lone_ratings"]
    assert list(stated.values()) == list(kept.values())
    # Lone ratings are some of those that stand there exactly; both are reported.
    assert 0 < stated["rating_share"] < stated["exact_share"] <= 1
    exact, lone, sure = (
        f"{stated[name]:.1%}" for name in ("exact_share", "rating_share", "value_share")
    )
    assert f"{exact} of the ratings exactly. {lone} have no other" in out
    assert f"is right in {sure} of cases" in out


def test_padded_states_what_its_rows_do_not_hide(run, source):
    _, out, _ = run("anonymize", source, "-o", "out", "--k", 4, "--method=predictive")
    assert "Padded rows do not hide who rated what." in out
    assert "make the same claim and publish no rating" in out
    assert "avoids" not in out


def test_names_with_brackets_are_printed_whole(run, tmp_path):
    (tmp_path / "b[x].csv").write_text("user,item,rating,[note]\na,1,5,x\n")
    _, out, _ = run("verify", "b[x].csv", "--k", 2)
    assert "b[x].csv line 2" in out
    assert "[note]" in out


def test_a_fault_of_ours_ends_with_2_and_without_a_traceback(run, source, monkeypatch):
    monkeypatch.setattr("recveil.verification.verify", lambda *_, **__: 1 / 0)
    code, _, err = run("verify", source, "--k", 2)
    assert code == 2
    assert "ZeroDivisionError" in err
    assert "report it" in err
    assert "Traceback" not in err


def test_a_json_file_that_cannot_be_written_is_refused_before_the_work(run, source, tmp_path):
    code, _, err = run(
        "anonymize", source, "-o", "out", "--k", 4, "--method=predictive", "--json", "no/x.json"
    )
    assert code == 2
    assert "cannot be written" in err
    assert not (tmp_path / "out").exists()


def test_json_into_a_file(run, source):
    code, out, _ = run("convert", source, "out.parquet", "--json", "result.json")
    assert code == 0
    assert "Read 600 ratings" in out
    assert json.loads(Path("result.json").read_text())["data"]["ratings"] == 600


def test_version_and_bare_command(run):
    assert run("--version")[:2] == (0, f"{recveil.__version__}\n")
    assert "anonymize" in "".join(run()[1:])


def test_the_installed_command_runs():
    command = shutil.which("recveil", path=str(Path(sys.executable).parent))
    assert command is not None
    finished = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
    assert "Exit codes" in finished.stdout


def test_a_scale_that_is_refused_is_refused_before_anything_is_expected(tmp_path, monkeypatch):
    """Who must name the scale first need not hear how long it would take."""
    monkeypatch.chdir(tmp_path)
    rows = [f"u{user},i{item},{1 + (user + item) % 4}" for user in range(9) for item in range(9)]
    Path("r.csv").write_text("\n".join(["user,item,rating", *rows, "u9,i0,50"]))
    stated = []
    with raises("scale.inferred"):
        anonymize("r.csv", "out", k=3, method="predictive", seed=1, on_estimate=stated.append)
    assert not stated
