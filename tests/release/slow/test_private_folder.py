"""Whether a release was made from some ratings: shown by a digest that the owner alone keeps."""

import json

import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.methods.nominal import NominalAnonymizer
from recveil.publish import describe
from recveil.ratings import RatingScale

SCALE = RatingScale(1, 5, 1)

MADE = make_ratings(60, 20, 500, seed=2, scale=SCALE)

OTHER = make_ratings(60, 20, 500, seed=3, scale=SCALE)

WAYS = {
    "padded": PredictiveAnonymizer(4, seed=1),
    "model": PredictiveAnonymizer(4, values="predicted", seed=1),
    "k-corated": KCoRater(4, seed=1),
    "sparse": SparseRows(4, seed=1),
    "drawn": Synthesizer(20.0, item_catalog="as-rated"),
    "words": NominalAnonymizer(4, seed=1),
}


@pytest.mark.parametrize("way", ["padded", "drawn"])
def test_a_release_of_other_ratings_is_not_attacked(way, tmp_path):
    WAYS[way].anonymize(MADE).write(tmp_path / "out")
    result = audit(MADE, release=tmp_path / "out", targets=5, curves=False).to_dict()
    assert result["release"]["same_ratings"] is True
    with raises("release.mismatch"):
        audit(OTHER, release=tmp_path / "out", targets=5, curves=False)
    # Older versions attacked it.
    result["release"]["same_ratings"] = False
    (tmp_path / "audit.json").write_text(json.dumps(result, default=str))
    with raises("release.mismatch"):
        describe(tmp_path / "out", tmp_path / "c.json", audit=tmp_path / "audit.json")
