"""Figures of an audit by the three risks of the EU's Article 29 Working Party (WP216)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recveil.attacks import Interval, Mean, ReleaseAttack
from recveil.attacks.inference.fills import InferredFills
from recveil.attacks.inference.similar_items import InferredItems
from recveil.attacks.membership.recommenders import RecommenderInference
from recveil.attacks.statistics import FEWEST
from recveil.auditing.attribute_inference import AttributeInference
from recveil.auditing.release_attacks import AttackedRelease, AttackedSynthetic, Content, Linkage
from recveil.auditing.sensitive import SensitiveDisclosure
from recveil.auditing.table_attacks import GraphAttack, Outcome
from recveil.release.claim import bounds_of
from recveil.runtime.reportable import Reportable

SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
# Adversaries who know everything about a target
BY_ALL, BY_ALL_AND_ROWS = "all ratings", "all ratings, rows of others"
AND_ATTRIBUTES = {
    BY_ALL: "all ratings, attributes",
    BY_ALL_AND_ROWS: "all ratings, attributes, rows of others",
}
# Why a risk was not measured
FEW_RATINGS = "few-ratings"  # of each target
NO_RECORD = "no-record"  # belongs to a user
NOT_REPEATED = "not-repeated"  # such a release could not be made of some of the users
NO_FIGURE = "no-figure"  # applies to such a release, or too few users remain
NO_ATTACK = "no-attack"  # on what a recommender publishes


@dataclass(frozen=True)
class RiskFigure(Reportable):
    """A measured figure that is evidence of one risk.

    Parameters
    ----------
    name : str
        What was measured, such as "user re-identified".
    rate : Interval
        A share, or an area under the curve if `is_area`.
    baseline : float
        What a trivial method reaches.
    control : Interval or None
        The same attack where there is nothing to find; None where the baseline takes its place.
    adversary : str
        Who attacked, or what was inferred from.
    bound : float or None
        What the release guarantees for this figure.
    attacked : int or None
        Targets with enough ratings, if the others count as misses in `rate`.
    is_area : bool
    difference : Mean or None
        The rate less the control, with the interval of their difference.
    """

    name: str
    rate: Interval
    baseline: float
    control: Interval | None = None
    adversary: str = ""
    bound: float | None = None
    attacked: int | None = None
    is_area: bool = False
    difference: Mean | None = None

    @property
    def reference(self) -> float:
        """The baseline or the control, whichever is higher."""
        control = -1.0 if self.control is None else self.control.ranked
        return max(self.baseline, control)

    @property
    def excess(self) -> float:
        """The share of what the reference misses that the attack gains: 0 is none, 1 is all."""
        return self._excess_of(self.rate.rate)

    def _excess_of(self, rate: float) -> float:
        return (rate - self.reference) / max(1 - self.reference, 1e-9)

    @property
    def is_shown(self) -> bool:
        """Whether the interval is above the reference, or that of the difference above 0."""
        if self.difference is not None:
            return self.difference.low > 0
        return self.rate.low > self.reference

    @property
    def order(self) -> tuple[bool, float]:
        """The key by which the figures of a risk are sorted, the strongest first."""
        # Of few trials, the lower end of the interval counts.
        rate = self.rate.low if self.rate.trials < FEWEST else self.rate.rate
        return not self.is_shown, -self._excess_of(rate)


@dataclass(frozen=True)
class RiskLine(Reportable):
    """One risk, and all figures that measure it.

    Parameters
    ----------
    risk : str
    figures : tuple of RiskFigure
        The strongest first: those whose interval is above their reference, by excess; of fewer
        than 20 trials, by the excess of the lower end.
    unmeasured : str
        A code for why there are no figures; empty if there are.
    bound : float or None
        Without figures: what the release guarantees all the same.
    """

    risk: str
    figures: tuple[RiskFigure, ...]
    unmeasured: str = ""
    bound: float | None = None

    @property
    def strongest(self) -> RiskFigure | None:
        """The figure that represents the risk."""
        return self.figures[0] if self.figures else None


@dataclass(frozen=True)
class Risks(Reportable):
    """Singling out, linkability and inference, of a table or of a release.

    Parameters
    ----------
    where : str
        "table", or the name of the release.
    singling_out, linkability, inference : RiskLine
    is_unary, is_nominal : bool
        Whether the table has likes, or labels without an order, in place of ratings.
    """

    where: str
    singling_out: RiskLine
    linkability: RiskLine
    inference: RiskLine
    is_unary: bool = False
    is_nominal: bool = False

    @property
    def lines(self) -> tuple[RiskLine, RiskLine, RiskLine]:
        """The three lines, in the Working Party's order."""
        return self.singling_out, self.linkability, self.inference

    @property
    def highest(self) -> RiskLine | None:
        """The risk with the largest excess above its reference; None if none is above it."""
        shown = [line for line in self.lines if line.figures and line.figures[0].is_shown]
        return max(shown, key=lambda line: line.figures[0].excess, default=None)

    @property
    def largest(self) -> RiskLine | None:
        """The risk with the largest excess, shown or not; None if none was measured."""
        measured = [line for line in self.lines if line.figures]
        return max(measured, key=lambda line: line.figures[0].excess, default=None)

    @property
    def only(self) -> RiskLine | None:
        """The one risk that was measured, if there is no attack for the others."""
        is_only = sum(line.unmeasured == NO_ATTACK for line in self.lines) == len(self.lines) - 1
        return self.largest if is_only else None


