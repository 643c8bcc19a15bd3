"""Sentences and documents of new releases, of their estimates, and of earlier releases."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from recveil.methods import Anonymized, DryRun, Erasure, Released
from recveil.methods.earlier_releases import Earlier, history_of
from recveil.methods.release_summary import (
    CoRatedSummary,
    PredictiveSummary,
    ReleaseSummary,
    SparseSummary,
    SyntheticSummary,
)
from recveil.methods.size_estimates import Foreseen
from recveil.publish.history import Promised, each_run
from recveil.publish.privacy_ledger import Loss, PrivacyTotal, Run, total_without
from recveil.publish.size_estimate import Expected
from recveil.ratings.ratings import in_likes
from recveil.release.claim import LOUD_DELTA, Claim, claim_kind, of_large_delta, of_large_epsilon
from recveil.release.coverage import FEWEST_RATINGS, LOW, NOISE, Coverage
from recveil.release.exact_ratings import HIGH, ExactRatings
from recveil.release.manifest import private_name
from recveil.release.registry import method_of
from recveil.release.sides import Published
from recveil.release.specs.predictive import SPARSE_KEEPS_MORE
from recveil.report import data_to_dict
from recveil.report.document import fields_of, parts_of
from recveil.report.erasure import describe_erasure, warnings_of_erasure
from recveil.report.glossary import explain
from recveil.report.terminal import echo, show_reading
from recveil.report.verification import (
    describe_formulas,
    describe_singletons,
    show_verification,
    terms_of,
)
from recveil.runtime.errors import WARNING, describe_count, first_sentence_of, printable, quoted
from recveil.runtime.memory import machine_memory
from recveil.runtime.number_format import format_bytes, percent
from recveil.runtime.safe_repr import brief
from recveil.verification import Verification
from recveil.verification.rater_ids import describe_handles

# Threshold of delta times the number of users.
_LARGE_DELTA = 0.1
# At epsilon 1, MovieLens 100K has two directions, some 70% of a user's ratings are dropped, and
# recommendations retain 45% of the utility of raw ratings, about as the popularity baseline; at
# epsilon 3 it has four directions, 37% are dropped, and 68% is retained.
_FEW_FACTORS, _LARGE_OMITTED_SHARE = 3, 0.4
_MOST_WARNINGS = 3


def sentences(result: Anonymized | Released | DryRun | Erasure | PrivacyTotal) -> list[str]:
    """Return what a publisher should know about a new release, its estimate or its ledger."""
    if isinstance(result, Erasure):
        return describe_erasure(result)
    if isinstance(result, PrivacyTotal):
        return [describe_total(result)]
    if isinstance(result, DryRun):
        return list(_of_dry_run(result))
    return [
        *describe_summary(result.summary),
        *describe_formulas(result.release.published.items),
        *_of_levels(result.verification),
        *describe_series(result),
        describe_search(
            *(result.earlier, result.output),
            is_continued=result.release.private.continuation is not None,
        ),
        _describe_publishing(
            result.output,
            contains_users=result.verification.contains_users,
            has_earlier=not _covers_earlier(result),
            coverage=result.summary.coverage,
            is_listed=result.release.published.settings.get("item_catalog") != "selected",
            has_alike=isinstance(result, Anonymized) and bool(result.reading.alike_users),
            epsilon=result.release.published.claim.epsilon,
        ),
    ]


def warnings(result: Anonymized | Released | DryRun | Erasure | PrivacyTotal) -> list[str]:
    """Return warnings about earlier releases of the same users, and about ids of items."""
    if isinstance(result, Erasure):
        return warnings_of_erasure(result)
    if isinstance(result, PrivacyTotal):
        large = of_large_epsilon(result.epsilon)
        return [large] if large else []
    if isinstance(result, DryRun):
        return [
            f"{earlier.folder} has some of the same users; the run warns about it."
            for earlier in result.earlier
        ]
    linked, published = warnings_of_linkage(result), result.release.published
    if isinstance(result, Released):
        return linked
    users, items = result.ratings.users.tolist(), published.items.tolist()
    handles = describe_handles(users, items, can_hide=published.claim.about.contains_users)
    hidden = published.user_table.warnings() if published.user_table else []
    return [*result.reading.alike_users, *linked, *([handles] if handles else []), *hidden]


def warnings_of_linkage(result: Anonymized | Released) -> list[str]:
    """Return warnings about earlier releases of the same users."""
    claim, digest = result.release.published.claim, result.release.private.ratings_sha256
    arguments = result.earlier, result.output, claim, digest, result.total
    return first_of([*total_warning(result.total), *linkage_warnings(*arguments)])


def describe_series(result: Anonymized | Released) -> Iterator[str]:
    """Describe what became of the users of the releases before."""
    series, k = result.release.private.continuation, result.release.published.claim.k
    if series is None:
        return
    waiting = describe_count(series.n_waiting, "newcomer waits", "newcomers wait")
    yield (
        f"It follows {quoted(series.folder.name)}: {describe_count(series.n_stayed, 'user')} of "
        f"the releases before {'keeps' if series.n_stayed == 1 else 'keep'} the class, "
        f"{series.n_new:,} are new, and {describe_count(series.n_left, 'row')} of users who left "
        f"{'is' if series.n_left == 1 else 'are'} kept"
        f"{f'; {waiting} until there are {k}' * bool(series.n_waiting)}. If no "
        f"other release follows {quoted(series.folder.name)}, no set of releases of the series "
        f"leaves a user with fewer than {k} candidates."
    )
    if series.n_short_classes:
        yield (
            f"In {describe_count(series.n_short_classes, 'class', 'classes')}, fewer than {k} "
            f"users remain in the table: an adversary who knows who left has fewer candidates."
        )


def first_of(linked: Sequence[str]) -> list[str]:
    """Return the first distinct warnings about earlier releases, and the number of others."""
    distinct = list(dict.fromkeys(linked))
    left = len(distinct) - _MOST_WARNINGS
    if left <= 0:
        return distinct
    return [
        *distinct[:_MOST_WARNINGS],
        f"{describe_count(left, 'more earlier release')} in the same folder "
        f"{'has' if left == 1 else 'have'} some of these users.",
    ]


def _covers_earlier(result: Anonymized | Released) -> bool:
    # Epsilons add up: their total is stated.
    is_added = result.release.published.claim.ledger is not None
    return not result.earlier or (is_added and all(each.has_ledgers for each in result.earlier))


def _describe_publishing(
    output: Path,
    *,
    contains_users: bool,
    has_earlier: bool,
    coverage: Coverage | None = None,
    is_listed: bool = True,
    has_alike: bool = False,
    epsilon: float | None = None,
) -> str:
    """Describe what to publish, and what the private folder would reveal.

    >>> _describe_publishing(Path("out"), contains_users=True, has_earlier=False)
    'Publish out. Keep out.private secret: it maps rows to users.'
    """
    alone = ", and none of the earlier releases that were found" if has_earlier else ""
    reveals = "it maps rows to users" if contains_users else "it lists the users of the table"
    if coverage is not None and coverage.is_nearly_empty:
        items = f"{coverage.n_items_kept:,} of {describe_count(coverage.n_items, 'item')}"
        spent = "" if epsilon is None else f", and epsilon {epsilon:g} was spent"
        publish = (
            f"Nearly empty: {output} has {items}{spent}. A list of popular items {NOISE} may be of "
            f"more use"
        )
        if not is_listed:
            publish += "; with a public list of items, item_catalog (--item-catalog), all are kept"
    else:
        publish = f"Publish {output}{alone}"
    if has_alike:
        counted = "k counts ids" if contains_users else "the guarantee is per id"
        publish += f" only if ids that differ in notation are different users: {counted}"
    return f"{publish}. Keep {private_name(str(output))} secret: {reveals}."


MEASURED = "README.md has attacks measured on MovieLens, not on this table."


def describe_summary(summary: ReleaseSummary) -> list[str]:
    """Return the figures of a release in sentences, and the known attacks on it."""
    published, figures, coverage = summary
    undone = method_of(published.settings).undone_by(published.settings)
    described = list(_describe(figures, published))
    if coverage is not None and published.n_users:
        described.insert(0, describe_coverage(coverage, likes=published.scale.unary))
    elif omitted := _describe_omitted(figures, published):
        described.append(omitted)
    described += map(first_sentence_of, undone)
    if undone:
        described.append(MEASURED)
    if isinstance(figures, PredictiveSummary):
        described += _of_alternatives(figures)
    return described


def is_danger(sentence: str) -> bool:
    """Return whether a sentence about a release warns of what it reveals, not of what it lacks.

    >>> is_danger("warning: The release is nearly empty."), is_danger("warning: fills")
    (False, True)
    """
    text = sentence.lower()
    lacks = text.startswith(f"{WARNING}the release ") or "the noise hides" in text
    return text.startswith(WARNING) and not lacks


def describe_coverage(
    coverage: Coverage, *, likes: bool = False, is_estimate: bool = False, is_noisy: bool = False
) -> str:
    """Describe which items and ratings a release keeps; a warning below half of either.

    >>> print(describe_coverage(Coverage(90, 44, 0.6, 60, 2)).partition(";")[0])
    warning: The release keeps 44 of 90 items (48.9%), which have 60% of the ratings
    >>> print(describe_coverage(Coverage(90, 90, 1.0, 60, 0), likes=True))
    The release keeps all 90 items.
    """
    noun = "likes" if likes else "ratings"
    keeps, have = ("would keep", "would have") if is_estimate else ("keeps", "have")
    most, least = ("about ", "about ") if is_noisy else ("at most ", "at least ")
    if coverage.n_items_kept == coverage.n_items and is_estimate:
        kept = (
            f"All {describe_count(coverage.n_items, 'item')} can be in the release, but rarely "
            f"{'liked' if likes else 'rated'} ones may get no {noun.removesuffix('s')}"
        )
    elif coverage.n_items_kept == coverage.n_items:
        kept = f"The release keeps all {describe_count(coverage.n_items, 'item')}"
    else:
        kept = (
            f"The release {keeps} {most * is_estimate}{coverage.n_items_kept:,} of "
            f"{describe_count(coverage.n_items, 'item')} ({percent(coverage.item_share, LOW)}), "
            f"which have {percent(coverage.rating_share, LOW)} of the {noun}"
        )
    n_before = coverage.n_short_raw_users
    before = f" ({n_before:,} in the table)" * bool(n_before)
    users = describe_count(coverage.n_users, "published user")
    short = (
        f"; {least * is_estimate}{coverage.n_short_users:,} of {users} "
        f"{have} fewer than {FEWEST_RATINGS} {noun}, imputed values not counted{before}"
        if coverage.n_short_users
        else ""
    )
    if coverage.is_nearly_empty:
        be = "would be" if is_estimate else "is"
        return f"{WARNING}The release {be} nearly empty. {kept}{short}."
    return f"{WARNING if coverage.is_low else ''}{kept}{short}."


def _describe_omitted(figures: object, published: Published) -> str:
    """Describe what a release lacks whose coverage is not known; empty if nothing."""
    noun = "likes" if published.scale.unary else "ratings"
    if isinstance(figures, SparseSummary) and figures.n_omitted:
        text = (
            f"Omitted {describe_count(figures.n_omitted, 'item')} with fewer than "
            f"{published.claim.k} raters ({percent(figures.omitted_share)} of the ratings): such "
            f"an item would reveal its raters."
        )
        return in_likes(text, published.scale.unary)
    share = published.settings["omitted_share"] if isinstance(figures, SyntheticSummary) else 0
    if not share:
        return ""
    return f"{percent(share)} of a user's {noun}, on average, are of omitted items."


@singledispatch
def _describe(figures: object, published: Published) -> Iterator[str]:
    """Yield the sentences of a registered method."""
    del published
    if isinstance(figures, list | tuple):
        yield from map(str, figures)


@_describe.register
def _(figures: PredictiveSummary, published: Published) -> Iterator[str]:
    del published
    yield from _suppressed(figures.suppressed)
    exact = figures.exact
    if exact is None:
        return
    warning = WARNING if max(exact.exact_share, exact.near_share) >= HIGH else ""
    yield (
        f"{warning}The rows reveal {_revealed(exact)}. {percent(exact.rating_share)} have no other "
        f"rater in the group, and {percent(exact.user_share)} of the users have such a rating; the "
        f"others equal the published mean of their group. A larger k reveals fewer."
    )
    guess = "An adversary who takes a value for the rating of every rater in the group is right"
    if exact.is_rounded_off:
        yield f"{guess}, to within {exact.within:g}, in {percent(exact.near_label_share)} of cases."
    elif exact.label_share is not None:
        yield f"{guess} in {percent(exact.label_share)} of cases, for values on the scale."


def _revealed(exact: ExactRatings) -> str:
    if exact.is_rounded_off:
        return (
            f"{percent(exact.near_share, HIGH)} of the ratings to within the rounding "
            f"({exact.within:g}; {percent(exact.exact_share, HIGH)} exactly)"
        )
    return f"{percent(exact.exact_share, HIGH)} of the ratings exactly"


def _of_alternatives(figures: PredictiveSummary) -> Iterator[str]:
    if figures.has_sparse_alternative:
        yield SPARSE_KEEPS_MORE
    cost = figures.diversity_cost
    if cost is not None:
        kept = (
            ""
            if cost.pruned
            else " Unnecessary ones stay: the table is too large, or b is above 3."
        )
        yield (
            f"Diversity added {cost.added:,} values to {cost.labels:,}, on average "
            f"{cost.harm:.2f} points off their item's mean; RMSE of the item means before and "
            f"after: {cost.rmse_before:.4f}, {cost.rmse_after:.4f}.{kept}"
        )


def _suppressed(cost: Mapping[str, int] | None) -> Iterator[str]:
    """Describe what limits of values cost."""
    if cost is not None:
        merged = describe_count(cost["merged"], "class", "classes")
        yield (
            f"Diversity and closeness suppressed {describe_count(cost['cells'], 'value')}, and "
            f"with them {describe_count(cost['ratings'], 'rating')}, and merged {merged} with "
            f"others."
        )
        if items := cost.get("items"):
            yield (
                f"Imputed values count for both: by real ratings alone, {cost['outside']:,} of the "
                f"{describe_count(items, 'published item')} of classes "
                f"({percent(cost['outside'] / items)}) are outside the limits, which an adversary "
                f"sees who recognizes imputed values."
            )


@_describe.register
def _(figures: CoRatedSummary, published: Published) -> Iterator[str]:
    settings, scale = published.settings, published.scale
    each = figures.n_filled / figures.n_ratings
    if scale.unary:
        yield (
            f"Added {describe_count(figures.n_filled, 'like')} ({each:.1f} per real one) to "
            f"{figures.n_ratings:,} real ones, until the users of each group like the same items: "
            f"what an adversary learns about a group holds for each of its users."
        )
        return
    n_lost = figures.suppressed["ratings"] if figures.suppressed else 0
    # The verdict already warns of an adversary who knows ratings.
    unchanged = (
        ", which are published unchanged: they re-identify users nearly as easily as before"
        if settings["protect"] == "none"
        else ""
    )
    yield (
        f"Filled {describe_count(figures.n_filled, 'cell')} ({each:.1f} per rating) next to "
        f"{figures.n_ratings - n_lost:,} real ratings{unchanged}."
    )
    yield from _suppressed(figures.suppressed)
    if trust := figures.trust:
        yield (
            f"Trust: {describe_count(trust['statements'], 'statement')} between users; "
            f"{describe_count(trust['ignored_lines'], 'line')} about "
            f"{describe_count(trust['unknown_users'], 'user')} without ratings "
            f"{'was' if trust['ignored_lines'] == 1 else 'were'} ignored."
        )
    if settings["protect"] == "shuffle":
        yield (
            "The values of each item were permuted within the groups, which no file can prove. A "
            "rating that all users of a group gave is revealed; and where fills can be computed, "
            "as item means can, a real rating is recognizable in its group."
        )
    if not settings["round_fills"]:
        why = "" if scale.step else f", since {scale} is continuous"
        yield (
            f"{WARNING}fills are not rounded to the scale{why}. They are distinguishable from "
            f"ratings."
        )


@_describe.register
def _(figures: SparseSummary, published: Published) -> Iterator[str]:
    sampled = (
        "No rating is copied: items are sampled, and values are predictions, some of which equal "
        "ratings"
    )
    if published.scale.unary:
        sampled = "No user's likes are copied: the items of a row are sampled"
    yield (
        f"{sampled}. Counts of the published items differ from those of the table by "
        f"{figures.mean_error:.1f} users on average, and {figures.max_error:.0f} at most."
    )


@_describe.register
def _(figures: SyntheticSummary, published: Published) -> Iterator[str]:
    claim, n_factors = published.claim, figures.n_factors
    omitted = published.settings["omitted_share"]
    if claim.epsilon is not None and claim.delta is not None:
        n_earlier = len(claim.ledger.earlier) if claim.ledger else 0
        covered = f"; this covers {n_earlier + 1} releases, whose noisy sums it averages"
        yield (
            f"Sampled from noisy sums with epsilon {claim.epsilon:g} and delta {claim.delta:g}"
            f"{covered if n_earlier else ''}; the ledger lists every query."
        )
        if claim.delta > LOUD_DELTA:
            yield f"{WARNING}{of_large_delta(claim.delta)}"
        elif claim.delta * published.n_users > _LARGE_DELTA:
            yield (
                f"delta is more than a tenth of one over the {published.n_users:,} users"
                f"{_at_smaller_delta(claim, published.n_users)}; a smaller one (--delta) "
                f"guarantees more."
            )
        if large := of_large_epsilon(claim.epsilon):
            yield f"{WARNING}{large}"
    if published.settings["item_catalog"] == "rated items":
        yield (
            f"It names the items that were {'liked' if published.scale.unary else 'rated'}, as set "
            f"with item_catalog (--item-catalog as-rated): publish it only if that list is public, "
            f"since no guarantee covers it."
        )
    above = "" if claim.epsilon is None else " above the noise"
    yield (
        f"The model has {describe_count(n_factors, 'factor')}{above}: directions in which users "
        f"differ."
    )
    is_hidden = n_factors < _FEW_FACTORS or omitted > _LARGE_OMITTED_SHARE
    if claim.epsilon is not None and is_hidden:
        yield (
            f"{WARNING}the noise hides most differences between users, so recommenders may learn "
            "only item popularity. More users or a larger epsilon retain more; “recveil evaluate” "
            "measures it."
        )


def _at_smaller_delta(claim: Claim, n_users: int) -> str:
    """Describe the same guarantee at a tenth of one over the users; noise implies every delta."""
    delta = _LARGE_DELTA / n_users
    if claim.ledger is None or claim.ledger.threshold_delta >= delta:
        return ""
    return f"; at delta {delta:.2g}, epsilon is {claim.ledger.epsilon(delta):.3g}"


def _of_levels(verification: Verification) -> Iterator[str]:
    """Warn of users who have a row of their own."""
    if verification.has_levels:
        yield (
            f"{describe_singletons(verification.singletons)}, with privacy level 1; their "
            f"ratings are published unchanged."
        )


def describe_estimate(expected: Expected, *, timed: bool = True) -> str:
    """Describe the estimated size and time of a release, as in "Expected: about 290 values"."""
    return f"Expected: {expected.sentence(timed=timed)}"


def _of_dry_run(dry: DryRun) -> Iterator[str]:
    if dry.foreseen is None:
        yield f"The method {dry.method.name} has no estimate before the work."
    else:
        yield _of_size(dry, dry.foreseen)
    for name in dry.leftovers:
        yield (
            f"An interrupted run left {name}; the run first completes or reverts that, or reports "
            f"why it cannot."
        )
    if dry.foreseen is None:
        return
    if dry.foreseen.expected is not None:
        yield f"{describe_estimate(dry.foreseen.expected)}, on two cores."
    limit = machine_memory()
    beyond = "; use a larger machine, or fewer ratings" if dry.foreseen.memory > limit else ""
    yield (
        f"Memory: about {format_bytes(dry.foreseen.memory)} of the {format_bytes(limit)} that this "
        f"process may use{beyond}."
    )
    if dry.foreseen.coverage is not None:
        likes = dry.reading.ratings.is_unary
        is_noisy = dry.foreseen.noisy_coverage is not None
        yield describe_coverage(
            dry.foreseen.coverage, likes=likes, is_estimate=True, is_noisy=is_noisy
        )
        if is_noisy:
            yield "This estimate is of the raw table, without noise: keep it private."
    basis = in_likes("; ".join(describe_basis(dry.foreseen)), dry.reading.ratings.is_unary)
    yield f"Estimated: {basis}."
    if dry.total is not None:
        yield describe_total(dry.total)
    yield describe_search(dry.earlier, dry.output, is_continued=dry.is_continued)
    yield from _of_rejection(dry)


def _of_rejection(dry: DryRun) -> Iterator[str]:
    """Yield whether the run would fail, or may."""
    if dry.rejection:
        yield f"With this estimate, the run would fail: {dry.rejection}."
    if dry.may_be_rejected:
        is_noisy = dry.foreseen is not None and dry.foreseen.noisy_coverage is not None
        drawn = "noise" if is_noisy else "classes and items"
        yield (
            f"{WARNING}the run may be refused as nearly empty: that depends on the {drawn} that it "
            "draws; allow_sparse_coverage (--allow-sparse-coverage) allows it."
        )


def describe_total(total: PrivacyTotal) -> str:
    """Describe what all runs spend on the most exposed user, and where that is recorded."""
    if total.ledger is None and total.runs:
        n_sampled = sum(len(run.outputs) - 1 for run in total.runs)
        once = f" ({n_sampled:,} of them with the noise of another one)" * bool(n_sampled)
        return (
            f"{describe_count(len(total.runs) + n_sampled, 'release')}{once} spent "
            f"{_epsilon(total.epsilon)} on the most exposed user (delta {total.delta:g}), as "
            f"computed from release.json; only the publisher states the cohorts, which users are "
            f"sampled from one model, and that there are no other releases."
        )
    n_runs, parts = len(total.runs) + total.n_unrecorded, []
    whom = "this user" if total.n_users == 1 else "the most exposed of these users"
    if n_runs:
        runs, lacks = describe_count(n_runs, "run"), ""
        if total.n_unrecorded and total.ledger is not None:
            lacks = f" ({total.n_unrecorded:,} of them not in the ledger)"
        parts.append(f"{runs}{lacks} spent {_epsilon(total.epsilon)} on {whom}")
    else:
        parts.append("no run on these users yet")
    if total.epsilon_with_run is not None:
        parts.append(f"with this run {_epsilon(total.epsilon_with_run)}")
    if n_runs or total.epsilon_with_run is not None:
        parts[-1] += f" (delta {total.delta:g})"
    if total.runs and not total.is_same_table:
        parts.append("where other users have the same ids, name another ledger (--ledger)")
    if total.is_new:
        parts.append("the ledger is new, and lacks what was spent elsewhere")
    if total.ledger is None:
        is_planned = total.epsilon_with_run is not None
        there = "This run is not recorded, as there" if is_planned else "There"
        return f"{there} is no privacy ledger; {'; '.join(parts)}."
    return f"Privacy ledger {total.ledger}: {'; '.join(parts)}."


def describe_runs(history: Sequence[Promised]) -> str:
    """Describe what the runs behind releases spent together, at the sum of their deltas."""
    runs = each_run(history)
    total = total_without(None, None, runs, math.fsum(run.delta or 0.0 for run in runs))
    large = of_large_epsilon(total.epsilon)
    return (
        f"With this one, {describe_count(len(runs), 'run')} spent {_epsilon(total.epsilon)} on the "
        f"most exposed of these users (delta {total.delta:g}), as computed from release.json; the "
        f"privacy ledger also counts runs whose releases are elsewhere.{' ' * bool(large)}{large}"
    )


def _epsilon(epsilon: float) -> str:
    return f"epsilon {epsilon:.3g}" if math.isfinite(epsilon) else "all that a guarantee bounds"


def total_warning(total: PrivacyTotal | None) -> list[str]:
    """Return what a release and others spent together; nothing for the first one."""
    if total is None or not (total.runs or total.n_unrecorded):
        return []
    large = of_large_epsilon(total.epsilon_with_run or 0.0)
    return [f"{describe_total(total)}{' ' * bool(large)}{large}"]


def describe_run(run: Run) -> dict[str, str]:
    """Describe a run of the ledger, or a release, in a line of a table."""
    states = {"begun": "killed, or running", "aborted": "ended with an error"}
    where = ", ".join(run.outputs) or "not written"
    return {
        "run": str(run.number),
        "time (UTC)": run.began.removesuffix("+00:00"),
        "users": f"{run.n_users:,}" if run.began else "",
        "cohort": run.cohort,
        "epsilon": f"{run.epsilon:.3g}",
        "delta": f"{run.loss.delta:g}",
        "output": states.get(run.state, where),
    }


def _of_size(dry: DryRun, foreseen: Foreseen) -> str:
    if foreseen.groups is None:
        return (
            f"Would publish about {describe_count(foreseen.n_users, 'synthetic user')}, and no "
            f"user's row ({dry.method.name}); no noise was drawn, and no epsilon is spent."
        )
    least = f" of at least {dry.k}" if dry.k is not None else ""
    return (
        f"Would publish {describe_count(foreseen.n_users, 'user')} in at most "
        f"{describe_count(foreseen.groups, 'group')}{least} ({dry.method.name})."
    )


_BASIS = {
    "groups-of-k": "groups as if each had k users",
    "groups-of-levels": "groups as if each had as many users as its highest level",
    "padded-rows": "values exactly, for so many groups; bytes as for earlier padded columns",
    "random-groups": "values and bytes as if groups were random: users of one group share more "
    "items than that, so mostly an upper bound",
    "without-diversity": "without the values that diversity adds (l, --l)",
    "frequent-items": "values from the ratings of items with at least k raters",
    "n-users-given": "the requested number of users",
    "n-users-noisy": "users of the table; the run counts them with noise, if epsilon is a number",
    "mean-ratings": "values from the mean number of ratings, to which the run adds noise",
    "rare-items-omitted": "items as if the noise left the expected number of them",
    "many-factors": "time as if the model had many factors",
}


def describe_basis(foreseen: Foreseen) -> list[str]:
    """Describe the basis of an estimate, one clause each."""
    return [_BASIS[each] for each in foreseen.basis]


# Number of releases named in full.
_MOST_NAMED = 3


def describe_search(earlier: Sequence[Earlier], output: Path, *, is_continued: bool) -> str:
    """Describe where earlier releases were searched for; those elsewhere are unknown."""
    folder = output.resolve().parent
    n_found = sum(each.folder.parent.resolve() == folder for each in earlier)
    which = (
        "releases of these users outside the series"
        if is_continued
        else ("earlier releases of these users")
    )
    return (
        f"Searched {folder} for {which}: {n_found or 'none'} found. Name "
        f"one in another folder with earlier_release (--earlier-release)."
    )


@brief
class _New(NamedTuple):
    """The release that was written."""

    output: Path
    claim: Claim
    ratings_sha256: str | None

    def is_of_same(self, earlier: Earlier) -> bool:
        """Whether the users are known to be the same, since the ratings are."""
        return self.ratings_sha256 is not None and earlier.ratings_sha256 == self.ratings_sha256

    def _facts(self) -> dict[str, object]:
        return {"": self.output.name, "claim": self.claim.kind}


def linkage_warnings(
    earlier: Sequence[Earlier],
    output: Path,
    claim: Claim,
    ratings_sha256: str | None = None,
    total: PrivacyTotal | None = None,
) -> list[str]:
    """Return a warning about a new release and each earlier one; `total` is by default of these."""
    new = _New(output, claim, ratings_sha256)
    composed = [each for each in earlier if each.has_ledgers] if claim.ledger else []
    if total is None and claim.ledger is not None:
        planned = Loss.of(claim.ledger, claim.delta or 0.0)
        total = total_without(None, planned, history_of(composed))
    added_up = "".join(total_warning(total))
    return [added_up if each in composed else _describe_pair(each, new) for each in earlier]


def _describe_pair(earlier: Earlier, new: _New) -> str:
    """Return the warning for two releases whose guarantees do not compose."""
    if earlier.problem:
        return (
            f"the private folder of an earlier release, {quoted(earlier.folder.name)}, cannot be "
            f"read ({earlier.problem}); if it is of the same users, publish one of the two only"
        )
    in_rows = claim_kind(new.claim.kind).contains_users
    is_in_place = earlier.is_current and not _is_at(earlier, new.output)
    measure = ""
    if is_in_place and earlier.history[0].contains_users and in_rows:
        command = (
            f"recveil audit RATINGS --release {quote(str(new.output))} --second-release "
            f"{quote(str(earlier.folder))}"
        )
        measure = f"; to measure it: {command}"
    return _describe_users([earlier], new, f"{describe_loss(earlier.history, new.claim)}{measure}.")


def describe_loss(history: Sequence[Promised], claim: Claim) -> str:
    """Return what remains of guarantees that do not compose."""
    if claim_kind(claim.kind).contains_users and any(old.contains_users for old in history):
        return (
            "An adversary with more than one can intersect their equivalence classes, and no claim "
            "holds: publish one of them"
        )
    if claim.ledger or any(old.mu is not None for old in history):
        has_rows = claim_kind(claim.kind).contains_users or any(
            old.contains_users for old in history
        )
        return (
            f"An epsilon covers its own release only, so no epsilon holds for all together"
            f"{', and no k' * has_rows}: publish one of them"
        )
    return "No claim covers what the others reveal: publish one of them"


def _describe_users(earlier: list[Earlier], new: _New, warning: str) -> str:
    """Format which releases contain the users (the first few by name), followed by the warning."""
    are_same = all(map(new.is_of_same, earlier))
    first, *more = [
        (f"{each.n_users:,}" if each.is_current else "perhaps some", _place(each, new.output))
        for each in earlier
    ]
    verb = "users are also" if are_same else "user ids also occur"
    named = [f"{first[0].capitalize()} of these {verb} in {first[1]}"]
    named += [f"{n_users} in {place}" for n_users, place in more[: _MOST_NAMED - 1]]
    if left := len(earlier) - len(named):
        named.append(f"some in {left:,} more")
    if not are_same:
        warning = f"If they are the same users, {warning[0].lower()}{warning[1:]}"
    return f"{'; '.join(named)}. {warning}"


def _place(earlier: Earlier, output: Path) -> str:
    """Format a release's name and the number of releases it replaced."""
    name, n = quoted(earlier.folder.name), len(earlier.history)
    if not earlier.is_current:
        return f"{f'{n:,} releases' if n > 1 else 'the release'} that {name} replaced"
    more = f", and perhaps in {n - 1:,} more that it replaced" if n > 1 else ""
    if _is_at(earlier, output):
        return f"the previous release at {name}{more}"
    return f"an earlier release, {name}{more}"


