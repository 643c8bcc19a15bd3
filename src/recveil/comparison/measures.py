"""Measures of a setting and their registry: rows, JSON, table and panels follow from it alone.

Each risk is measured by the adversary who is strongest on that risk: the one who re-identifies most
users need not identify most equivalence classes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from recveil.attacks.membership.inference import KNOWN
from recveil.attacks.statistics import FEWEST
from recveil.auditing.shadow_releases import KNOWN_RATINGS
from recveil.comparison.cells import AttackFigures, Cell, ShadowFigures, dig
from recveil.release.registry import variant_of
from recveil.runtime.errors import RecveilError

Value: TypeAlias = str | int | float | bool
Getter: TypeAlias = Callable[[Cell], Any]
# A figure with its interval, and for a risk its adversary and its baseline.
Figure: TypeAlias = Mapping[str, Any] | None


class Line(NamedTuple):
    """A horizontal reference line of a panel.

    Attributes
    ----------
    name : str
        Its display name.
    height : float or tuple of str
        Its value, or the nested keys of the value in a comparison's reference. Without a value
        there is no line.
    """

    name: str
    height: float | tuple[str, ...]


class Panel(NamedTuple):
    """A small chart of a measure against k, on the page.

    Attributes
    ----------
    title : str
    format : str
        Number format of the axis, in d3's syntax: ".0%" or ".2f".
    lines : tuple of Line
    """

    title: str
    format: str
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Measure:
    """One measure of every setting.

    It is an attribute of each `Row`, a key of each row in JSON, a column of the Parquet table, and
    optionally a panel of the page.

    Parameters
    ----------
    name : str
        Its name in rows, JSON and tables.
    description : str
    kind : type
        One of str, int, float and bool.
    take : callable
        Takes the finished `Cell` of a setting, and returns the value; None if it could not be
        measured.
    format : str
        Number format: as in Python (".2f"), or "%" for a share in percent.
    better : {"up", "down"}, optional
        Which values are better, if that is defined.
    panel : Panel, optional
        Needs `better`.

    Raises
    ------
    RecveilError
        If the name, the kind or the direction is invalid, or a panel lacks what it needs.

    Examples
    --------
    >>> from recveil.comparison.cells import Setting
    >>> mae = Measure("mae", "The mean error", float, lambda cell: cell.figure("mae"), ".4f")
    >>> mae.of(Cell("key", Setting("raw", None), evaluation={"mae": 0.7}))
    0.7
    """

    name: str
    description: str
    kind: type[str] | type[int] | type[float] | type[bool]
    take: Getter
    format: str = ""
    better: Literal["up", "down"] | None = None
    panel: Panel | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name.startswith("_"):
            raise RecveilError(
                f"measure {self.name!r}: expected a name of letters, digits and underscores that "
                f"begins with a letter",
                code="argument.value",
            )
        if self.kind not in (str, int, float, bool):
            raise RecveilError(
                f"measure {self.name!r}: kind is {self.kind!r}; expected str, int, float or bool",
                code="argument.value",
            )
        if self.better not in ("up", "down", None):
            raise RecveilError(
                f"measure {self.name!r}: better is {self.better!r}; expected 'up', 'down' or None",
                code="argument.value",
            )
        if self.panel is not None and (self.kind not in (int, float) or self.better is None):
            raise RecveilError(
                f"measure {self.name!r}: a panel needs numbers (kind int or float), and better "
                f"('up' or 'down')",
                code="argument.value",
            )

    def of(self, cell: Cell) -> Value | None:
        """Return its value in a finished cell; None if it could not be measured.

        Raises
        ------
        RecveilError
            If the value is not of its kind.
        """
        value: Value | None = self.take(cell)
        self.check(value)
        return value

    def check(self, value: object) -> None:
        """Reject a value that is neither None nor of its kind; a whole number is a float, too."""
        kinds = (int, float) if self.kind is float else self.kind
        is_right = isinstance(value, kinds) and isinstance(value, bool) == (self.kind is bool)
        is_finite = not isinstance(value, float) or bool(np.isfinite(value))
        if value is not None and not (is_right and is_finite):
            raise RecveilError(
                f"measure {self.name!r}: its value is {str(value)[:40]} ({type(value).__name__}); "
                f"expected {self.kind.__name__}, or None for what could not be measured",
                code="argument.result",
            )


def _path(*path: str) -> Getter:
    """Return a getter for nested keys of the evaluation."""
    return lambda cell: cell.figure(*path)


def _strongest(*path: str) -> Getter:
    """Return a getter for the adversary with a number of ratings who re-identifies most users."""
    return lambda cell: dig(cell.strongest, *path)


def _key(take: Callable[[Cell], Figure], key: str) -> Getter:
    return lambda cell: dig(take(cell), key)


def _figure(
    name: str,
    description: str,
    take: Callable[[Cell], Figure],
    form: str,
    better: Literal["up", "down"] | None,
    panel: Panel | None = None,
    key: str = "value",
) -> tuple[Measure, ...]:
    """Return the measures of a figure and of the ends of its 95% interval."""
    low = f"The lower end of the 95% interval of {name}"
    high = f"The upper end of the 95% interval of {name}"
    return (
        Measure(name, description, float, _key(take, key), form, better, panel),
        Measure(f"{name}_low", low, float, _key(take, "low"), form),
        Measure(f"{name}_high", high, float, _key(take, "high"), form),
    )


def _risk(
    name: str,
    description: str,
    take: Callable[[Cell], Figure],
    baseline: str,
    panel: Panel | None = None,
) -> tuple[Measure, ...]:
    """Return the measures of a risk, its interval, its adversary and its baseline."""
    return (
        *_figure(name, description, take, "%", "down", panel, "rate"),
        Measure(f"{name}_by", f"The adversary with the highest {name}", str, _key(take, "by")),
        Measure(f"{name}_baseline", baseline, float, _key(take, "baseline"), "%"),
    )


def _auc(
    name: str, description: str, take: Callable[[Cell], Figure], title: str
) -> tuple[Measure, ...]:
    panel = Panel(title, ".2f", (Line("random guess", 0.5),))
    return _figure(name, description, take, ".2f", "down", panel, "rate")


# Number of an adversary's targets, in JSON.
_REQUESTED = "targets_requested"
# TPR of a random guess at 5% FPR.
_RANDOM_TPR = 0.05


def _attacks_of(cell: Cell) -> list[AttackFigures]:
    """Return the adversaries' results; empty where no attack fits the method."""
    return cell.attacks if variant_of(cell.setting.method).is_attacked else []


