"""Predictors and groupings of predictive anonymization, by name or as objects."""

import copy
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from recveil.clustering import (
    MDAV,
    MHM,
    BisectingKGather,
    BisectingOneKGather,
    BoundedTMeans,
    KGather,
    KMember,
    LevelGather,
    PredictiveGrouping,
    RGather,
    UnionSplit,
)
from recveil.clustering.base import Grouping
from recveil.clustering.level_gather import LevelGrouping
from recveil.predict import FunkSVD, ItemMean, Padder, Predictor, TrustKNN, UserKNN
from recveil.predict.knn import Neighbours
from recveil.release.method import CUSTOM_SUFFIX, MOST_NEIGHBOURS
from recveil.release.specs.predictive import SPARK_GROUPING, SPARK_PREDICTOR
from recveil.runtime.errors import RecveilError, quoted

# How to make each from a seed, which a mean does not need.
PADDERS: dict[str, Callable[[int], Padder]] = {
    "funk-svd": lambda seed: FunkSVD(seed=seed),
    "funk-svd-plain": lambda seed: FunkSVD(biases=False, seed=seed),
    "item-mean": lambda _: ItemMean(),
}
PREDICTORS: dict[str, Callable[[int], Predictor]] = {
    **PADDERS,
    "user-knn": lambda _: UserKNN(),
    "trust-knn": lambda _: TrustKNN(),
}
NEIGHBOUR_PREDICTORS = ("user-knn", "trust-knn")
# The public name of FunkSVD without biases, which is no class of its own.
PLAIN_FUNK_SVD = "PlainFunkSVD"
# The first is the default.
GROUPINGS: dict[str, type[Grouping]] = {
    "k-gather": KGather,
    "bisecting": BisectingKGather,
    "predictive": PredictiveGrouping,
    "bounded-t-means": BoundedTMeans,
    "mdav": MDAV,
    "k-member": KMember,
    "union-split": UnionSplit,
    "mhm": MHM,
    "r-gather": RGather,
}
LEVEL_GROUPINGS: dict[str, type[LevelGrouping]] = {
    "level-gather": LevelGather,
    "one-k-gather": BisectingOneKGather,
}


class NearestOfAll(TypedDict, total=False):
    """Parameters of `UserKNN` for the neighbours that k-coRating prints; none by default."""

    n_neighbours: int
    neighbours: Neighbours
    min_overlap: int
    significance: float


def nearest_of_all_users(
    n: int | None, part: str, choice: object, allowed: tuple[str, ...]
) -> NearestOfAll:
    """Return the parameters for the n nearest of all users, if this choice has neighbours.

    >>> nearest_of_all_users(198, "fill", "similarity", ("similarity", "trust"))["neighbours"]
    'global'
    """
    if n is None:
        return {}
    if not isinstance(choice, str) or choice not in allowed:
        raise RecveilError(
            f"neighbours (--neighbours) was given, but {part} (--{part}) is {quoted(choice)}; "
            f"choose {' or '.join(allowed)}, or drop neighbours",
            code="option.conflict",
        )
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= MOST_NEIGHBOURS:
        raise RecveilError(
            f"neighbours (--neighbours) is {quoted(n, 20)}; expected a whole number from 1 to "
            f"{MOST_NEIGHBOURS:,}",
            code="option.value",
        )
    return {"n_neighbours": int(n), "neighbours": "global", "min_overlap": 1, "significance": 1}


def make_predictor(choice: str | Predictor, seed: int, neighbours: int | None = None) -> Predictor:
    """Return the named predictor, made from a seed, or a copy of the given one.

    >>> make_predictor("funk-svd", seed=1).seed
    1
    """
    nearest = nearest_of_all_users(neighbours, "predictor", choice, NEIGHBOUR_PREDICTORS)
    if nearest:
        return (UserKNN if choice == "user-knn" else TrustKNN)(**nearest)
    if not isinstance(choice, str):
        able = [callable(getattr(choice, name, None)) for name in ("fit", "predict")]
        if isinstance(choice, type) or not all(able):
            raise RecveilError(
                f"predictor (--predictor): got {_kind(choice)}; expected an object with fit and "
                f"predict, such as UserKNN(), or one of {', '.join(PREDICTORS)}",
                code="argument.type",
            )
        return copy.copy(choice)
    if choice not in PREDICTORS:
        raise RecveilError(
            f"predictor (--predictor) is {choice!r}; expected one of {', '.join(PREDICTORS)}",
            code="option.value",
        )
    return PREDICTORS[choice](seed)


