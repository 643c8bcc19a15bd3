"""The settings that releases publish: the words of the format are those of the code."""

import pytest

from recveil.clustering import KGather
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows
from recveil.methods.components import GROUPINGS, LEVEL_GROUPINGS, PREDICTORS
from recveil.methods.k_corating.fills import make_fill
from recveil.predict import FunkSVD, UserKNN
from recveil.release.settings import foreign_names, problems_of_settings
from recveil.release.specs.k_corating import CO_RATED_GROUPINGS, FILLS
from recveil.release.specs.predictive import (
    GROUPING_NAMES,
    LEVEL_GROUPING_NAMES,
    PREDICTOR_NAMES,
)
from recveil.release.specs.predictive import GROUPINGS as GROUPING_CLASSES
from recveil.release.specs.predictive import PREDICTORS as PREDICTOR_CLASSES


def _manifest(release) -> dict:
    published = release.published
    scale = published.scale
    return {
        "claim": published.claim.kind,
        "levels": published.claim.levels,
        "diversity": {"b": published.claim.b, "l": published.claim.l},
        "scale": {"low": scale.low, "high": scale.high, "step": scale.step},
        "settings": published.settings,
    }


def test_all_groupings_and_predictors_are_known():
    assert tuple(GROUPINGS) == GROUPING_NAMES
    assert tuple(LEVEL_GROUPINGS) == LEVEL_GROUPING_NAMES
    assert tuple(PREDICTORS) == PREDICTOR_NAMES
    known = [kind.__name__ for kind in (*GROUPINGS.values(), *LEVEL_GROUPINGS.values())]
    assert sorted(GROUPING_CLASSES) == sorted(known)
    assert set(CO_RATED_GROUPINGS) == {"gecom", "pagecom", "supports", *GROUPINGS}
    assert {type(make(0)).__name__ for make in PREDICTORS.values()} <= set(PREDICTOR_CLASSES)
    for name in FILLS:
        make_fill(name, 0, None)


@pytest.mark.parametrize(
    "anonymizer",
    [
        PredictiveAnonymizer(4, seed=1),
        PredictiveAnonymizer(4, "simple", "item-mean", "mdav", round_values="none", seed=1),
        PredictiveAnonymizer(4, "simple", round_values=0.25, b=1, l=2, seed=1),
        PredictiveAnonymizer(4, "simple", FunkSVD(rank=3), KGather(4, n_rounds=2), seed=1),
        PredictiveAnonymizer(4, predictor=UserKNN(), seed=1),
        PredictiveAnonymizer(4, privacy_levels="activity<9:6,else:1", seed=1),
        PredictiveAnonymizer(4, values="predicted", seed=1),
        SparseRows(4, seed=1),
        SparseRows(4, 40, seed=1),
        KCoRater(3, seed=1),
        KCoRater(3, "trust", protect="shuffle", seed=1),
        KCoRater(3, "random", "supports", protect="mean", round_fills=False, seed=1),
    ],
)
def test_what_is_written_is_expected(anonymizer):
    manifest = _manifest(anonymizer.anonymize(make_ratings(40, 15, 300, seed=6)))
    assert list(problems_of_settings(manifest)) == []
    assert foreign_names(manifest["settings"]) == []


@pytest.mark.parametrize(
    ("name", "is_a_name"),
    [
        *[(name, True) for name in ("MyModel", "_mine2", "x" * 40)],
        *[(name, False) for name in ("MyModel, with parameters of its own", "FunkSVD, alice")],
        *[(name, False) for name in ("x" * 41, "a b", "", "2x", "Mödel", None, True)],
    ],
)
def test_a_third_party_class_is_a_name_and_no_more(name, is_a_name):
    manifest = _manifest(PredictiveAnonymizer(4, seed=1).anonymize(make_ratings(40, 15, 300)))
    manifest["settings"] = manifest["settings"] | {"predictor": name}
    assert (list(problems_of_settings(manifest)) == []) == is_a_name
    if name != "MyModel, with parameters of its own":
        assert foreign_names(manifest["settings"]) == [("predictor", str(name))]
