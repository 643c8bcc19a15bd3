"""A release in which no record is any user's: what does not apply is said, the rest is measured."""

import json

import pytest

from recveil.auditing import audit, release_attacks
from recveil.cli import main
from recveil.io import write_ratings
from recveil.methods import sample
from shared.auditing_attacked_synthetic import audited, folder, found, model, ratings  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("synthetic")


def test_no_user_is_looked_for_and_that_is_no_zero(found):
    release = found["release"]
    assert release["attacks"] == []
    assert "Re-identification attacks do not apply" in release["verdict"][0]
    assert "0.0%" not in release["headline"]
    assert release["headline"].startswith(
        "No record of the release belongs to a user; membership is"
    )
    assert "the guarantee is epsilon 10 with delta 1e-06" in release["headline"]
    for name in ("residual", "ratings_exact", "fills", "companions", "values", "linkage"):
        assert release[name] is None
    json.dumps(found, allow_nan=False)


def test_exact_sums_claim_nothing_and_say_so(folder, ratings):
    release = audit(ratings, release=folder / "exact", targets=40, curves=False).to_dict()
    release = release["release"]
    assert "the release has no guarantee about membership" in release["headline"]
    assert any("Exact sums reveal who is in the data" in said for said in release["verdict"])
    assert set(release["membership_bound"].values()) == {None}


def test_the_command_line_prints_it(folder, ratings, tmp_path, capsys):
    write_ratings(ratings, tmp_path / "r.csv")
    release = ("--release", str(folder / "noisy"))
    with pytest.raises(SystemExit):
        main(["audit", str(tmp_path / "r.csv"), *release, "--targets", "40", "--no-curves"])
    result = " ".join(capsys.readouterr().out.split())
    assert "no record belongs to a user" in result
    assert "do not apply" in result


class TestModel:
    """Anyone can draw users from a model: it is attacked as five times as many of them."""

    def test_five_are_drawn_for_each_who_is_in_the_data(self, model, ratings, monkeypatch):
        asked = []
        real = release_attacks.same_again
        monkeypatch.setattr(
            release_attacks, "same_again", lambda *given: asked.append(given[0]) or real(*given)
        )
        found = audit(ratings, release=model, targets=40, curves=False).to_dict()["release"]
        (manifest,) = asked
        assert manifest.counts["users"] == 5 * 240  # four fifths of 300 are inside
        assert found["layout"] == "model"
        assert any(
            "measured on 5 synthetic users for each real one" in said for said in found["verdict"]
        )
        assert found["membership"]["all"]["auc"]["trials"] > 0

    def test_what_is_sampled_from_it_is_audited_and_no_risk_is_written(
        self, model, ratings, tmp_path, capsys
    ):
        sample(model, tmp_path / "drawn", n_users=300)
        write_ratings(ratings, tmp_path / "r.csv")
        command = ["audit", str(tmp_path / "r.csv"), "--scale", "1:5:1", "--targets", "20"]
        with pytest.raises(SystemExit) as stop:
            main([*command, "--release", str(tmp_path / "drawn")])
        assert stop.value.code in (0, None)
        streams = capsys.readouterr()
        assert "no record belongs to a user" in " ".join(streams.out.split())
        assert streams.err == ""
        assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn", "r.csv"]