def _disclosure(cell: Cell, name: str) -> Any:
    is_attacked = variant_of(cell.setting.method).is_attacked
    return cell.figure("disclosure", name) if is_attacked else None


def _highest(figures: Iterable[Mapping[str, Any]]) -> Figure:
    """Return the figure with the highest rate; None if none was measured.

    >>> _highest([{"by": "a", "rate": 0.1}, {"by": "b", "rate": 0.4}, {"by": "c", "rate": None}])
    {'by': 'b', 'rate': 0.4}
    >>> _highest([])
    """
    measured = [figure for figure in figures if figure["rate"] is not None]
    return max(measured, key=lambda figure: figure["rate"]) if measured else None


def _reidentified(cell: Cell) -> Figure:
    """Return the rate of the strongest adversary; its interval ends at the proven bound."""
    strongest = _highest(
        {**one, **one["reidentified"], "by": one["name"]} for one in cell.reidentifications
    )
    if strongest is None or strongest["high"] is None or cell.bound is None:
        return strongest
    return {**strongest, "high": max(strongest["rate"], min(strongest["high"], cell.bound))}


def _without_targets(cell: Cell) -> str | None:
    """Name the adversaries who attacked no target, as none has enough ratings that they know."""
    names = [attack["name"] for attack in _attacks_of(cell) if not attack["targets_attacked"]]
    return "; ".join(names) or None


def _class_reidentified(cell: Cell) -> Figure:
    return _highest(
        {**one, **one["class_reidentified"], "by": one["name"], "baseline": one["class_baseline"]}
        for one in cell.reidentifications
    )