def risks_of_table(
    attacks: Sequence[Outcome],
    graphs: Sequence[GraphAttack],
    sensitive: Sequence[SensitiveDisclosure],
    inferred: Sequence[AttributeInference],
    *,
    is_unary: bool = False,
    is_nominal: bool = False,
) -> Risks:
    """Assign the figures of a raw table to the three risks."""
    attacked = [each for each in attacks if each.attacked]
    out = [
        RiskFigure(
            *("user re-identified", each.reidentified, each.baseline),
            adversary=each.adversary.name,
            attacked=each.attacked,
        )
        for each in attacked
    ]
    out += [
        RiskFigure("only match", each.unique, each.baseline, None, _name_of_graph(each))
        for each in graphs
        if each.attack != "homogeneity" and each.known is not None
    ]
    out += [
        RiskFigure("user re-identified", each.expected, each.baseline, adversary=BY_ALL)
        for each in graphs
        if each.known is None
    ]
    linked = [
        RiskFigure(
            *("record matched", each.of_attacked(each.success), each.baseline, each.control),
            adversary=each.adversary.name,
        )
        for each in attacked
    ]
    learned = [
        RiskFigure("profile", each.unique, each.baseline, None, _name_of_graph(each))
        for each in graphs
        if each.attack == "homogeneity"
    ]
    learned += _sensitive_figures(sensitive, is_release=False)
    learned += [
        RiskFigure(
            *("attribute", each.strongest.auc, 0.5, each.strongest.control, each.attribute),
            is_area=True,
        )
        for each in inferred
        if each.predictions
    ]
    return Risks(
        "table",
        _line(SINGLING_OUT, out, FEW_RATINGS),
        _line(LINKABILITY, linked, FEW_RATINGS),
        _line(INFERENCE, learned, FEW_RATINGS),
        is_unary,
        is_nominal,
    )


def risks_of_release(
    release: AttackedRelease,
    sensitive: Sequence[SensitiveDisclosure],
    inferred: Sequence[AttributeInference],
    *,
    is_nominal: bool = False,
) -> Risks:
    """Assign the figures of a release to the three risks."""
    bounds = bounds_of(release.manifest.claim)
    is_synthetic = isinstance(release, AttackedSynthetic)
    out = _line(SINGLING_OUT, list(_singled_out(release)), FEW_RATINGS)
    if is_synthetic:
        out = RiskLine(SINGLING_OUT, (), NO_RECORD, bounds.get("most_accuracy_of_two"))
    why = NOT_REPEATED if release.membership is None else NO_FIGURE
    content = Content() if release.content is None else release.content
    learned = [
        *_learned(release),
        *_figures_of_content(content),
        *_sensitive_figures(sensitive, is_release=True),
        *_attribute_figures(inferred),
    ]
    return Risks(
        release.name,
        out,
        _line(LINKABILITY, _linked(release), why),
        _line(INFERENCE, learned, why),
        release.manifest.scale.unary,
        is_nominal,
    )


def risks_of_recommender(
    what: str, games: Mapping[str, RecommenderInference], items: InferredItems | None
) -> Risks:
    """Assign what is inferred from lists, a model or similar items, by adversary, to a risk."""
    areas = [
        RiskFigure(
            *("membership of training", one.inferred.auc, 0.5, one.control.auc, who), is_area=True
        )
        for who, one in games.items()
    ]
    shares = [
        RiskFigure("recognized members", one.inferred.tpr_at_1, 0.01, one.control.tpr_at_1, who)
        for who, one in games.items()
    ]
    # The largest figure of all adversaries leads, unless the other measure alone shows a risk.
    linked = [
        *sorted(areas, key=lambda each: -each.rate.ranked),
        *sorted(shares, key=lambda each: -each.rate.ranked),
    ]
    linked.sort(key=lambda each: not each.is_shown)
    learned = []
    if items is not None:
        who = f"{items.known} earlier items and the lists of two days"
        learned = [
            RiskFigure(
                *("items newly rated", items.precision, items.baseline.ranked, items.control, who)
            ),
            RiskFigure(
                *("strongest guess of a new item", items.first, items.first_baseline.ranked),
                *(items.first_control, who),
            ),
        ]
    return Risks(
        what,
        RiskLine(SINGLING_OUT, (), NO_ATTACK),
        RiskLine(LINKABILITY, tuple(linked), "" if linked else NO_ATTACK),
        _line(INFERENCE, learned, NO_ATTACK if items is None else NO_FIGURE),
    )