def _is_at(earlier: Earlier, output: Path) -> bool:
    return earlier.folder.resolve() == output.resolve()


@parts_of.register
def _(made: Anonymized) -> dict[str, object]:
    private = made.release.private
    suppressed = private.settings.get("suppressed")
    return {
        "settings": made.release.published.settings,
        "filled_cells": private.settings.get("filled_cells"),
        **({} if suppressed is None else {"suppressed": suppressed}),
        "lone_ratings": _figures(private.lone_ratings),
        "diversity_cost": _figures(private.diversity_cost),
        "coverage": made.summary.coverage,
        **({} if private.continuation is None else {"previous": private.continuation.to_json()}),
        **({} if private.protection is None else {"protected": private.protection.to_json()}),
        **_verdict_and_folders(made),
    }


@parts_of.register
def _(made: Released) -> dict[str, object]:
    return {
        "engine": "spark",
        "data": {
            "users": made.n_users,
            "items": made.n_items,
            "ratings": made.n_ratings,
            "density": made.n_ratings / (made.n_users * made.n_items),
            "scale": str(made.scale),
            "notes": list(made.notes),
        },
        "settings": made.release.published.settings,
        "coverage": made.summary.coverage,
        **_verdict_and_folders(made),
    }


@parts_of.register
def _(total: PrivacyTotal) -> dict[str, object]:
    return {
        **fields_of(total),
        "ledger": total.ledger and str(total.ledger),
        "runs": [
            {**run._asdict(), "loss": run.loss._asdict(), "epsilon": run.epsilon}
            for run in total.runs
        ],
    }