def _membership(cell: Cell) -> Figure:
    """Return the best TPR at 5% FPR, if there are enough users; the best AUC may be another's."""
    by_known = _disclosure(cell, "membership") or {}
    return _highest(
        {"by": _knowing(known), **by_known[known]["tpr_at_5"], "baseline": _RANDOM_TPR}
        for known in KNOWN
        if known in by_known and by_known[known]["is_measured"]
    )


def _shadow_tpr(cell: Cell) -> Figure:
    return _highest(
        {"by": _knowing(known), **figures["tpr_at_5"], "baseline": _RANDOM_TPR}
        for known, figures in _by_shadows(cell).items()
    )


def _shadow_auc(cell: Cell) -> Figure:
    """Return the best AUC with shadow releases; its baseline is that of item counts."""
    return _highest(
        {**figures["auc"], "baseline": figures["counts_auc"]["rate"]}
        for figures in _by_shadows(cell).values()
    )


def _by_shadows(cell: Cell) -> dict[str, ShadowFigures]:
    """Return the results of shadow releases with at least 20 users in each half."""
    by_known = cell.shadows if variant_of(cell.setting.method).is_attacked else None
    return {
        known: by_known[known]
        for known in KNOWN_RATINGS
        if by_known is not None and known in by_known and by_known[known]["users"] >= 2 * FEWEST
    }


def _knowing(known: str) -> str:
    return f"adversary with {known} exact ratings"


def _links(cell: Cell) -> Figure:
    """Return the links that rows reveal, or that a fit reveals where rows have all items."""
    figures = [
        {"by": attack["name"], **attack["links"], "baseline": attack["link_baseline"]}
        for attack in _attacks_of(cell)
    ]
    residual = _disclosure(cell, "residual")
    if residual is not None:
        baseline = residual["popularity_recall_at_95"]
        fitted = residual["intervals"]["recall_at_95"]
        figures.append({"by": "fit of all rows", **fitted, "baseline": baseline})
    return _highest(figures)


def _links_auc(cell: Cell) -> Figure:
    """Return the AUC of a fit of all rows over pairs, and that of popularity alone."""
    residual = _disclosure(cell, "residual")
    if residual is None:
        return None
    return _highest([{**residual["intervals"]["auc"], "baseline": residual["popularity_auc"]}])


def _nominal(side: str) -> Callable[[Cell], Figure]:
    """Return a getter for the accuracy of predicted nominal labels; None for other tables."""

    def take(cell: Cell) -> Figure:
        figures: Mapping[str, Any] = cell.figure("recipient", side) or {}
        return figures if "accuracy" in figures else None

    return take


def _row_accuracy(name: str) -> Callable[[Cell], Figure]:
    """Return a getter for held-out labels in users' own rows; None for other tables."""
    return lambda cell: dig((cell.evaluation or {}).get("row_accuracy"), name)


def _is_below_averages(cell: Cell) -> bool | None:
    high = cell.figure("recipient", "release_gain", "high")
    return None if high is None else high < 0


def _retained(choice: str, name: str) -> Callable[[Cell], Figure]:
    """Return a getter for a retained share: of ratings, lists, or lists above popularity."""
    return _path("recipient", "utility_retained", choice, name)


def _gap(kind: str) -> Callable[[Cell], Any]:
    """Return a getter for the gap between groups that a release widens most."""

    def take(cell: Cell) -> Any:
        divisions = (cell.evaluation or {}).get("divisions") or []
        gaps = [each[kind] for each in divisions if each[kind] is not None]
        return max(gaps, key=lambda gap: gap["adds"]["value"], default=None)

    return take


def _gap_measures(kind: str, metric: str, how: str) -> tuple[Measure, ...]:
    take = _gap(kind)
    return (
        *_figure(
            f"{kind}_gap",
            f"The share by which the {metric} of the worst-served group is {how} that of the "
            f"best-served group, in the division whose gap the release widens most",
            lambda cell: dig(take(cell), "release"),
            "%",
            "down",
        ),
        Measure(
            f"raw_{kind}_gap",
            "The largest gap of the same division from the raw data",
            float,
            lambda cell: dig(take(cell), "raw", "value"),
            "%",
        ),
        *_figure(
            f"{kind}_gap_added",
            "Their difference",
            lambda cell: dig(take(cell), "adds"),
            "%",
            "down",
        ),
        Measure(
            f"{kind}_gap_groups",
            "The worst-served and the best-served group",
            str,
            lambda cell: None if (gap := take(cell)) is None else f"{gap['worst']}, {gap['best']}",
        ),
    )