def _line(risk: str, figures: Sequence[RiskFigure], unmeasured: str) -> RiskLine:
    """Return a line with its figures, the strongest first."""
    measured = [
        each
        for each in figures
        if each.rate.trials and each.rate.ranked >= 0 and not math.isnan(each.baseline)
    ]
    ordered = tuple(sorted(measured, key=lambda each: each.order))
    return RiskLine(risk, ordered, "" if ordered else unmeasured)


def _singled_out(release: AttackedRelease) -> Iterator[RiskFigure]:
    """Yield the shares of users who are re-identified, or alone in two releases."""
    # Of equal figures, the first counts: that of two releases breaks a guarantee.
    if release.linkage is not None:
        yield from _alone_in_both(release.linkage)
    bound = None
    if release.manifest.claim.about.is_bound and not release.manifest.claim.levels:
        bound = release.manifest.claim.bound
    # The guarantee is of one release alone.
    is_exceeded = release.linkage is not None and release.linkage.is_exceeding
    attacks = _attacks_of(release)
    baseline = attacks[0][1].baseline if attacks else 0.0
    rates = [
        ("user re-identified", name, attack.reidentified, attack.requested - attack.skipped)
        for name, attack in attacks
    ]
    if release.clusters is not None:
        rate = release.clusters.reidentified
        who = _with_attributes(release, BY_ALL_AND_ROWS)
        rates.append(("user re-identified", who, rate, rate.trials))
    content = Content() if release.content is None else release.content
    for fills in content.fills:
        rate = fills.reidentified
        rates.append(("user re-identified without fills", _knows(fills), rate, rate.trials))
    for graph in _recognized_by(content):
        rate = graph.expected
        rates.append(("random match", _name_of_graph(graph), rate, rate.trials))
    if release.hidden_items is not None:
        for each in release.hidden_items.attacks:
            rate = each.reidentified
            rates.append(("user re-identified by matched items", each.adversary, rate, rate.trials))
    for name, who, rate, attacked in rates:
        high = rate.high if bound is None else max(rate.rate, min(rate.high, bound))
        if attacked:
            yield RiskFigure(
                *(name, rate._replace(high=high), baseline, None, who),
                bound=None if is_exceeded else bound,
                attacked=attacked,
            )


def _recognized_by(content: Content) -> list[GraphAttack]:
    """Return the attacks that find users; homogeneity reveals what all that match have."""
    return [each for each in content.graphs if each.attack != "homogeneity"]


def _with_attributes(release: AttackedRelease, who: str) -> str:
    return AND_ATTRIBUTES[who] if release.known_attributes else who


def _attacks_of(release: AttackedRelease) -> list[tuple[str, ReleaseAttack]]:
    attacks = [(adversary.name, attack) for adversary, attack in release.attacks]
    if release.all_known is not None:
        attacks.append((_with_attributes(release, BY_ALL), release.all_known))
    return [each for each in attacks if each[1].requested > each[1].skipped]


def _linked(release: AttackedRelease) -> list[RiskFigure]:
    """Return how well what is known of a user is linked with rows, or with the data at all."""
    figures = [
        RiskFigure(
            *("class inferred", attack.class_reidentified, attack.class_baseline, None, name),
            attacked=attack.requested - attack.skipped,
        )
        for name, attack in _attacks_of(release)
    ]
    if (fitted := release.clusters) is not None:
        rates = [("class inferred", fitted.class_inferred, fitted.class_baseline)]
        if fitted.n_clusters < fitted.n_records:
            rates.append(("cluster inferred", fitted.cluster_inferred, fitted.cluster_baseline))
        who = _with_attributes(release, BY_ALL_AND_ROWS)
        figures += [RiskFigure(*each, None, who) for each in rates]
    if release.content is not None and release.attacks:
        largest = release.attacks[0][1].class_baseline
        figures += [
            RiskFigure("only matching class", each.unique, largest, None, _name_of_graph(each))
            for each in _recognized_by(release.content)
        ]
    if (both := release.linkage) is not None:
        below_k = RiskFigure(
            *("fewer than k in both releases", both.shared.below_k, 0.0, None, both.name)
        )
        figures.insert(0, below_k)
    return [*figures, *_members(release)]