@parts_of.register
def _(coverage: Coverage) -> dict[str, object]:
    return {"item_share": coverage.item_share, **coverage.figures()}


def _verdict_and_folders(made: Anonymized | Released) -> dict[str, object]:
    claim, digest = made.release.published.claim, made.release.private.ratings_sha256
    warned = linkage_warnings(made.earlier, made.output, claim, digest, made.total)
    return {
        "verification": made.verification.to_dict(),
        "earlier": earlier_to_dict(made.earlier, warned),
        "earlier_searched_in": str(made.output.parent),
        **({} if made.total is None else {"privacy_total": made.total.to_dict()}),
        **folders_to_dict(made.output),
    }


@parts_of.register
def _(dry: DryRun) -> dict[str, object]:
    foreseen = dry.foreseen
    return {
        "dry_run": True,
        "method": dry.method.name,
        "k": dry.k,
        "groups": foreseen and foreseen.groups,
        "users": foreseen and foreseen.n_users,
        "expected": foreseen and estimate_to_dict(foreseen.expected),
        "memory": foreseen and foreseen.memory,
        "coverage": foreseen and foreseen.coverage,
        "estimated_from": describe_basis(foreseen) if foreseen else [],
        "rejection": dry.rejection,
        "leftovers": list(dry.leftovers),
        "earlier": earlier_to_dict(dry.earlier),
        "earlier_searched_in": str(dry.output.parent),
        **({} if dry.total is None else {"privacy_total": dry.total.to_dict()}),
        **folders_to_dict(dry.output),
    }


