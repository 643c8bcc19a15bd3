"""The private twin of a release that version 1.0 wrote is read by every later version."""

import shutil
from pathlib import Path

import pytest

from recveil.auditing import audit
from recveil.evaluation import evaluate
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from recveil.verification import verify

STORED = Path(__file__).parent / "stored_1_0"


@pytest.fixture
def here(tmp_path):
    return Path(shutil.copytree(STORED, tmp_path / "here"))


def test_an_audit_knows_who_is_who(here):
    found = audit(here / "ratings.csv", release=here / "out", targets=20, curves=False).to_dict()
    assert found["release"]["same_ratings"] is True
    assert any(attack["reidentified"]["rate"] > 0 for attack in found["release"]["attacks"])


@pytest.mark.usefixtures("few_recommenders")
def test_an_evaluation_serves_all_users(here):
    found = evaluate(
        here / "out", here / "ratings.csv", split=0.2, targets=9, with_membership=False
    ).to_dict()
    assert found["served"] > 0


def test_the_next_release_warns_of_it(here):
    made = anonymize(here / "ratings.csv", here / "next", k=5, scale=RatingScale(1, 5, 1), seed=2)
    assert [(earlier.folder.name, earlier.n_users) for earlier in made.earlier] == [("out", 40)]


def test_its_values_are_looked_for(here):
    assert verify(here / "out", private=here / "out.private").private_found == []