def _members(release: AttackedRelease) -> Iterator[RiskFigure]:
    """Yield how well membership is inferred: whether what is known is linked with the data."""
    bound = bounds_of(release.manifest.claim).get("most_auc")
    by_known = {f"{known} ratings": each for known, each in release.by_known.items()}
    if release.membership is not None:
        by_known["as much as the strongest adversary"] = release.membership
    for name, each in by_known.items():
        if each.is_measured:
            yield RiskFigure("membership", each.auc, 0.5, each.null_auc, name, bound, is_area=True)
    for known, found in {} if release.shadows is None else release.shadows.by_known.items():
        yield RiskFigure(
            *("membership by shadow releases", found.inferred.auc, 0.5, found.null_auc),
            *(f"{known} ratings", bound),
            is_area=True,
        )


def _alone_in_both(linkage: Linkage) -> Iterator[RiskFigure]:
    shared, name = linkage.shared, linkage.name
    yield RiskFigure("alone in both releases", shared.unique, shared.unique_in_one, None, name)
    for who, both in linkage.attacks:
        if both.skipped < both.requested:
            yield RiskFigure(
                "user re-identified by both releases",
                both.reidentified_by_both,
                both.reidentified_by_one.rate,
                both.control,
                who,
            )


def _learned(release: AttackedRelease) -> Iterator[RiskFigure]:
    # Who knows all items has none left to infer.
    for adversary, attack in release.attacks:
        rate = _interval(attack.link_precision)
        yield RiskFigure("items in the row", rate, attack.link_baseline.mean, None, adversary.name)
    if (cells := release.residual) is not None:
        yield RiskFigure("rated cells", cells.recall_at_95, cells.popularity_recall_at_95)
        yield RiskFigure("lone ratings", cells.lone_exact, cells.popularity_lone_exact)
    found = [("preferences", release.attributes)]
    if isinstance(release, AttackedSynthetic):
        found += [("items of the nearest record", release.nearest)]
        found += [("learned preferences", release.inference)]
    for name, each in found:
        if each is not None and each.has_guessed:
            control = _interval(each.nonmembers)
            yield RiskFigure(
                *(name, _interval(each.members), control.rate, control), difference=each.excess
            )
    if release.linkage is not None and (links := release.linkage.links) is not None:
        other = _interval(links.control) if links.control.trials else None
        rate, popular = _interval(links.both), links.popularity.mean
        yield RiskFigure("items by both releases", rate, popular, other, release.linkage.name)


def _figures_of_content(content: Content) -> Iterator[RiskFigure]:
    if (possible := content.possible) is not None:
        commonest = max(possible.whole_by_commonest.ranked, 0.0)
        yield RiskFigure("values that are ratings", possible.whole_exact, commonest)
    if (companions := content.companions) is not None:
        yield RiskFigure(
            *("ratings by companions", companions.inferred, 0.0, companions.control),
            "an adversary who knows all other users of the class",
        )
    for graph in content.graphs:
        if graph.attack == "homogeneity":
            yield RiskFigure("whole row", graph.unique, graph.baseline, None, _name_of_graph(graph))
    for fills in content.fills:
        if (marked := fills.precision.get(0.5)) is not None:
            baseline = max(fills.base_rate, fills.by_popularity[0.5].ranked)
            yield RiskFigure("ratings among fills", marked, baseline, None, _knows(fills))


def _sensitive_figures(
    sensitive: Sequence[SensitiveDisclosure], *, is_release: bool
) -> Iterator[RiskFigure]:
    """Yield the users of whom a sensitive item is revealed, of any category."""
    for each in sensitive:
        if (each.where != "table") == is_release:
            of_any = each.categories[0]
            yield RiskFigure("sensitive item", of_any.revealed, 0.0, of_any.control, each.adversary)


def _attribute_figures(inferred: Sequence[AttributeInference]) -> Iterator[RiskFigure]:
    """Yield what the row of a release adds to known ratings about declared attributes."""
    for each in inferred:
        if (found := each.in_release) is not None:
            known, (mean, low, high, trials) = found.by_known.rate, found.control
            shifted = _interval(Mean(known + mean, known + low, known + high, trials))
            yield RiskFigure(
                *("attribute by row", found.by_row, known, shifted, each.attribute), is_area=True
            )


def _name_of_graph(attack: GraphAttack) -> str:
    return f"{attack.attack}, {attack.known} items"


def _knows(fills: InferredFills) -> str:
    return "some users" if fills.users_known else "no user"


def _interval(mean: Mean) -> Interval:
    return Interval(mean.mean, max(0.0, mean.low), min(1.0, mean.high), mean.trials)
