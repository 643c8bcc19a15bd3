import json

import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.cli import app
from recveil.datasets import generate
from recveil.methods import anonymize


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ratings, a release of them with hidden items, one with names, and other people's ratings."""
    folder = tmp_path_factory.mktemp("hidden")
    for name, seed in (("ratings", 1), ("others", 2)):
        generate(folder / f"{name}.csv", users=80, items=30, ratings=900, seed=seed)
    for name, k, hide in (("hidden", 4, True), ("named", 4, False), ("again", 5, True)):
        anonymize(
            folder / "ratings.csv", folder / name, k=k, homogenize="simple", seed=k, hide_items=hide
        )
    return folder


def found(folder, release, **more):
    return audit(
        folder / "ratings.csv", release=folder / release, targets=40, curves=False, **more
    ).to_dict()


def test_a_catalogue_of_others_is_read(folder):
    hidden = found(folder, "hidden", catalogue=folder / "others.csv")["release"]["hidden_items"]
    assert hidden["catalogue"] == "others.csv"
    assert not hidden["catalogue_is_own"]


def test_a_catalogue_is_refused_where_nothing_is_hidden(folder):
    with raises("option.unsupported"):
        found(folder, "named", catalogue=folder / "others.csv")
    with raises("option.required"):
        audit(folder / "ratings.csv", catalogue=folder / "others.csv")


def test_the_command_takes_it(folder, capsys):
    arguments = ["audit", folder / "ratings.csv", "--release", folder / "hidden", "--no-curves"]
    arguments += ["--catalogue", folder / "others.csv", "--targets", "20", "--json", "-"]
    app(list(map(str, arguments)), standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["release"]["hidden_items"]["items"] == 30
