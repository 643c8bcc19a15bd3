"""Whatever options lead to holds, and no other settings of predictive anonymization do."""

import itertools
import json

import independent
import pytest

from recveil import anonymize
from recveil.clustering import BisectingOneKGather, KGather, LevelGather
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.predict import FunkSVD, ItemMean, TrustKNN, UserKNN
from recveil.ratings import RatingScale
from recveil.release.settings import problems_of_settings
from recveil.release.specs.k_corating import CO_RATED_GROUPINGS, FILLS
from recveil.release.specs.predictive import (
    GROUPING_NAMES,
    GROUPINGS,
    LEVEL_GROUPING_NAMES,
    PREDICTORS,
    SPARK_GROUPING,
    SPARK_PREDICTOR,
)
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

RATINGS = make_ratings(26, 9, 100, seed=1)
FINE = make_ratings(26, 9, 100, seed=2, scale=RatingScale(0, 1, 0.1))
HOW = [("padded", "rated"), ("padded", "predicted"), ("simple", "rated")]
# Objects of all predictors, some under a name that is another's.
OBJECTS = [
    *(FunkSVD(rank=2), FunkSVD(), ItemMean(), UserKNN(), TrustKNN()),
    *(type(name, (ItemMean,), {})() for name in ("ALS", "FunkSVD", "Own")),
]
CLUSTERERS = [
    KGather(min_size=6),
    *(type(name, (KGather,), {})(min_size=4) for name in ("KGatherInBins", "LevelGather", "Own")),
]
LEVELS = "activity<4:5,else:1"


def settings_of(release, folder):
    assert release.write(folder).holds
    assert not list(independent.problems(folder))
    return json.loads((folder / "release.json").read_text())


def choice_of(manifest):
    names = ("homogenize", "values", "predictor", "grouping")
    return (*(manifest["settings"].get(name) for name in names), manifest["levels"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All releases of the predictive method by the built-in parts, as their release.json."""
    folder, found = tmp_path_factory.mktemp("made"), []

    def make(*choice, **more):
        maker = PredictiveAnonymizer(4, *choice, seed=1, **more)
        found.append(settings_of(maker.anonymize(RATINGS), folder / str(len(found))))

    predictors = ("funk-svd", "funk-svd-plain", "item-mean", UserKNN(), TrustKNN())
    for (homogenize, values), predictor in itertools.product(HOW, predictors):
        for grouping in GROUPING_NAMES:
            make(homogenize, predictor, grouping, values=values)
        if values == "rated":
            for grouping in LEVEL_GROUPING_NAMES:
                make(homogenize, predictor, grouping, privacy_levels=LEVELS)
    return found


def test_settings_that_no_option_leads_to_are_refused(made):
    possible = {choice_of(manifest) for manifest in made}
    spark = (SPARK_PREDICTOR, SPARK_GROUPING)
    possible |= {(homogenize, None, *spark, False) for homogenize in ("padded", "simple")}
    held = set()
    template = next(each for each in made if "values" not in each["settings"])
    for homogenize, values, predictor, grouping, levels in itertools.product(
        ("padded", "simple"),
        (None, "predicted"),
        (*PREDICTORS, SPARK_PREDICTOR),
        (*GROUPINGS, SPARK_GROUPING),
        (False, True),
    ):
        parts = {"homogenize": homogenize, "predictor": predictor, "grouping": grouping}
        more = {"values": values, "values_below_k": "pooled"} if values else {}
        settings = template["settings"] | parts | more
        if not list(problems_of_settings(template | {"levels": levels, "settings": settings})):
            held.add((homogenize, values, predictor, grouping, levels))
    assert held == possible


@pytest.mark.parametrize("how", HOW)
def test_releases_by_objects_hold(tmp_path, how):
    homogenize, values = how
    pairs = [*((one, None) for one in OBJECTS), *(("item-mean", one) for one in CLUSTERERS)]
    for at, (predictor, grouping) in enumerate(pairs):
        maker = PredictiveAnonymizer(4, homogenize, predictor, grouping, values=values, seed=1)
        settings_of(maker.anonymize(FINE), tmp_path / str(at))


@pytest.mark.parametrize("grouping", [LevelGather(min_size=4), BisectingOneKGather(min_size=4)])
def test_a_clusterer_of_levels_needs_levels(grouping):
    with pytest.raises(RecveilError) as caught:
        PredictiveAnonymizer(4, "padded", "item-mean", grouping).anonymize(RATINGS)
    assert caught.value.code == "option.required"


@pytest.mark.parametrize("table", [RATINGS, FINE], ids=["steps of 1", "steps of 0.1"])
@pytest.mark.parametrize("fill", FILLS)
def test_co_rated_releases_hold(tmp_path, table, fill):
    for at, (protect, rounds) in enumerate(
        itertools.product(("none", "shuffle", "mean"), (True, False))
    ):
        grouping = CO_RATED_GROUPINGS[at]
        maker = KCoRater(2 + at % 3, fill, grouping, protect=protect, round_fills=rounds, seed=1)
        settings_of(maker.anonymize(table), tmp_path / str(at))


@pytest.mark.parametrize("catalog", [None, "as-rated"])
@pytest.mark.parametrize("n_users", [None, 40])
@pytest.mark.parametrize("table", [RATINGS, FINE, RATINGS.as_likes()])
def test_releases_of_exact_sums_hold(tmp_path, table, catalog, n_users):
    for layout in ("users", "model"):
        options = {"item_catalog": catalog, "n_users": n_users, "layout": layout}
        assert anonymize(table, tmp_path / layout, epsilon="none", seed=1, **options)
        assert verify(tmp_path / layout).holds