def _attribute_added(cell: Cell) -> Figure:
    """Return the largest AUC that a release adds, and what a random row adds."""
    return _highest(
        {
            "by": name,
            **each["adds"],
            "rate": each["adds"]["mean"],
            "baseline": each["control"]["mean"],
        }
        for name, each in (cell.attributes or {}).items()
    )


_PRIVACY = (
    Measure(
        "verified_k",
        "Users per row (or set of items) at least, as counted in the written files",
        int,
        lambda cell: cell.counted_k,
    ),
    Measure(
        "bound",
        "1 / k if the release claims k-anonymity: no attack on it alone re-identifies more",
        float,
        lambda cell: cell.bound,
        "%",
        "down",
    ),
    *_risk(
        "risk",
        "The share of the targets who are re-identified (a pick among the s users of the best "
        "class counts 1/s); the interval ends at the bound. None where the attacks do not undo the "
        "method",
        _reidentified,
        "The same by a random guess",
        Panel("Users re-identified", ".0%"),
    ),
    *_risk(
        "attribute_added",
        "The AUC that the best row adds to what eight ratings of a user reveal about a declared "
        "attribute, of the attribute to which it adds most",
        _attribute_added,
        "The same with a random row of nearly as many items",
    ),
    Measure("attack", "The attack of that adversary", str, _key(_reidentified, "attack")),
    Measure("risk_targets", "The targets of that adversary", int, _key(_reidentified, _REQUESTED)),
    Measure(
        "targets",
        "Targets of each adversary who knows a number of ratings",
        int,
        _strongest(_REQUESTED),
    ),
    Measure(
        "targets_attacked",
        "Those of whom enough could be known for the strongest of these; the others count as not "
        "re-identified",
        int,
        _strongest("targets_attacked"),
    ),
    Measure(
        "most_targets_attacked",
        "The same of the adversary who could attack most targets",
        int,
        lambda cell: max((attack["targets_attacked"] for attack in cell.attacks), default=None),
    ),
    Measure(
        "adversaries_without_targets",
        "The adversaries who could attack no target, whose risk is unknown",
        str,
        _without_targets,
    ),
    Measure(
        "class_reidentified",
        "The share of the targets whose equivalence class the adversary of the risk re-identifies",
        float,
        lambda cell: dig(_reidentified(cell), "class_reidentified", "rate"),
        "%",
        "down",
    ),
    Measure(
        "link_precision",
        "The share of the best row's other items that the target rated",
        float,
        _strongest("link_precision"),
        "%",
        "down",
        Panel("Precision of links", ".0%"),
    ),
    Measure(
        "link_baseline", "The same by popularity alone", float, _strongest("link_baseline"), "%"
    ),
    Measure(
        "exact_share",
        "The share of re-identified users' other ratings that the row has exactly",
        float,
        _strongest("exact_share"),
        "%",
        "down",
    ),
    Measure(
        "lone_share",
        "With simple homogenizing, the share of all ratings that are published unchanged because "
        "no other user of the cluster rated the item",
        float,
        lambda cell: cell.lone_share,
        "%",
        "down",
    ),
    Measure(
        "published_share",
        "The share of the release's users' ratings that are published exactly, for any reason",
        float,
        _path("disclosure", "ratings_exact"),
        "%",
        "down",
    ),
    *_auc(
        "membership_auc",
        "AUC of membership inference: 0.5 is a random guess, 1 is certainty",
        lambda cell: cell.membership,
        "Membership inference (AUC)",
    ),
    Measure(
        "target_rmse",
        "Target deviation of Chang et al.: RMSE of the values of a user's own row against the "
        "user's held-out ratings, an absent value counted as 0",
        float,
        _path("target_deviation", "rmse"),
        ".2f",
        "down",
    ),
    Measure(
        "target_rmse_present",
        "The same of present values alone",
        float,
        _path("target_deviation", "rmse_present"),
        ".2f",
        "down",
        Panel("RMSE of the user’s own row", ".2f"),
    ),
    Measure(
        "target_absent",
        "The share of held-out ratings that the user's own row has no value for",
        float,
        _path("target_deviation", "null_share"),
        "%",
        "down",
        Panel("Held-out ratings absent from the user’s own row", ".0%"),
    ),
    *_risk(
        "class_risk",
        "The share of the targets whose equivalence class is re-identified, by the adversary with "
        "the highest share. Large classes are few and easier to identify",
        _class_reidentified,
        "The same by always choosing the largest class",
    ),
    Measure(
        "class_risk_targets",
        "The targets of that adversary",
        int,
        _key(_class_reidentified, _REQUESTED),
    ),
    *_risk(
        "membership_tpr",
        "Membership inference: the TPR at 5% FPR of the strongest adversary",
        _membership,
        "The same by a random guess",
    ),
    Measure(
        "membership_bound",
        "The highest TPR at 5% FPR of any test whether a given user was in the data, if the "
        "release is differentially private",
        float,
        lambda cell: cell.membership_bound,
        "%",
        "down",
    ),
    *_risk(
        "shadow_tpr",
        "Membership inference with shadow releases of halves of the users: the TPR at 5% FPR",
        _shadow_tpr,
        "The same by a random guess",
    ),
    *_auc(
        "shadow_auc",
        "AUC of membership inference with shadow releases",
        _shadow_auc,
        "Membership inference with shadow releases (AUC)",
    ),
    Measure(
        "shadow_auc_baseline",
        "The same from exact item counts, if nothing else were published",
        float,
        _key(_shadow_auc, "baseline"),
        ".2f",
    ),
    *_risk(
        "links_inferred",
        "Who rated what: the share of the best row's other items that the target rated, by the "
        "adversary with the highest share; or, where rows have all items, the share of the pairs "
        "of a row and an item that a user of the row rated which a fit of all rows marks, with "
        "95% precision. The higher of both",
        _links,
        "The same by popularity alone",
    ),
    *_auc(
        "links_auc",
        "Where rows have all items: AUC of a fit of all rows over pairs of a row and an item that "
        "a user of the row rated or not",
        _links_auc,
        "Who rated what? Fit of all rows (AUC)",
    ),
    Measure(
        "links_auc_baseline",
        "The same by popularity alone",
        float,
        _key(_links_auc, "baseline"),
        ".2f",
    ),
)

