import csv
import json
import stat

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3), "ratings.csv")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run


def test_the_table_and_the_warnings(run):
    code, out, err = run("audit", "ratings.csv", "--targets", 40, "--no-curves")
    assert (code, err) == (0, "")
    for name in ("colleague", "public-profile", "paper", "insider", "a blind guess"):
        assert name in out


def test_json_keeps_its_contract(run):
    options = ("--known", 8, "--right", 6, "--date-error", 14, "--targets", "all", "--json", "-")
    code, out, err = run("audit", "ratings.csv", "--no-curves", *options)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert {"users", "items", "ratings", "density"} <= set(result["data"])
    (attack,) = result["attacks"]
    assert (attack["known"], attack["right"], attack["date_error"]) == (8, 6, 14)
    assert attack["targets_requested"] == 120


def test_a_preset_can_be_changed(run):
    options = ("--preset", "paper", "--known", 4, "--rating-error", "any", "--date-error", 3)
    _, out, _ = run("audit", "ratings.csv", "--no-curves", *options, "--json", "-")
    (attack,) = json.loads(out)["attacks"]
    assert (attack["name"], attack["known"], attack["right"]) == ("paper", 4, 4)
    assert (attack["rating_error"], attack["date_error"]) == (None, 3)


@pytest.mark.parametrize(
    "options",
    [
        ("--preset", "spy"),
        ("--targets", "some"),
        ("--targets", 0),
        ("--targets", "nan"),
        ("--targets", 1.5),
        ("--rating-error", "none"),
        ("--known", 0),
        ("--known", 3, "--right", 4),
        ("--aux", "nowhere.csv"),
        ("--html", "no/page.html"),
        ("--no-curves", "--risk", "risk.csv"),
        ("--release", "nowhere"),
    ],
)
def test_wrong_usage_exits_with_2(run, options):
    code, out, err = run("audit", "ratings.csv", *options)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_everybodys_risk_is_the_owners_alone(run, tmp_path):
    assert run("audit", "ratings.csv", "--targets", 20, "--risk", "risk.csv")[0] == 0
    assert stat.S_IMODE((tmp_path / "risk.csv").stat().st_mode) == 0o600
    rows = list(csv.DictReader((tmp_path / "risk.csv").read_text().splitlines()))
    assert len(rows) == 120
    assert all(row["found"] == "" or 0 <= float(row["found"]) <= 1 for row in rows)


@pytest.mark.parametrize("option", ["--html", "--risk", "--json"])
def test_inputs_and_releases_are_not_written_to(run, tmp_path, option):
    run("anonymize", "ratings.csv", "-o", "out", "--k", 4)
    before = (tmp_path / "ratings.csv").read_bytes()
    assert run("audit", "ratings.csv", "--targets", 9, option, "ratings.csv")[0] == 2
    assert (tmp_path / "ratings.csv").read_bytes() == before
    if option != "--json":
        assert run("audit", "ratings.csv", "--release", "out", option, "out/x")[0] == 2
        assert not (tmp_path / "out" / "x").exists()


def test_outside_knowledge(run, tmp_path):
    (tmp_path / "aux.csv").write_text("target,item,rating\nalice,1,5\nalice,2,3\nbob,3,1\n")
    code, out, _ = run("audit", "ratings.csv", "--no-curves", "--aux", "aux.csv")
    assert code == 0
    assert "alice: " in out
    assert "bob: " in out


def test_the_page(run, tmp_path):
    code, out, _ = run("audit", "ratings.csv", "--targets", 20, "--html", "page.html")
    assert code == 0
    assert "Wrote the page to page.html" in out
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_against_a_release(run, tmp_path):
    run("anonymize", "ratings.csv", "-o", "out", "--k", 4)
    options = ("--release", "out", "--targets", 40)
    code, out, err = run("audit", "ratings.csv", *options, "--json", "-")
    assert (code, err) == (0, "")
    release = json.loads(out)["release"]
    assert release["k"] == 4
    for attack in release["attacks"]:
        assert attack["person_found"]["rate"] <= 1 / 4 + 1e-12
    assert (tmp_path / "out.private" / "risk.csv").exists()
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--force")[0] == 0
    code, out, _ = run("audit", "ratings.csv", *options)
    assert code == 0
    assert "person found" in out


def test_selftest(run):
    code, out, _ = run("selftest", "ratings.csv")
    assert code == 0
    assert out.count("holds") == 4
    code, out, _ = run("selftest", "ratings.csv", "--json", "-")
    assert json.loads(out)["holds"] is True
