"""Settings of a comparison, by default too, and an estimate of the time that they take."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from recveil.comparison.cells import Setting
from recveil.methods.registry import has_k
from recveil.ratings import Ratings
from recveil.release.registry import all_variants
from recveil.release.specs.baselines import TODAY
from recveil.runtime.errors import RecveilError, describe_count, listed, suggest_name
from recveil.runtime.number_format import format_duration

# What a table holds, as far as methods differ in their input.
Feedback = Literal["ratings", "likes", "nominal"]
_FITTING: dict[Feedback, tuple[str, ...]] = {
    "ratings": ("ratings", "both", "any"),
    "likes": ("likes", "both", "any"),
    "nominal": ("nominal", "any"),
}


def kind_of(ratings: Ratings) -> Feedback:
    """Return what a table holds; "nominal" are nominal labels.

    >>> kind_of(Ratings.from_columns([1, 2], [7, 7], [4, 5]))
    'ratings'
    """
    if not ratings.scale.ordered:
        return "nominal"
    return "likes" if ratings.is_unary else "ratings"


def usual_methods(*, of: Feedback = "ratings") -> list[str]:
    """Return the methods that "all" selects: one of each kind, and baselines.

    Parameters
    ----------
    of : {"ratings", "likes", "nominal"}
        What the table holds.

    Examples
    --------
    >>> usual_methods()[:4]
    ['padded', 'padded-bisecting', 'simple', 'simple-bisecting']
    >>> usual_methods(of="likes")
    ['k-corating-likes', 'sparse', 'synthetic-10', 'synthetic-3', 'synthetic-1', 'raw']
    >>> usual_methods(of="nominal")
    ['nominal', 'nominal-shares', 'raw']
    """
    known = variants_of(of)
    return [
        name for name, (_, variant) in all_variants().items() if variant.in_all and name in known
    ]


def padding_methods() -> list[str]:
    """Return the methods of the line from simple to padded rows, by their degree of padding.

    >>> padding_methods()
    ['simple', 'padded-0.25', 'padded-0.5', 'padded-0.75', 'padded']
    """
    degrees = {
        name: variant.options["padding"]
        for name, (_, variant) in all_variants().items()
        if "padding" in variant.options
    }
    return ["simple", *sorted(degrees, key=lambda name: degrees[name]), "padded"]


# Names that select several methods.
def _several(of: Feedback) -> dict[str, list[str]]:
    known = variants_of(of)
    padding = [name for name in padding_methods() if name in known]
    several = {"all": usual_methods(of=of), "today": [*dict.fromkeys([*TODAY, *_DEFAULTS[of]])]}
    return several | ({"padding": padding} if padding else {})


def variants_of(of: Feedback) -> list[str]:
    """Return the names of the variants for ratings, likes, or nominal labels."""
    return [name for name, (_, variant) in all_variants().items() if variant.of in _FITTING[of]]


def choose_methods(names: Iterable[str], *, of: Feedback = "ratings") -> list[str]:
    """Return the names of methods, "all", "padding" and "today" spelled out, each once.

    Parameters
    ----------
    names : iterable of str
    of : {"ratings", "likes", "nominal"}
        What releases are to be made of.

    Raises
    ------
    RecveilError
        If a name is unknown, or not of such a table, or there is none.

    Examples
    --------
    >>> choose_methods(["simple", "raw", "simple"])
    ['simple', 'raw']
    >>> choose_methods(["all"])[:3]
    ['padded', 'padded-bisecting', 'simple']
    >>> choose_methods(["padding"])
    ['simple', 'padded-0.25', 'padded-0.5', 'padded-0.75', 'padded']
    >>> choose_methods(["today"])[:5]
    ['raw', 'user-sample', 'netflix-perturbation', 'k-core', 'date-shift']
    """
    fitting = [*dict.fromkeys([*usual_methods(of=of), *variants_of(of)])]
    several = _several(of)
    expected = f"expected all, or some of {listed(fitting, 150)}"
    chosen: dict[str, None] = {}
    for name in names:
        if name not in several and name not in all_variants() and name != "padding":
            raise RecveilError(
                f"method {name!r}{suggest_name(name, fitting)}: {expected}", code="method.unknown"
            )
        if name not in several and name not in fitting:
            raise RecveilError(
                f"method {name!r}: not of {_NAMES[of]}; {expected}", code="method.unsupported"
            )
        chosen |= dict.fromkeys(several.get(name, [name]))
    if not chosen:
        raise RecveilError(f"no method given; {expected}", code="option.required")
    return list(chosen)


def reject_unknown(names: Iterable[str]) -> list[str]:
    """Return the methods known before the table is read; reject unknown names.

    >>> reject_unknown(["nominal", "raw"])
    ['nominal', 'raw']
    """
    chosen: dict[str, None] = {}
    for name in names:
        kinds = (kind for kind in _FITTING if name in variants_of(kind))
        of: Feedback = next(kinds, "ratings")
        chosen |= dict.fromkeys(choose_methods([name], of=of))
    return list(chosen) or choose_methods([])


_NAMES: dict[Feedback, str] = {
    "ratings": "ratings",
    "likes": "likes",
    "nominal": "nominal labels",
}

# The ks of methods that are named without a k.
KS = (2, 3, 5, 10, 20, 50)
_SYNTHETIC: Mapping[str, Sequence[int]] = {
    "synthetic-1": (),
    "synthetic-3": (),
    "synthetic-10": (),
}
# The settings that are compared by default: each method with its ks.
_DEFAULTS: Mapping[Feedback, Mapping[str, Sequence[int]]] = {
    "ratings": {"raw": (), "sparse": (5, 20), "simple": (5,), **_SYNTHETIC},
    "likes": {"raw": (), "sparse": (5, 20), **_SYNTHETIC},
    "nominal": {"raw": (), "nominal": (5, 20)},
}


def default_methods(*, of: Feedback = "ratings") -> list[str]:
    """Return the methods of the default settings."""
    return list(_DEFAULTS[of])


def default_ks(*, of: Feedback = "ratings") -> dict[str, Sequence[int]]:
    """Return the ks of the default settings, of each method that takes a k.

    >>> default_ks()
    {'sparse': (5, 20), 'simple': (5,)}
    """
    return {method: ks for method, ks in _DEFAULTS[of].items() if ks}


def list_settings(
    methods: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    *,
    of: Feedback = "ratings",
) -> list[Setting]:
    """Return every method with every k, and methods without a k once.

    Parameters
    ----------
    methods : sequence of str, optional
        Names of variants, "all", "padding" for all degrees of padding, or "today" for what
        publishers do today and the default settings; by default a few that cover the kinds of
        guarantees.
    ks : sequence of int, optional
        By default those of the default settings, also with "today", and else 2, 3, 5, 10, 20 and 50
        of named methods.
    of : {"ratings", "likes", "nominal"}
        What the table holds.

    Raises
    ------
    RecveilError
        If a name is unknown or not of such a table, a k is below 2, or there is no setting.

    Examples
    --------
    >>> [setting.title for setting in list_settings()][:4]
    ['raw', 'sparse, k = 5', 'sparse, k = 20', 'simple, k = 5']
    >>> [setting.title for setting in list_settings(ks=[9], of="nominal")]
    ['raw', 'nominal, k = 9']
    >>> len(list_settings(["simple"])), len(list_settings(["simple", "raw"], [5]))
    (6, 2)
    >>> [setting.title for setting in list_settings(["today"])][3:6]
    ['k-core', 'date-shift', 'sparse, k = 5']
    """
    check_ks(ks)
    names = default_methods(of=of) if methods is None else choose_methods(methods, of=of)
    usual = _DEFAULTS[of] if methods is None or "today" in methods else {}
    settings = []
    for method in names:
        if has_k(method):
            each = usual.get(method, KS) if ks is None else ks
            settings += [Setting(method, k) for k in dict.fromkeys(each)]
        else:
            settings.append(Setting(method, None))
    if not settings:
        raise RecveilError("no k given; expected some, such as 2, 5, 10", code="option.required")
    return settings


def check_ks(ks: Iterable[int] | None) -> None:
    """Reject a k below 2."""
    for k in ks or ():
        if k < 2:
            raise RecveilError(
                f"k is {k}; expected a whole number of at least 2", code="option.value"
            )


class Estimate(NamedTuple):
    """The settings of a comparison, and about how long they take.

    >>> Estimate(3, 1, {"raw": 30.0, "sparse, k = 5": 40.0}).total_seconds
    70.0
    """

    n_settings: int
    n_finished: int  # settings that an earlier run finished
    # About how long each of the others takes on two cores, by its title
    seconds: Mapping[str, float]
    n_outdated: int = 0  # results of another version or input, to be computed again

    @property
    def total_seconds(self) -> float:
        """About how long all of them take on two cores."""
        return sum(self.seconds.values())

    def sentence(self) -> str:
        """Describe the estimate, and how it is made.

        >>> from textwrap import fill
        >>> seconds = {"raw": 60.0, "sparse, k = 5": 70.0}
        >>> print(fill(Estimate(3, 1, seconds).sentence(), 88))
        Comparing 3 settings, 1 of them finished earlier: raw; sparse, k = 5. About 2 min on two
        idle cores, estimated from the size of the table.
        """
        finished = f", {self.n_finished:,} of them finished earlier" if self.n_finished else ""
        count = f"Comparing {describe_count(self.n_settings, 'setting')}{finished}"
        if not self.seconds:
            return f"{count}."
        outdated = ""
        if self.n_outdated:
            results = describe_count(self.n_outdated, "stored result")
            outdated = (
                f" {results} {'is' if self.n_outdated == 1 else 'are'} of another version, input "
                f"or option, and computed again."
            )
        return (
            f"{count}: {'; '.join(self.seconds)}. About {format_duration(self.total_seconds)} on "
            f"two idle cores, estimated from the size of the table.{outdated}"
        )


# Seconds on two cores: of a setting whatever its size, of each user, of each rating, and of each
# pair of items. Fitted to the CPU time (user and system) of the default settings on MovieLens 100K
# (68 s) and 1M (308 s), FilmTrust (65 s), ml-latest-small (226 s), generated tables of 200 users
# and 60 items (14 s) and of 2,276 users and 3,055 items (130 s), and a sample of 9,604 users of a
# table of 100 million ratings and 17,770 items (854 s); all are within a factor of 1.3.
_SETTING, _USER, _RATING, _ITEM_PAIR = 0.85, 6e-3, 4e-6, 2.5e-7
# A shadow release of a half of the users, and measuring the raw table, in settings.
_SHADOW, _RAW = 0.12, 1.0


def estimate_settings(
    settings: Sequence[Setting],
    n_settings: int,
    ratings: Ratings,
    shadows: int | None,
    n_outdated: int = 0,
) -> Estimate:
    """Estimate the time of unfinished settings by the table's size; one measures the raw table.

    >>> ratings = Ratings.from_columns([1, 2], [7, 7], [4, 5])
    >>> settings = [Setting("simple", 5), Setting("sparse", 5)]
    >>> estimate = estimate_settings(settings, 3, ratings, shadows=None)
    >>> estimate.n_finished, {title: round(of) for title, of in estimate.seconds.items()}
    (1, {'simple, k = 5': 2, 'sparse, k = 5': 1})
    """
    one = _SETTING + _USER * ratings.n_users + _RATING * ratings.n_ratings
    one += _ITEM_PAIR * ratings.n_items**2
    each = one * (1 + _SHADOW * (shadows or 0))
    seconds = {setting.title: each for setting in settings}
    if all(setting.method != "raw" for setting in settings):  # which measures the raw table
        for setting in settings[:1]:
            seconds[setting.title] += one * _RAW
    return Estimate(n_settings, n_settings - len(settings), seconds, n_outdated)
