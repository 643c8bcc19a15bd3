"""Sparse rows from the command line: every verb knows them, and what is not theirs is refused."""

import json
from pathlib import Path

from shared.cli_sparse import (
    ANONYMIZE,
    run,  # noqa: F401 (fixtures)
)


def test_every_verb_knows_them(run):
    code, out, err = run(*ANONYMIZE, "--method", "sparse", "--cluster-size", 30)
    assert code == 0
    assert "Expected: about 2,400 values, " in err
    assert "do not hide who is in the data" in out
    settings = json.loads(Path("out/release.json").read_text())["settings"]
    result = {"items_below_k": "omitted", "value_step": 0.1}
    assert settings == {"method": "sparse rows", "cluster_size": 30, **result}
    assert run("verify", "out")[0] == 0
    code, out, _ = run("verify", "out", "--links")
    assert "is not computed" in " ".join(out.split())
    code, out, _ = run("audit", "ratings.csv", "--release", "out", "--json", "-", "--targets", 40)
    found = json.loads(out)["release"]
    assert found["membership"] is not None  # it can be made again, without some of the users
    assert any("sparse rows" in sentence.lower() for sentence in found["verdict"])
    options = ("--split", 0.3, "--release", "out", "--targets", 30)
    assert run("evaluate", "ratings.csv", *options)[0] == 0
    methods = ("--methods", "sparse,padded-predicted,raw", "--k", "4", "--targets", 30)
    code, out, _ = run("compare", "ratings.csv", "-o", "comparison", *methods)
    assert "sparse, k = 4" in out
