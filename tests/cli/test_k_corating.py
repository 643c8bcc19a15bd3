"""k-coRating from the command line: what it says and refuses, and what other verbs say of it."""

import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from shared.cli_k_corating import (
    ANONYMIZE,
    run,  # noqa: F401 (fixtures)
)


def test_json_says_what_was_filled(run):
    code, out, err = run(*ANONYMIZE, "--json", "-")
    assert (code, err.startswith("Expected: about "), err.count("\n")) == (0, True, 1)
    result = json.loads(out)
    labels = pa_csv.read_csv("ratings.csv").num_rows + result["filled_cells"]
    assert json.loads(Path("out/release.json").read_text())["counts"]["values"] == labels
    assert result["verification"]["claim"] == "co-rated"


def test_stated_trust(run):
    code, out, _ = run(*ANONYMIZE, "--fill", "trust", "--trust", "trust.txt")
    assert code == 0
    assert "Trust: 2 statements between users; 2 lines about 2 users" in out
    published = "".join(file.read_text() for file in Path("out").glob("*[dn]"))
    assert "stated" in published
    assert "trust.txt" not in published


def test_fills_that_give_themselves_away_are_warned_of(run):
    _, out, _ = run(*ANONYMIZE, "--fill", "similarity", "--no-round")
    assert "warning: fills are not rounded to the scale." in out
    assert "they are not rounded to the scale" in Path("out/README.md").read_text()
    _, out, _ = run(*ANONYMIZE, "--fill", "similarity", "--scale", "0:9", "--force")
    assert "not rounded to the scale, since 0:9 is continuous" in out
    _, out, _ = run(*ANONYMIZE, "--fill", "similarity", "--round-fills", "--force")
    assert "Warning" not in out
    assert "an adversary who recomputes them" in Path("out/README.md").read_text()


@pytest.mark.parametrize("protect", ["labels", "mean"])
def test_labels_can_be_protected_by_the_mean(run, protect):
    code, out, _ = run(*ANONYMIZE, "--protect", protect)
    assert code == 0
    assert "every row is shared by at least 4 users" in out
    assert "real ratings stand" not in out
    assert run("verify", "out", "--claim", "identical-rows")[0] == 0
    assert run("verify", "out", "--claim", "co-rated")[0] == 0
    assert "so can that rating, but not who gave it" in Path("out/README.md").read_text()


def test_dealt_labels_are_the_publishers_word(run):
    code, out, _ = run(*ANONYMIZE, "--protect", "shuffle")
    assert code == 0
    assert "which no file can prove" in out
    card = " ".join(Path("out/README.md").read_text().split())
    assert "No file can prove this; the publisher states it." in card
    assert json.loads(Path("out/release.json").read_text())["claim"] == "co-rated"
    assert run("verify", "out", "--claim", "identical-rows")[0] == 1


REFUSED = {
    ("--fill", "better"): "fill (--fill) is 'better'; expected one of item-mean",
    ("--fill", "trust", "--trust", "nowhere.txt"): "nowhere.txt: no such file",
    ("--fill", "trust", "--trust", "nobody.txt"): "no user trusts another one",
    ("--fill", "trust", "--trust", "ratings.csv"): "expected truster, trustee and value",
    ("--trust", "trust.txt"): "trust (--trust) was given, but fill (--fill) is 'item-mean'",
    ("--homogenize", "simple"): "homogenize (--homogenize): only for the method predictive, but",
    ("--predictor", "item-mean"): "predictor (--predictor): only for the method predictive",
    ("--round", "scale"): "round_values (--round): only for the method predictive, but the m",
    ("--privacy-levels", "else:4"): "privacy_levels (--privacy-levels): only for",
    ("--diversity", "1"): "diversity (--diversity) is 1",
    ("--l", "2", "--closeness", "0.2"): "diversity and closeness (--diversity, --closeness)",
    ("--trust-steps", "2"): "trust_steps (--trust-steps) was given, but fill (--fill)",
    ("--neighbours", "5"): "neighbours (--neighbours) was given, but fill (--fill) is 'item-mean'",
    ("--k", "121"): "120 users cannot form a group of k = 121",
    ("--grouping", "level-gather"): "'level-gather': only for privacy_levels (--privacy-levels), ",
    ("--method", "predictive", "--b", "2"): "b (--b) is 2, but has no effect without l (--l)",
    ("--grouping", "best"): "grouping (--grouping) is 'best'; expected one of gecom, pagecom",
    ("--method", "predictive", "--fill", "random"): "but the method is predictive; drop it",
    ("--method", "predictive", "--no-round"): "round_fills (--round-fills, --no-round): only for ",
    ("--method", "predictive", "--round-fills"): "only for the method k-corating",
    ("--method", "predictive", "--protect", "mean"): "protect (--protect): only for the ",
    ("--method", "predictive", "--trust", "trust.txt"): "trust (--trust): only for",
    ("--method", "predictive", "--grouping", "gecom"): "'gecom': only for the method k-cor",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_makes_no_sense_is_refused_and_nothing_written(run, options):
    code, out, err = run(*ANONYMIZE, *options)
    assert (code, out) == (2, "")
    assert REFUSED[options] in err
    assert not Path("out").exists()