def make_grouping(choice: Any, k: int, levels: NDArray[np.int64] | None, seed: int) -> Any:
    """Return the named grouping, made from a seed, or a copy of the given one.

    >>> make_grouping(None, 5, None, seed=1)
    KGather()
    """
    if choice is not None and not isinstance(choice, str):
        if isinstance(choice, type) or not callable(getattr(choice, "get_params", None)):
            raise RecveilError(
                f"grouping (--grouping): got {_kind(choice)}; expected a scikit-learn clusterer, "
                f"such as KGather(min_size={k}), or one of {', '.join(GROUPINGS)}",
                code="argument.type",
            )
        if levels is None and isinstance(choice, LevelGrouping):
            raise _needs_levels(type(choice).__name__, ", ".join(GROUPINGS))
        return clone(choice)
    known: Mapping[str, Callable[..., object]] = GROUPINGS if levels is None else LEVEL_GROUPINGS
    name = next(iter(known)) if choice is None else choice
    if name not in known:
        names = ", ".join(known)
        if name in LEVEL_GROUPINGS:
            raise _needs_levels(name, names)
        when = "" if levels is None else " with privacy_levels (--privacy-levels)"
        raise RecveilError(
            f"grouping (--grouping) is {name!r}; expected one of {names}{when}", code="option.value"
        )
    return known[name](min_size=k if levels is None else int(levels.max()), random_state=seed)


def _needs_levels(name: str, others: str) -> RecveilError:
    return RecveilError(
        f"grouping (--grouping) is {name!r}, which needs privacy_levels "
        f"(--privacy-levels); give them, or one of {others}",
        code="option.required",
    )


def _kind(choice: Any) -> str:
    if isinstance(choice, type):
        return f"the class {choice.__name__}"
    return f"an object of {type(choice).__name__}"


def settings_of(predictor: Any, grouping: Any) -> dict[str, object]:
    """Return all parameters of predictor and grouping, for the private folder."""
    return {"predictor": parameters_of(predictor), "grouping": grouping.get_params()}


def parameters_of(part: Any) -> dict[str, object]:
    """Return a predictor's parameters, without trust statements."""
    attributes = getattr(part, "__dict__", {}).items()
    return {name: value for name, value in attributes if not name.endswith("_") and name != "links"}


def grouping_name(kind: type) -> str:
    """Return the name by which a grouping is chosen, or that of its class.

    >>> grouping_name(MDAV)
    'mdav'
    """
    names = {known: name for name, known in (GROUPINGS | LEVEL_GROUPINGS).items()}
    return names.get(kind, kind.__name__)


def component_name(part: Any) -> str:
    """Return a component's public name, which is its class alone if it has the usual parameters.

    A component with other parameters gets another name, so that shadow releases are not made with
    the usual one.
    """
    predictors = (FunkSVD, ItemMean, UserKNN, TrustKNN)
    usual: list[type[Any]] = [*predictors, *GROUPINGS.values(), *LEVEL_GROUPINGS.values()]
    ours = {made.__name__: made for made in usual}
    name = type(part).__name__
    if name in (SPARK_PREDICTOR, SPARK_GROUPING, PLAIN_FUNK_SVD):
        return name + CUSTOM_SUFFIX
    if name not in ours:
        return name
    if type(part) is FunkSVD and _chosen(part) == _chosen(FunkSVD(biases=False)):
        return PLAIN_FUNK_SVD
    is_custom = (
        type(part) is not ours[name]
        or _chosen(part) != _chosen(ours[name]())
        or getattr(part, "links", None) is not None
    )
    return name + CUSTOM_SUFFIX if is_custom else name


def _chosen(part: Any) -> dict[str, object]:
    """Return the parameters other than seeds, group sizes and threads."""
    return {
        name: value
        for name, value in parameters_of(part).items()
        if name not in ("seed", "random_state", "min_size", "threads")
    }