_RAW_RMSE = Line("raw data", ("raw", "rmse")), Line("averages", ("averages", "rmse"))
_RAW_NDCG = (
    Line("raw data", ("raw", "ndcg@10")),
    Line("popularity", ("popularity", "ndcg@10")),
)
_RAW_ACCURACY = (
    Line("raw data", ("raw", "accuracy")),
    Line("most frequent labels", ("averages", "accuracy")),
)

_COVERAGE = (
    Measure(
        "items_kept",
        "The share of the table's items that have a value in the release",
        float,
        _path("coverage", "item_share"),
        "%",
        "up",
    ),
    Measure(
        "ratings_kept",
        "The share of the table's ratings whose item the release has",
        float,
        _path("coverage", "rating_share"),
        "%",
        "up",
    ),
    Measure(
        "short_users",
        "The number of published users with fewer than 3 values, imputed ones not counted",
        int,
        _path("coverage", "n_short_users"),
        "",
        "down",
    ),
)
_UTILITY = (
    *_figure(
        "gain_retained",
        "The retained share of the collaborative gain, as measured: 1 is as good as the raw data, "
        "0 is no better than averages, less is worse. Above 1, it counts as as good as raw",
        _retained("chosen", "ratings"),
        "%",
        "up",
    ),
    Measure(
        "is_gain_reliable",
        "Whether the gain of the raw data is large enough for shares of it to be meaningful",
        bool,
        _path("recipient", "raw_gain", "is_reliable"),
    ),
    Measure(
        "gain_unreliable_reason",
        "Why it is not: too-few-users, no-variation or imprecise",
        str,
        _path("recipient", "raw_gain", "unreliable_reason"),
    ),
    Measure(
        "n_judged",
        "Users whose ratings were predicted",
        int,
        _path("recipient", "raw_gain", "n_judged"),
    ),
    Measure(
        "is_below_averages",
        "Whether the release's RMSE is significantly above that of averages of the raw data",
        bool,
        _is_below_averages,
    ),
    *_figure(
        "raw_gain",
        "The gain of the raw data: the RMSE of averages minus theirs",
        _path("recipient", "raw_gain"),
        ".4f",
        None,
    ),
    Measure(
        "raw_rmse",
        "The RMSE of the raw data",
        float,
        _path("recipient", "raw", "rmse"),
        ".4f",
    ),
    Measure(
        "averages_rmse",
        "The RMSE of averages",
        float,
        _path("recipient", "averages", "rmse"),
        ".4f",
    ),
    Measure(
        "recommender",
        "The recommender that a recipient of the release would choose to predict ratings",
        str,
        _path("recipient", "release", "recommender"),
    ),
    Measure(
        "rmse",
        "Its RMSE on held-out original ratings",
        float,
        _path("recipient", "release", "rmse"),
        ".4f",
        "down",
        Panel("RMSE", ".3f", _RAW_RMSE),
    ),
    Measure(
        "mae",
        "Its mean absolute error on them",
        float,
        _path("recipient", "release", "mae"),
        ".4f",
        "down",
    ),
    Measure(
        "best_recommender",
        "The best one on these ratings, which a recipient cannot know in advance",
        str,
        _path("recipient", "best", "release", "recommender"),
    ),
    Measure(
        "best_rmse",
        "Its RMSE",
        float,
        _path("recipient", "best", "release", "rmse"),
        ".4f",
        "down",
    ),
    Measure(
        "best_gain_retained",
        "The share it retains of the gain of the raw data's best",
        float,
        _key(_retained("best", "ratings"), "value"),
        "%",
        "up",
    ),
    *_figure(
        "nominal_accuracy",
        "Of nominal labels: the share of users' held-out labels that a recipient of the release "
        "predicts correctly from their other labels",
        _nominal("release"),
        "%",
        "up",
        Panel("Accuracy of labels", ".0%", _RAW_ACCURACY),
        "accuracy",
    ),
    Measure(
        "raw_nominal_accuracy",
        "The same from the raw data",
        float,
        _key(_nominal("raw"), "accuracy"),
        "%",
        "up",
    ),
    Measure(
        "baseline_nominal_accuracy",
        "The same by each item's most frequent label, which needs no release",
        float,
        _key(_nominal("averages"), "accuracy"),
        "%",
        "up",
    ),
    Measure(
        "row_accuracy",
        "The share of users' held-out labels that equal those of their own row; an absent label "
        "counts as wrong",
        float,
        _key(_row_accuracy("accuracy"), "mean"),
        "%",
        "up",
    ),
    *_figure(
        "row_accuracy_gain",
        "How much that is above each item's most frequent label",
        _row_accuracy("gain"),
        "%",
        "up",
        key="mean",
    ),
    Measure(
        "ranker",
        "The recommender that a recipient would choose to make lists",
        str,
        _path("recipient", "lists", "release", "recommender"),
    ),
    Measure(
        "ndcg",
        "nDCG of its lists of ten: 1 is the best possible order",
        float,
        _path("recipient", "lists", "release", "ndcg@10"),
        ".3f",
        "up",
        Panel("nDCG@10", ".3f", _RAW_NDCG),
    ),
    Measure(
        "recall",
        "The share of relevant items in its lists of ten",
        float,
        _path("recipient", "lists", "release", "recall@10"),
        ".3f",
        "up",
        Panel("Recall@10", ".3f", (Line("raw data", ("raw", "recall@10")),)),
    ),
    *_figure(
        "ndcg_retained",
        "The retained share of the nDCG of the best lists of the raw data, by the ranker that "
        "would be chosen on the release. Rankings can lose much where RMSE loses nothing",
        _retained("chosen", "lists"),
        "%",
        "up",
    ),
    *_figure(
        "lists_gain_retained",
        "The same above popularity: 1 is as good as the best lists of the raw data, 0 is the same "
        "popular items for every user, less is worse",
        _retained("chosen", "lists_gain"),
        "%",
        "up",
    ),
    Measure(
        "popularity_ndcg",
        "The nDCG of lists of popular items, learned from the raw data",
        float,
        _path("recipient", "popularity", "ndcg@10"),
        ".3f",
    ),
    Measure(
        "is_ndcg_reliable",
        "Whether the lists of the raw data are good enough for shares of their nDCG to be "
        "meaningful",
        bool,
        _path("recipient", "raw_lists", "is_reliable"),
    ),
    Measure(
        "ndcg_unreliable_reason",
        "Why they are not; no-liked-labels if lists were not evaluated",
        str,
        _path("recipient", "raw_lists", "unreliable_reason"),
    ),
    Measure(
        "n_ranked",
        "Users whose lists were evaluated: those with a relevant held-out item",
        int,
        _path("recipient", "raw_lists", "n_ranked"),
    ),
    Measure(
        "raw_ranker",
        "The best ranker on the raw data; shares are of its lists",
        str,
        _path("recipient", "lists", "best_raw", "recommender"),
    ),
    Measure(
        "best_ranker",
        "The best ranker on the release, which a recipient cannot know in advance",
        str,
        _path("recipient", "best", "release", "ranker"),
    ),
    Measure(
        "best_ndcg",
        "Its nDCG",
        float,
        _path("recipient", "best", "release", "ndcg@10"),
        ".3f",
        "up",
    ),
    Measure(
        "best_ndcg_retained",
        "The share it retains of the nDCG of the raw data's best",
        float,
        _key(_retained("best", "lists"), "value"),
        "%",
        "up",
    ),
    *_gap_measures("lists", "nDCG@10", "below"),
    *_gap_measures("ratings", "RMSE", "above"),
    Measure(
        "order_tau",
        "Kendall's tau of the order of recommenders by RMSE on the release and on the raw data",
        float,
        _path("carry_over", "tau_rmse"),
        ".2f",
        "up",
        Panel("Order of recommenders (τ)", ".2f"),
    ),
    Measure(
        "popularity_correlation",
        "Spearman's rank correlation of item popularity",
        float,
        _path("fidelity", "popularity_correlation"),
        ".2f",
        "up",
        Panel("Item popularity (ρ)", ".2f"),
    ),
    Measure(
        "rated_share_error",
        "Mean error of the share of users who rated an item",
        float,
        _path("fidelity", "rated_share_error"),
        "%",
        "down",
    ),
    Measure(
        "item_mean_rmse",
        "RMSE of the items' mean ratings, in rating points",
        float,
        _path("fidelity", "item_mean_rmse"),
        ".2f",
        "down",
        Panel("RMSE of item means", ".2f"),
    ),
    Measure(
        "similarity_correlation",
        "Correlation of item-item similarities",
        float,
        _path("fidelity", "similarity_correlation"),
        ".2f",
        "up",
    ),
    Measure(
        "seconds",
        "Seconds to make the release",
        float,
        lambda cell: cell.seconds.get("anonymize"),
        ".2f",
        "down",
    ),
)