def folders_to_dict(output: Path) -> dict[str, str]:
    """Return the published and the private folder of a release."""
    return {"output": str(output), "private": private_name(str(output))}


def estimate_to_dict(expected: Expected | None) -> dict[str, object] | None:
    """Return the estimated size and time of a release."""
    if expected is None:
        return None
    figures = {name: value for name, value in expected._asdict().items() if name != "what"}
    return {"values": figures.pop("n_values"), **figures}


def earlier_to_dict(
    earlier: Sequence[Earlier], warnings: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Return earlier releases with the number of these users in each."""
    found: list[dict[str, object]] = [
        {"release": str(each.folder), "users": each.n_users} for each in earlier
    ]
    for each, warning in zip(found, warnings or (), strict=False):
        each["warning"] = warning
    return found


def _figures(figures: Any) -> dict[str, object] | None:
    """Return figures whose stored names say label for a published value."""
    if figures is None:
        return None
    return {name.replace("label", "value"): value for name, value in figures._asdict().items()}


def show_release(made: Anonymized, *, is_explained: bool = False) -> None:
    """Print the input, the verdict, the figures of the release, and what to publish."""
    show_reading(made.reading)
    _show_made(made, is_explained=is_explained)


def release_to_dict(made: Anonymized, expected: Expected | None) -> dict[str, object]:
    """Return a release as plain data, for JSON."""
    data = data_to_dict(made.ratings, made.reading)
    return {**made.to_dict(), "data": data, "expected": estimate_to_dict(expected)}


def show_dry_run(dry: DryRun) -> None:
    """Print the input and the estimate."""
    show_reading(dry.reading)
    for sentence in (*dry.sentences(), *dry.warnings()):
        echo(sentence)
    folders = folders_to_dict(dry.output)
    echo(f"Nothing was written: no {folders['output']}, and no {folders['private']}.")


def dry_run_to_dict(dry: DryRun) -> dict[str, object]:
    """Return an estimate as plain data, for JSON."""
    return {**dry.to_dict(), "data": data_to_dict(dry.reading.ratings, dry.reading)}


def show_released(made: Released, *, is_explained: bool = False) -> None:
    """Print a release by Spark like one that was made locally."""
    likes = made.scale.unary
    scale = "; no ratings: read as likes" if likes else f"; scale {made.scale}"
    echo(
        f"Read {describe_count(made.n_ratings, 'like' if likes else 'rating')} of "
        f"{describe_count(made.n_items, 'item')} by {describe_count(made.n_users, 'user')}{scale}; "
        f"by Spark."
    )
    for note in made.notes:
        echo(printable(note))
    _show_made(made, is_explained=is_explained)


def show_budget(total: PrivacyTotal) -> None:
    """Print the runs of the ledger, and what they spent together."""
    rows = [describe_run(run) for run in total.runs]
    if rows:
        used = [name for name in rows[0] if any(row[name] for row in rows)]
        rows = [{name: row[name] for name in used} for row in rows]
        table = Table(*used, show_edge=False, pad_edge=False)
        for row in rows:
            table.add_row(*map(printable, row.values()))
        Console(highlight=False).print(table)
    for sentence in (*total.sentences(), *total.warnings()):
        echo(sentence)


def _show_made(made: Anonymized | Released, *, is_explained: bool) -> None:
    show_verification(made.verification, str(made.output))
    for sentence in made.sentences():
        echo(sentence)
    if is_explained:
        likes = made.release.published.scale.unary
        explain(terms_of(made.verification), is_unary=likes)
