"""A release in which no record is anybody's: what does not apply is said, the rest is measured."""

import json

import numpy as np
import pytest

from recveil.anonymize import RawRelease, anonymize
from recveil.attack import Adversary, hold_out
from recveil.attack.drawn_people import infer_tastes, tell_nearest
from recveil.attack.held_out import PartialRelease
from recveil.attack.released import ReleasedTable
from recveil.audit import audit
from recveil.audit.attacked_drawn import attack_drawn
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import Manifest
from recveil.report import audit_page

pytestmark = pytest.mark.usefixtures("synthetic")


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=300, n_items=80, n_ratings=9_000, seed=3)
    columns = np.repeat(made.users, made.activity), made.items[made.indices], made.values
    return Ratings.from_columns(*columns, scale=RatingScale(1, 5, 1))  # named, not read off


@pytest.fixture(scope="module")
def folder(tmp_path_factory, synthetic, ratings):
    folder = tmp_path_factory.mktemp("drawn")
    anonymize(ratings, folder / "noisy", epsilon=10.0)
    anonymize(ratings, folder / "exact", epsilon="none")
    return folder


@pytest.fixture(scope="module")
def found(folder, ratings):
    return audit(ratings, release=folder / "noisy", targets=60, curves=False).to_dict()


def test_nobody_is_looked_for_and_that_is_no_zero(found):
    release = found["release"]
    assert release["attacks"] == []
    assert "Attacks that look for somebody's record do not apply" in release["verdict"][0]
    assert "0.0%" not in release["headline"]
    assert release["headline"].startswith("In the release no record is anybody's; who was in")
    assert "the promise is epsilon 10 with delta 1e-06" in release["headline"]
    for name in ("residual", "ratings_exact", "fills", "companions", "labels", "against"):
        assert release[name] is None
    json.dumps(found, allow_nan=False)


def test_membership_is_measured_beside_control_and_promise(found):
    release = found["release"]
    told = release["membership"]
    for known in ("8", "16", "all"):
        assert 0 <= told[known]["auc"]["low"] <= told[known]["auc"]["rate"] <= 1
        assert told[known]["null_auc"]["trials"] == told[known]["auc"]["trials"]
    bound = release["membership_bound"]
    assert 0.5 < bound["auc"] < 1
    assert told["all"]["auc"]["low"] <= bound["auc"]
    assert 0.05 < bound["tpr_at_5"] < 1


def test_what_is_guessed_of_members_stands_beside_strangers(found):
    for key in ("nearest", "inference"):
        told = found["release"]["drawn"][key]
        for name in ("members", "strangers", "excess"):
            assert told[name]["low"] <= told[name]["rate"] <= told[name]["high"]
        assert told["excess"]["rate"] == pytest.approx(
            told["members"]["rate"] - told["strangers"]["rate"]
        )


def test_exact_sums_claim_nothing_and_say_so(folder, ratings):
    release = audit(ratings, release=folder / "exact", targets=40, curves=False).to_dict()
    release = release["release"]
    assert "nothing is promised about that" in release["headline"]
    assert any("Exact sums tell who is in the data" in said for said in release["verdict"])
    assert release["membership_bound"] == {"auc": None, "tpr_at_5": None}


def test_the_page_says_what_does_not_apply(found):
    page = audit_page(found)
    assert "Attacks that look for somebody&#39;s record do not apply" in page
    assert "epsilon 10.0" in page
    assert "people share each" not in page
    assert "Who is found in the release" not in page


def test_the_command_line_prints_it(folder, ratings, tmp_path, capsys):
    from recveil.io import write_ratings

    write_ratings(ratings, tmp_path / "r.csv")
    release = ("--release", str(folder / "noisy"))
    with pytest.raises(SystemExit):
        main(["audit", str(tmp_path / "r.csv"), *release, "--targets", "40", "--no-curves"])
    told = " ".join(capsys.readouterr().out.split())
    assert "In the release no record is anybody's" in told
    assert "do not apply" in told


def test_two_releases_are_not_held_against_each_other(folder, ratings, tmp_path):
    with pytest.raises(RecveilError, match="nobody to be found in both"):
        audit(ratings, release=folder / "noisy", against=folder / "exact", targets=20)
    anonymize(ratings, tmp_path / "rows", k=5, seed=1)
    with pytest.raises(RecveilError, match="nobody to be found in both"):
        audit(ratings, release=tmp_path / "rows", against=folder / "noisy", targets=20)


def test_people_are_drawn_from_a_model_first(ratings, tmp_path):
    anonymize(ratings, tmp_path / "model", epsilon="none", layout="model")
    with pytest.raises(RecveilError, match="it holds a model and no people"):
        audit(ratings, release=tmp_path / "model", targets=20)


def test_records_of_people_are_not_for_these_attacks(ratings):
    release = RawRelease(seed=1).anonymize(ratings)
    table = ReleasedTable.from_release(release, ratings)
    with pytest.raises(RecveilError, match="who can be looked for"):
        attack_drawn(ratings, table, Manifest.of(release.published))


class TestWhatBeingInTheDataTells:
    """Planted: records that are members' own. Null: everybody gets one and the same record."""

    who = Adversary(known=8)

    def test_records_of_members_are_told(self, ratings):
        held_out = hold_out(ratings, RawRelease(seed=1), seed=1)
        nearest = tell_nearest(ratings, held_out, self.who)
        assert nearest.excess.low > 0.3
        assert nearest.members.mean > 0.9

    def test_one_record_for_everybody_tells_nothing(self, ratings):
        held_out = hold_out(ratings, RawRelease(seed=1), seed=1)
        nobody = self.null(held_out, ratings)
        for tell in (tell_nearest, infer_tastes):
            told = tell(ratings, nobody, self.who)
            assert told.excess.low <= 0 <= told.excess.high

    def null(self, held_out, ratings):
        table = held_out.table
        from recveil.attack.candidates import Candidates
        from recveil.release.records import Records

        everything = np.arange(ratings.n_items, dtype=np.int32)
        labels = np.full(ratings.n_items, 3.0)
        people = np.array([table.candidates.n_people])
        one = Records(people, np.array([0, ratings.n_items]), everything, labels)
        same = ReleasedTable(
            candidates=Candidates.from_records([one], ratings.n_items, ratings.scale),
            indptr=one.indptr,
            indices=everything,
            values=labels,
            record_of=np.full(ratings.n_users, -1),
            k=1,
            promised=np.ones(1, np.int64),
            holds_people=False,
        )
        return PartialRelease(same, held_out.inside, held_out.outside)

    def test_nobody_who_is_known_too_little_is_counted(self, ratings):
        held_out = hold_out(ratings, RawRelease(seed=1), seed=1)
        few = PartialRelease(held_out.table, held_out.inside[:3], held_out.outside)
        assert tell_nearest(ratings, few, self.who) is None
        assert infer_tastes(ratings, few, self.who) is None
