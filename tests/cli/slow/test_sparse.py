"""Sparse rows from the command line: every verb knows them, and what is not theirs is refused."""

import json
from pathlib import Path

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings

ANONYMIZE = ("anonymize", "ratings.csv", "-o", "out", "--k", 4, "--seed", 1)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_ratings(make_ratings(n_users=120, n_items=50, n_ratings=2_400, seed=3), "ratings.csv")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, " ".join(streams.out.split()), " ".join(streams.err.split())

    return run


def test_every_verb_knows_them(run):
    code, out, err = run(*ANONYMIZE, "--method", "sparse", "--crowd", 30)
    assert code == 0
    assert "Expected: about 2,400 labels (1.0 for each rating)" in err
    assert "do not hide who is in the data" in out
    settings = json.loads(Path("out/release.json").read_text())["settings"]
    told = {"rare_items": "left out", "label_step": 0.1}
    assert settings == {"method": "sparse rows", "crowd": 30, **told}
    assert run("verify", "out")[0] == 0
    code, out, _ = run("verify", "out", "--links")
    assert "is not told of sparse rows" in out
    code, out, _ = run("audit", "ratings.csv", "--release", "out", "--json", "-", "--targets", 40)
    found = json.loads(out)["release"]
    assert found["membership"] is not None  # it can be made again, without some of the people
    assert any("sparse rows" in sentence.lower() for sentence in found["verdict"])
    options = ("--split", 0.3, "--release", "out", "--targets", 30)
    assert run("evaluate", "ratings.csv", *options)[0] == 0
    methods = ("--methods", "sparse,padded-model,raw", "--k", "4", "--targets", 30)
    code, out, _ = run("compare", "ratings.csv", "-o", "comparison", *methods)
    assert "sparse, k = 4" in out
