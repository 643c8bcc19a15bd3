import csv
import json
import re
import stat

import pytest

from shared.cli_audit import NEVER_LIKED, likes, run  # noqa: F401 (fixtures)


def test_everybodys_risk_is_the_owners_alone(run, tmp_path):
    assert run("audit", "ratings.csv", "--targets", 20, "--risk", "risk.csv")[0] == 0
    assert stat.S_IMODE((tmp_path / "risk.csv").stat().st_mode) == 0o600
    rows = list(csv.DictReader((tmp_path / "risk.csv").read_text().splitlines()))
    assert len(rows) == 120
    assert all(row["found"] == "" or 0 <= float(row["found"]) <= 1 for row in rows)


def test_the_page(run, tmp_path):
    code, out, _ = run("audit", "ratings.csv", "--targets", 20, "--html", "page.html")
    assert code == 0
    assert "Wrote the page to page.html" in out
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_against_a_release(run, tmp_path):
    run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")
    options = ("--release", "out", "--targets", 40)
    code, out, err = run("audit", "ratings.csv", *options, "--json", "-")
    assert (code, err) == (0, "")
    release = json.loads(out)["release"]
    assert release["k"] == 4
    for attack in release["attacks"]:
        assert (attack["reidentified"]["rate"] or 0) <= 1 / 4 + 1e-12
    assert not (tmp_path / "out.private" / "risk.csv").exists()
    assert (
        run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive", "--force")[0]
        == 0
    )
    code, out, _ = run("audit", "ratings.csv", *options)
    assert code == 0
    assert "re-identified" in out


def test_likes(run, likes):
    code, out, err = run("audit", likes, "--targets", 30, "--html", "page.html", "--json", "-")
    assert (code, err) == (0, "")
    result = json.loads(out)
    kinds = {attack["name"]: attack["wrong_kind"] for attack in result["attacks"]}
    assert [name for name, kind in kinds.items() if kind == "item"] == ["paper", "film-buff"]
    assert NEVER_LIKED in run("audit", likes, "--targets", 9, "--no-curves")[1]


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        ("out", "."),
        ("out", "./"),
        ("", "out/"),
        ("", "./out//"),
        ("other", "../out/"),
        ("out/empty", ".."),
        ("", "latest"),
    ],
)
def test_a_release_by_any_name(run, tmp_path, monkeypatch, inside, name):
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")[0] == 0
    (tmp_path / inside).mkdir(exist_ok=True)
    (tmp_path / "latest").symlink_to("out")
    monkeypatch.chdir(tmp_path / inside)
    source = tmp_path / "ratings.csv"
    code, out, err = run("audit", source, "--release", name, "--targets", 20, "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["release"]["name"] == "out"


@pytest.mark.parametrize("target", ["risk.csv", "out.private/mine.csv"])
def test_the_risk_goes_where_it_is_asked_for(run, tmp_path, target):
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")[0] == 0
    options = ("--release", "out", "--targets", 20)
    code, out, _ = run("audit", "ratings.csv", *options, "--risk", target)
    assert code == 0
    assert (
        f"Wrote the risk of each user in the raw table, which is private, to {target}."
        in " ".join(out.split())
    )
    assert stat.S_IMODE((tmp_path / target).stat().st_mode) == 0o600
    assert not (tmp_path / "out.private" / "risk.csv").exists()


def test_no_interval_on_the_terminal_reaches_above_the_proof(run):
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")[0] == 0
    _, out, _ = run("audit", "ratings.csv", "--release", "out", "--targets", 9, "--no-curves")
    table = out[: out.index("Shares of")].splitlines()
    cells = [line.split("│")[3] for line in table if line.count("│") > 2]
    ends = [float(end) for cell in cells for end in re.findall(r"–([\d.]+)\)", cell)]
    assert ends  # adversaries with the same figures share a row
    assert max(ends) == 25.0  # of nine users the interval alone would reach far above 1/4


def test_the_release_is_stated_before_the_raw_table(run):
    assert run("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--method=predictive")[0] == 0
    options = ("--targets", 50, "--no-curves")
    _, alone, _ = run("audit", "ratings.csv", *options)
    _, out, _ = run("audit", "ratings.csv", "--release", "out", *options)
    _, as_json, _ = run("audit", "ratings.csv", "--release", "out", *options, "--json", "-")
    plain = json.loads(as_json)
    assert [*plain][:4] == ["schema_version", "risks", "risks_before", "release"]
    text = " ".join(out.split())
    # What was read of the file is reported before; of what was found, the risks are the first.
    headline = text.index(plain["risks"]["singling_out"]["sentence"])
    assert headline < text.index("Shares of all targets") < text.index(plain["verdict"][0])
    before = text.index("Before, with names removed:")
    release = plain["release"]
    shown = [each for each in release["remarks"] if each not in release["warnings"]]
    assert max(map(text.index, shown)) < before
    assert (
        text[before:].removeprefix("Before, with names removed: ").startswith(plain["verdict"][0])
    )
    # Without a release, examples of each column follow.
    alone = " ".join(alone.split())
    assert alone[: alone.index("; item: ")].startswith(text[: text.index("; item: ")])
    assert "Before" not in alone


class TestTwoReleases:
    @pytest.fixture
    def released(self, run):
        for name, seed in (("march", 1), ("april", 2)):
            code, out, err = run(
                *("anonymize", "ratings.csv", "-o", name, "--k", 5, "--method=predictive"),
                *("--seed", seed, "--json", "-"),
            )
            assert code == 0
        return json.loads(out), err

    @pytest.mark.usefixtures("released")
    def test_both_are_held_against_each_other(self, run):
        options = (
            "--release",
            "april",
            "--second-release",
            "march",
            "--no-curves",
            "--targets",
            60,
        )
        code, out, err = run("audit", "ratings.csv", *options, "--json", "-")
        assert (code, err) == (0, "")
        against = json.loads(out)["release"]["linkage"]
        assert 0 < against["unique"] < against["below_k"] <= 1
        assert 1 <= against["mean_users"] < 5

    @pytest.mark.usefixtures("released")
    def test_the_terminal_shows_both(self, run):
        options = (
            "--release",
            "april",
            "--second-release",
            "march",
            "--no-curves",
            "--targets",
            60,
        )
        _, out, _ = run("audit", "ratings.csv", *options)
        assert "together with march" in out
        assert "Publish one of the two." in out


def test_a_release_with_hidden_items_was_made_from_these_ratings(run):
    run(
        *("anonymize", "ratings.csv", "-o", "out", "--k", 3, "--method=predictive"),
        *("--hide-items", "--seed", 1),
    )
    code, out, err = run("audit", "ratings.csv", "--release", "out", "--targets", 20, "--no-curves")
    assert code == 0
    assert "not made from these ratings" not in out + err