# Fields of a row that describe its setting.
SETTING_FIELDS = ("method", "k", "promise", "problem")
# Further keys of rows in JSON.
_FURTHER = ("title", "utility_retained")

MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (*_PRIVACY, *_COVERAGE, *_UTILITY)
}


def register_measure(measure: Measure) -> None:
    """Add a measure to all comparisons, after the others.

    Finished cells get it, too, from the results that they hold.

    Raises
    ------
    RecveilError
        If its name is taken.

    Examples
    --------
    >>> register_measure(Measure("risk", "Another one", float, lambda cell: None))
    Traceback (most recent call last):
        ...
    recveil.RecveilError: measure 'risk': the name is taken; choose another one
    """
    if measure.name in (*SETTING_FIELDS, *_FURTHER, *MEASURES):
        raise RecveilError(
            f"measure {measure.name!r}: the name is taken; choose another one",
            code="argument.value",
        )
    MEASURES[measure.name] = measure


def measure_named(name: str) -> Measure:
    """Return a measure.

    >>> measure_named("rmse").better
    'down'
    """
    if name not in MEASURES:
        raise RecveilError(
            f"measure {name!r} is unknown; expected a name from recveil.comparison.MEASURES, or "
            f"register it first (register_measure)",
            code="argument.value",
        )
    return MEASURES[name]
