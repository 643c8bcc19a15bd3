"""k-coRating from the command line: what it says and refuses, and what other verbs say of it."""

import json
import re
from pathlib import Path

import pytest

from shared.cli_k_corating import (
    ANONYMIZE,
    run,  # noqa: F401 (fixtures)
)


@pytest.mark.parametrize("layout", ["users", "groups"])
@pytest.mark.parametrize("fill", ["item-mean", "similarity", "trust"])
def test_co_rated_holds_and_identical_rows_does_not(run, fill, layout):
    code, out, err = run(*ANONYMIZE, "--fill", fill, "--layout", layout)
    assert (code, err.startswith("Expected: about "), err.count("\n")) == (0, True, 1)
    assert "real ratings, which are published unchanged" in out
    assert out.count("recveil audit --release") == 1  # a warning that is said twice is read once
    code, out, _ = run("verify", "out")
    assert code == 0
    assert "every set of rated items is shared by at least 4 users" in out
    assert "an adversary who knows some ratings of a user may re-identify the user" in out
    code, out, _ = run("verify", "out", "--claim", "identical-rows")
    assert code == 1
    assert "4 users must share each row, but the smallest class has 1." in out


# What must not be said about a release that keeps every real rating.
REASSURING = re.compile(r"nobody is found|promise is at most|few people are found|cannot be found")


@pytest.mark.parametrize("protect", ["none", "shuffle"])
def test_audit_says_what_is_left_of_the_risk(run, protect):
    run(*ANONYMIZE, "--fill", "similarity", "--protect", protect)
    options = ("--preset", "public-profile", "--targets", "all", "--no-curves")
    code, out, _ = run(
        *("audit", "ratings.csv", "--release", "out", *options, "--html", "a.html", "--json", "-")
    )
    assert code == 0
    release = json.loads(out)["release"]
    (attack,) = release["attacks"]
    assert attack["bound"] == 1
    found = attack["reidentified"]["rate"] * attack["targets_requested"]
    assert (found > 0.9 * attack["targets_attacked"]) == (protect == "none")
    first = release["verdict"][0]
    assert "there is no guarantee against adversaries who know ratings" in first
    expected = {
        "none": "the record contains the real ratings",
        "shuffle": "combines those with the same items",
    }
    assert expected[protect] in first
    for text in (" ".join(release["verdict"]), Path("a.html").read_text()):
        assert not REASSURING.search(" ".join(text.split()).lower())


def test_audit_of_a_release_that_cannot_be_made_again(run):
    run(*ANONYMIZE, "--fill", "trust", "--trust", "trust.txt")
    options = ("--preset", "public-profile", "--targets", 20, "--no-curves", "--json", "-")
    code, out, _ = run("audit", "ratings.csv", "--release", "out", *options)
    assert code == 0
    assert json.loads(out)["release"]["membership"] is None
