"""Methods: named ways to make a release, to which only k and a seed are missing."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from recveil.anonymize import KCoRater, PredictiveAnonymizer
from recveil.anonymize.baselines import BASELINE_DESCRIPTIONS, BASELINES, NOT_ATTACKED
from recveil.anonymize.k_corating import Protect
from recveil.anonymize.parts import GROUPINGS
from recveil.anonymize.predictive import Homogenize
from recveil.attack import Anonymizer
from recveil.errors import RecveilError

Promise = Literal["k-anonymity", "co-rated", "nothing"]
# What each promise means, for people.
PROMISES: dict[Promise, str] = {
    "k-anonymity": "proven and checked: at least k people share each published row, so that nobody "
    "is found with a probability above 1/k from the release alone",
    "co-rated": "proven and checked: at least k people share each set of rated items; the real "
    "ratings stand among them, and hide nobody from somebody who knows some of them",
    "nothing": "promises nothing: there to be compared with, not to be published",
}


class Method(NamedTuple):
    """A way to make a release, without its k.

    Attributes
    ----------
    description : str
        One sentence for people.
    promise : {"k-anonymity", "co-rated", "nothing"}
        What its releases prove; see `PROMISES`.
    make : callable
        Takes k and a seed, and returns an anonymizer.
    has_k : bool
        Whether it takes a k. A baseline takes none: it is one setting.
    is_attacked : bool
        Whether the attacks know what to undo. Where they do not, low rates say nothing, and no
        risk is shown.
    """

    description: str
    promise: Promise
    make: Callable[[int, int], Anonymizer]
    has_k: bool = True
    is_attacked: bool = True


def _predictive(homogenize: Homogenize, grouping: str | None, description: str) -> Method:
    def make(k: int, seed: int) -> Anonymizer:
        return PredictiveAnonymizer(k, homogenize, grouping=grouping, seed=seed)

    return Method(description, "k-anonymity", make)


def _k_corating(fill: str, protect: Protect, description: str) -> Method:
    def make(k: int, seed: int) -> Anonymizer:
        return KCoRater(k, fill, protect=protect, seed=seed)

    promise: Promise = "k-anonymity" if protect == "mean" else "co-rated"
    return Method(description, promise, make)


def _baseline(name: str) -> Method:
    description = BASELINE_DESCRIPTIONS[name].removeprefix("Promises nothing: ")
    return Method(
        description[0].upper() + description[1:],
        "nothing",
        lambda _, seed: BASELINES[name](seed),
        has_k=False,
        is_attacked=name not in NOT_ATTACKED,
    )


_PADDED = (
    "Groups of at least k people get the mean of their rows, empty cells filled by predictions"
)
_SIMPLE = "Groups of at least k people get, for each item, the mean of those of them who rated it"
_FILLED = "Real ratings stay; cells are added until k people have the same items, filled with"

METHODS: dict[str, Method] = {
    "padded": _predictive("padded", None, f"{_PADDED}."),
    "simple": _predictive(
        "simple", None, f"{_SIMPLE}; where one alone did, or all agree, the rating stands."
    ),
    **{
        f"padded-{name}": _predictive("padded", name, f"{_PADDED}; people grouped by {name}.")
        for name in GROUPINGS
    },
    **{
        f"simple-{name}": _predictive("simple", name, f"{_SIMPLE}; people grouped by {name}.")
        for name in GROUPINGS
    },
    "k-corating-item-mean": _k_corating("item-mean", "none", f"{_FILLED} the item's mean."),
    "k-corating-similarity": _k_corating("similarity", "none", f"{_FILLED} similar users' means."),
    "k-corating-funk-svd": _k_corating("funk-svd", "none", f"{_FILLED} predictions."),
    "k-corating-random": _k_corating("random", "none", f"{_FILLED} random values."),
    "k-corating-mean": _k_corating(
        "item-mean",
        "mean",
        "Groups of at least k people get all the items that any of them rated, each with the mean "
        "of their ratings and of fills by the item's mean.",
    ),
    **{name: _baseline(name) for name in BASELINES},
}
# What "all" stands for: one of each kind, and the grouping of the thesis beside our own. The other
# groupings differ little, and can be asked for by name.
ALL = (
    *("padded", "padded-bisecting", "simple", "simple-bisecting"),
    *("k-corating-item-mean", "k-corating-similarity", "k-corating-mean"),
    *BASELINES,
)


def choose_methods(names: Iterable[str]) -> list[str]:
    """Return the names of methods, "all" spelled out, each once.

    Raises
    ------
    RecveilError
        If a name is unknown, or there is none.

    Examples
    --------
    >>> choose_methods(["simple", "raw", "simple"])
    ['simple', 'raw']
    >>> choose_methods(["all"])[:3]
    ['padded', 'padded-bisecting', 'simple']
    """
    chosen: dict[str, None] = {}
    for name in names:
        if name != "all" and name not in METHODS:
            raise RecveilError(f"method {name!r}: expected all, or some of {', '.join(METHODS)}")
        chosen |= dict.fromkeys(ALL if name == "all" else [name])
    if not chosen:
        raise RecveilError(f"no method given; expected all, or some of {', '.join(METHODS)}")
    return list(chosen)
