import json

import pytest

from recveil.anonymize import anonymize
from recveil.audit import audit
from recveil.cli import app
from recveil.datasets import generate
from recveil.errors import RecveilError
from recveil.report import audit_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ratings, a release of them with hidden items, one with names, and other people's ratings."""
    folder = tmp_path_factory.mktemp("hidden")
    for name, seed in (("ratings", 1), ("others", 2)):
        generate(folder / f"{name}.csv", users=80, items=30, ratings=900, seed=seed)
    for name, hide in (("hidden", True), ("named", False)):
        anonymize(
            folder / "ratings.csv", folder / name, k=4, homogenize="simple", seed=1, hide_items=hide
        )
    return folder


def found(folder, release, **more):
    return audit(
        folder / "ratings.csv", release=folder / release, targets=40, curves=False, **more
    ).to_dict()


def test_the_audit_attacks_the_belief(folder):
    release = found(folder, "hidden")["release"]
    hidden = release["hidden_items"]
    assert hidden["catalogue_is_own"]
    assert set(hidden["named"]) == {"10", "50", "100", "all"}
    assert len(hidden["people"]) == len(release["attacks"])
    assert any("Hidden items are named again" in sentence for sentence in release["verdict"])


def test_people_are_found_as_in_a_release_with_names(folder):
    """The rates are those of an adversary who knows the names: hiding must not look safer."""
    hidden, named = (found(folder, release)["release"] for release in ("hidden", "named"))
    assert named["hidden_items"] is None
    for one, other in zip(hidden["attacks"], named["attacks"], strict=True):
        assert one["person_found"]["rate"] == pytest.approx(other["person_found"]["rate"], abs=0.1)


def test_a_catalogue_of_others_is_read(folder):
    hidden = found(folder, "hidden", catalogue=folder / "others.csv")["release"]["hidden_items"]
    assert hidden["catalogue"] == "others.csv"
    assert not hidden["catalogue_is_own"]


def test_a_catalogue_is_refused_where_nothing_is_hidden(folder):
    with pytest.raises(RecveilError, match="does not hide its items"):
        found(folder, "named", catalogue=folder / "others.csv")
    with pytest.raises(RecveilError, match="given without a release"):
        audit(folder / "ratings.csv", catalogue=folder / "others.csv")


def test_the_page_and_the_json_can_hold_it(folder):
    plain = found(folder, "hidden")
    assert "named again" in audit_page(json.loads(json.dumps(plain)))


def test_the_command_takes_it(folder, capsys):
    arguments = ["audit", folder / "ratings.csv", "--release", folder / "hidden", "--no-curves"]
    arguments += ["--catalogue", folder / "others.csv", "--targets", "20", "--json", "-"]
    app(list(map(str, arguments)), standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["release"]["hidden_items"]["items"] == 30
