"""JSON documents and sentences of evaluations."""

from collections.abc import Mapping
from functools import singledispatch
from typing import TypedDict

import numpy as np

from recveil.attacks import Interval, ReleaseAttack
from recveil.auditing.release_attacks import AttackedRelease
from recveil.evaluation.evaluator import WIDTH
from recveil.evaluation.next_items import NextItem, NextItems
from recveil.evaluation.nominal import MOST_FREQUENT, NominalServed
from recveil.evaluation.recipient import AVERAGES, POPULARITY, Served, Utility
from recveil.evaluation.results import (
    Evaluated,
    Evaluation,
    NominalEvaluation,
    NominalLists,
    Note,
)
from recveil.evaluation.retained import MIN_USERS, Measured, RetainedUtility
from recveil.ratings.ratings import in_likes
from recveil.release.coverage import NOISE, Coverage, kept_of
from recveil.report.audit.text import warnings_of_release
from recveil.report.document import parts_of
from recveil.report.evaluation.groups import group_grids
from recveil.report.release import describe_coverage
from recveil.runtime.number_format import estimate, format_bounds, percent
from recveil.runtime.safe_repr import Grid
from recveil.verification.link_posterior import LinkPosterior

# The best recommender is named if it exceeds the chosen one by this factor.
_MUCH_BETTER = 1.1
_UNRELIABLE = {
    "too-few-users": f"it takes {MIN_USERS} users, and {{n}} could be evaluated",
    "no-variation": "it does not vary with the choice of users",
    "imprecise": "it is too small, or its interval is too wide",
    "no-liked-labels": "no labels count as liked (--liked)",
}
REMADE = "Of another release with these settings:"
_NOTES = {
    "implicit": "This is implicit feedback. It has no ratings to predict or compare, so only lists "
    "are evaluated, without errors or deviations. Every held-out interaction is relevant.",
    "nominal": "Nominal labels are right or wrong; they have no error and no distance. A cell "
    "without a label in the user's row counts as wrong.",
    "pairs": "Nominal labels are attacked as pairs of an item and its label, which are equal or "
    "not. A wrong entry is an item with a label that the target never gave it. No adversary used "
    "items alone; leave out the column of labels to measure that.",
    "no-lists": "Lists are not evaluated: no labels count as liked (--liked). Lists of labelled "
    "items are not evaluated either: all rows of shared labels have the same items, so such lists "
    "cannot be learned from them. That does not promise that an adversary cannot infer who rated "
    "what.",
    "synthetic": "No record of this release belongs to a user. Deviations, self-ranks, filled "
    "cells, re-identification and links need a user's own row, so they do not apply.",
    "unknown-rows": "The map of users to rows is unknown ({detail}), so deviations, self-ranks, "
    "filled cells, attacks and links could not be measured. If the release was made from the test "
    "ratings, too, which is unknown as well, all figures are too good.",
    "no-membership": "Membership inference was not measured: the settings of the release do not "
    "suffice to make another such release.",
    "no-links": "All rows have the same items, so an item in a row gives no probability that a "
    "member rated it. The values of the rows reveal more of who rated what.",
    "judged": "Recommenders and most similar rows are judged on {detail} users with held-out "
    f"ratings, drawn at random: the 95% interval of an nDCG is about {WIDTH} wide.",
}


@parts_of.register
def _(result: Evaluated) -> Mapping[str, object]:
    matched = result.matched
    parts = parts_of_headline(result.evaluation, result.coverage)
    if result.share is not None:
        parts.insert(0 if result.coverage is None else 1, REMADE)
    return {
        "headline": " ".join(parts),
        "release": result.release,
        "release_sha256": result.sha256,
        "is_remade": result.share is not None,
        "split": result.share,
        "split_by": result.share and ("user" if result.cut is None else "time"),
        "cut": cut_of(result),
        "seed": result.seed,
        "left_out": matched
        and {
            "unknown_users": matched.unknown_users,
            "unknown_items": matched.unknown_items,
            "unknown_cells": matched.left_out,
            "also_in_training": matched.also_in_training,
        },
        "readings": [{"source": read.name, **read.to_dict()} for read in result.readings],
        **parts_of(result.evaluation),
        "coverage": result.coverage or result.evaluation.coverage,
    }


@parts_of.register
def _(result: Evaluation) -> Mapping[str, object]:
    raw, release, names = result.raw, result.release, result.raw.utilities
    has_absent = result.raw_absent is not None and result.release_absent is not None
    absent = {"raw": result.raw_absent, "release": result.release_absent}
    common, whole = result.self_rank_common, result.self_rank
    recipient = {
        "raw": _utility(raw, raw.chosen),
        "release": _utility(release, release.chosen),
        "averages": {"recommender": AVERAGES, **_figures(raw.of_averages)},
        "popularity": _utility(raw, POPULARITY),
        "lists": _lists(raw, release),
        "chosen": _sides(raw, release, best=False),
        "best": _sides(raw, release, best=True),
        "raw_gain": _whole(result.raw_gain, "n_judged"),
        "raw_lists": _whole(result.raw_lists, "n_ranked"),
        "release_gain": _interval(result.release_gain, "n_judged"),
        "utility_retained": {
            "chosen": _shares(result.retained, result.raw_gain, result.raw_lists),
            "best": _shares(result.best_retained, result.raw_gain, result.raw_lists),
        },
        "recommenders": {
            name: {"raw": _utility(raw, name), "release": _utility(release, name)} for name in names
        },
        "absent": {name: _utility(side, side.chosen) for name, side in absent.items() if side}
        if has_absent
        else None,
    }
    return {
        "target_deviation": result.target_deviation,
        "similar_user_deviation": result.similar_user_deviation,
        "self_rank_first": whole and whole.first_share,
        "self_rank_common_first": common and common.first_share,
        "self_rank": whole,
        "self_rank_common": common,
        "recipient": recipient,
        "carry_over": result.carry_over,
        "fidelity": result.fidelity,
        "coverage": result.coverage,
        "disclosure": _disclosure(result.disclosure, result.links),
        "users": result.n_users,
        "served": result.n_served,
        "absent": result.n_absent,
        "test_cells": result.n_cells,
        "filled_share": result.filled_share,
        "next_items": result.next_items,
        "divisions": result.divisions,
        "notes": notes_of(result),
    }


@parts_of.register
def _(result: NextItems) -> Mapping[str, object]:
    """Return the figures of each recommender, null where it has none of a side."""
    sides = {"raw": result.raw, "release": result.release}
    whole = result.raw[result.best_raw].ndcg
    names = dict.fromkeys([*result.raw, *result.release])
    return {
        "users": result.n_users,
        "cells": result.n_cells,
        "best_raw": result.best_raw,
        "chosen": result.chosen,
        "retained": _share(result.retained, whole, "n_ranked"),
        "without_days": result.without_days,
        "recommenders": {
            name: {side: _next_item(figures.get(name), result.n) for side, figures in sides.items()}
            for name in names
        },
    }


def _next_item(figures: NextItem | None, n: int) -> Mapping[str, object] | None:
    return figures and {
        f"hit_rate@{n}": _interval(figures.hit_rate, "n_ranked"),
        f"ndcg@{n}": _interval(figures.ndcg, "n_ranked"),
    }


@parts_of.register
def _(result: NominalEvaluation) -> Mapping[str, object]:
    raw, release, lists = result.raw, result.release, result.lists
    of_raw, of_release = (None, None) if lists is None else (lists.raw, lists.release)
    recipient = {
        "raw": _accuracy(raw, raw.chosen),
        "release": _accuracy(release, release.chosen),
        "averages": _accuracy(raw, MOST_FREQUENT),
        "popularity": _utility(of_raw, POPULARITY),
        "lists": _lists(of_raw, of_release),
        "chosen": _nominal_sides(result, best=False),
        "best": _nominal_sides(result, best=True),
        "raw_gain": _whole(result.raw_gain, "n_judged"),
        "raw_lists": _whole(None if lists is None else lists.raw_lists, "n_ranked"),
        "release_gain": _interval(result.release_gain, "n_judged"),
        "utility_retained": {
            "chosen": _nominal_shares(result, best=False),
            "best": _nominal_shares(result, best=True),
        },
        "predictors": {
            name: {"raw": _accuracy(raw, name), "release": _accuracy(release, name)}
            for name in raw.right
        },
    }
    return {
        "row_accuracy": result.row_accuracy,
        "target_deviation": None,
        "recipient": recipient,
        "liked": lists and lists.liked,
        "carry_over": None,
        "fidelity": None,
        "coverage": result.coverage,
        "disclosure": _disclosure(result.disclosure, result.links),
        "users": result.n_users,
        "served": result.n_served,
        "test_cells": result.n_cells,
        "next_items": None,
        "divisions": result.divisions,
        "notes": notes_of(result),
    }


def _figures(utility: Utility) -> Mapping[str, object]:
    n = utility.n
    return {
        "rmse": utility.rmse,
        "mae": utility.mae,
        f"ndcg@{n}": utility.ndcg,
        f"recall@{n}": utility.recall,
        f"coverage@{n}": utility.coverage,
        "setting": utility.setting,
        "inner_rmse": utility.inner_rmse,
        "inner_ndcg": utility.inner_ndcg,
    }


def _utility(served: Served | None, name: str) -> Mapping[str, object]:
    """Return the figures of a recommender; None for lists that were not evaluated."""
    if served is None:
        return dict.fromkeys(("recommender", "ndcg@10", "recall@10", "coverage@10"))
    return {"recommender": name, **_figures(served.utilities[name])}


def _lists(raw: Served | None, release: Served | None) -> Mapping[str, object]:
    names = ("", "", "")
    if raw is not None and release is not None:
        names = (raw.ranker or raw.chosen, release.ranker or release.chosen, raw.best_ranker)
    sides = zip(("raw", "release", "best_raw"), (raw, release, raw), names, strict=True)
    return {side: _utility(served, name) for side, served, name in sides}


def _sides(raw: Served, release: Served, *, best: bool) -> Mapping[str, object]:
    """Return the recommender and the ranker of either side, with their figures."""
    return {
        side: {
            "recommender": (name := served.best if best else served.chosen),
            "rmse": served.utilities[name].rmse,
            **_ranked(served, best=best),
        }
        for side, served in (("raw", raw), ("release", release))
    }


def _ranked(served: Served, *, best: bool) -> Mapping[str, object]:
    name = served.best_ranker if best else served.ranker or served.chosen
    return {"ranker": name, f"ndcg@{served.utilities[name].n}": served.utilities[name].ndcg}


def _nominal_sides(result: NominalEvaluation, *, best: bool) -> Mapping[str, object]:
    lists = result.lists
    sides = (
        ("raw", result.raw, lists and lists.raw),
        ("release", result.release, lists and lists.release),
    )
    return {
        side: {
            **(_ranked(served, best=best) if served else {"ranker": None, "ndcg@10": None}),
            **_accuracy(nominal, nominal.best if best else nominal.chosen),
        }
        for side, nominal, served in sides
    }


def _accuracy(served: NominalServed, name: str) -> Mapping[str, object]:
    mean = served.mean(name)
    figures = {"accuracy": mean.mean, "low": mean.low, "high": mean.high}
    return {"recommender": name, "rmse": None, "mae": None, **figures}


def _interval(figure: Measured, count: str) -> Mapping[str, object]:
    return {"value": figure.value, "low": figure.low, "high": figure.high, count: figure.n_users}


def _whole(figure: Measured | None, count: str) -> Mapping[str, object]:
    """Return a figure of the raw data, and whether shares of it are reliable."""
    if figure is None:
        none = {"value": None, "low": None, "high": None, count: 0}
        return {**none, "is_reliable": False, "unreliable_reason": "no-liked-labels"}
    reason = figure.unreliable_reason
    return {
        **_interval(figure, count),
        "is_reliable": reason is None,
        "unreliable_reason": reason,
    }


def _share(share: Measured | None, whole: Measured | None, count: str) -> Mapping[str, object]:
    """Return a retained share, and whether it is precise enough to report."""
    if share is None or whole is None:
        return {"value": None, "low": None, "high": None, count: 0, "is_reliable": False}
    return {**_interval(share, count), "is_reliable": whole.has_share(share)}


def _shares(
    retained: RetainedUtility | None, gain: Measured, lists: Measured | None
) -> Mapping[str, object]:
    return {
        "ratings": _share(retained and retained.ratings, gain, "n_judged"),
        "lists": _share(retained and retained.lists, lists, "n_ranked"),
        "lists_gain": _share(retained and retained.lists_gain, lists, "n_ranked"),
    }


def _nominal_shares(result: NominalEvaluation, *, best: bool) -> Mapping[str, object]:
    lists = result.lists
    retained, raw_lists = None, None
    if lists is not None:
        retained = lists.best_retained if best else lists.retained
        raw_lists = lists.raw_lists
    share = result.best_retained if best else result.retained
    ratings = _share(share, result.raw_gain, "n_judged")
    return {**_shares(retained, result.raw_gain, raw_lists), "ratings": ratings}


class _Figures(TypedDict):
    """Re-identification by one adversary."""

    name: str
    attack: str
    targets_requested: int
    targets_attacked: int
    reidentified: Interval
    baseline: float
    class_reidentified: Interval
    class_baseline: float


def _disclosure(
    disclosure: AttackedRelease | None, links: LinkPosterior | None
) -> Mapping[str, object] | None:
    """Return the attacks, the strongest adversary and the link posterior of a release."""
    if disclosure is None:
        return None
    if not disclosure.attacks:  # no record belongs to a user, so that there were no targets
        return {**parts_of(disclosure), "worst": None, "links": None}
    adversary, strongest = disclosure.strongest
    by_all = _by_all_ratings(disclosure)
    worst = max(
        [_figures_of(adversary.name, strongest), *by_all],
        key=lambda each: each["reidentified"].ranked,
    )
    return {
        **parts_of(disclosure),
        "by_all_ratings": by_all,
        "worst": {
            "adversary": worst["name"],
            "attack": worst["attack"],
            "reidentified": worst["reidentified"],
            "class_reidentified": worst["class_reidentified"],
            "bound": strongest.bound,
            "targets_requested": worst["targets_requested"],
            "targets_attacked": worst["targets_attacked"],
        },
        "links": links
        and {
            "mean": links.mean,
            "highest": links.highest,
            "uncovered_share": links.uncovered_share,
        },
    }


def _by_all_ratings(disclosure: AttackedRelease) -> list[_Figures]:
    """Return the results of adversaries who know all ratings of their targets; see the audit."""
    direct, fitted = disclosure.all_known, disclosure.clusters
    name = f"adversary with all {'likes' if disclosure.manifest.scale.unary else 'ratings'}"
    if direct is None or not direct.attacked:
        return []
    by_all = [_figures_of(name, direct)]
    if fitted is not None and fitted.reidentified.trials:
        by_all.append(
            {
                **by_all[0],
                "name": f"{name} and the rows of other targets",
                "attack": "conditional-logit",
                "targets_requested": fitted.reidentified.trials,
                "targets_attacked": fitted.reidentified.trials,
                "reidentified": fitted.reidentified,
                "class_reidentified": fitted.class_inferred,
                "class_baseline": fitted.class_baseline,
            }
        )
    return by_all


def _figures_of(name: str, attack: ReleaseAttack) -> _Figures:
    return {
        "name": name,
        "attack": attack.attack,
        "targets_requested": attack.requested,
        "targets_attacked": attack.attacked,
        "reidentified": attack.reidentified,
        "baseline": attack.baseline,
        "class_reidentified": attack.class_reidentified,
        "class_baseline": attack.class_baseline,
    }


def cut_of(result: Evaluated) -> str | None:
    """Return the first day after the training ratings, as an ISO date."""
    return None if result.cut is None else str(np.datetime64(result.cut, "D"))


def describe_next_items(result: NextItems) -> str:
    """Describe the retained quality of lists of next items, and what has no figure."""
    whole = result.raw[result.best_raw].ndcg
    if whole.unreliable_reason is not None:
        share = f"No share of the raw nDCG of next items is reported: {_reason_of(whole)}"
    elif not whole.has_share(result.retained):
        share = _unreported_share("of the nDCG of next items")
    else:
        share = _retained("of the nDCG of next items", result.retained)
    figures = f"{estimate(whole, 4)} from the raw ratings ({result.best_raw}, the best)"
    if result.chosen in result.release:
        chosen = result.release[result.chosen].ndcg
        best = max(result.release, key=lambda name: result.release[name].ndcg.value)
        highest = result.release[best].ndcg.value
        how = (
            f", which a recipient would choose; {best}, the best, has {number(highest)}"
            if highest >= _MUCH_BETTER * chosen.value
            else ""
        )
        figures += f", {estimate(chosen, 4)} from the release ({result.chosen}{how})"
    missing = ""
    if result.without_days:
        missing = (
            f" The release has no dates, so these have no figure from it: "
            f"{', '.join(result.without_days)}."
        )
    return f"{share}. nDCG of next items: {figures}.{missing}"


def notes_of(result: Evaluation | NominalEvaluation) -> list[str]:
    """Describe what could not be measured, and how the figures are to be read."""
    warnings = [] if result.disclosure is None else warnings_of_release(result.disclosure)
    is_unary = feedback_of(result) == "likes"
    notes = [
        in_likes(_describe_note(note), is_unary and note.code == "no-links")
        for note in result.notes
    ]
    return [*notes, *warnings]


def _describe_note(note: Note) -> str:
    if note.code == "no-links" and note.detail:
        return note.detail  # of the method
    return _NOTES[note.code].format(detail=note.detail)


def feedback_of(result: Evaluation | NominalEvaluation) -> str:
    """Return the kind of feedback as a noun: ratings, likes, or labels."""
    if isinstance(result, NominalEvaluation):
        return "labels"
    return "ratings" if result.has_ratings else "likes"


def headline(result: Evaluation | NominalEvaluation) -> str:
    """Summarize the retained utility by the chosen recommenders, and the coverage."""
    return " ".join(parts_of_headline(result))


def parts_of_headline(
    result: Evaluation | NominalEvaluation, of_folder: Coverage | None = None
) -> list[str]:
    """Describe utility and coverage, which comes first if it is low, or that of a given release."""
    utility = list(filter(None, _describe_utility(result)))
    coverage = describe_coverage(of_folder or result.coverage, likes=feedback_of(result) == "likes")
    if of_folder is not None:
        return [coverage.replace("The release", "The given release", 1), *utility]
    return [coverage, *utility] if result.coverage.is_low else [*utility, coverage]


def _describe_utility(result: Evaluation | NominalEvaluation) -> tuple[str, str]:
    if isinstance(result, NominalEvaluation):
        lists = "" if result.lists is None else _describe_lists(result.lists, "labels")
        return _describe_labels(result), lists
    if not result.has_ratings:
        return _describe_lists(result, "likes"), ""
    raw, release = result.raw, result.release
    return (
        _describe_lists(result, "ratings"),
        f"{_describe_ratings(result)} RMSE: {number(raw.of_chosen.rmse)} from the raw ratings "
        f"({raw.chosen}), {number(release.of_chosen.rmse)} from the release ({release.chosen}), "
        f"{number(raw.of_averages.rmse)} from {AVERAGES}.",
    )


def explain_unreliable(reason: str | None, n_users: int | None) -> str:
    """Explain why no share of a figure is reported.

    >>> explain_unreliable("too-few-users", 1)
    'it takes 20 users, and 1 could be evaluated'
    """
    return _UNRELIABLE[reason or "imprecise"].format(n=n_users or 0)


def _reason_of(figure: Measured) -> str:
    return explain_unreliable(figure.unreliable_reason, figure.n_users)


def _describe_labels(result: NominalEvaluation) -> str:
    """Describe the accuracy of predicted labels, and the retained gain."""
    raw, release = result.raw, result.release
    gain, share, high = result.raw_gain, result.retained, result.release_gain.high
    figures = (
        f"Accuracy: {percent(raw.mean(raw.chosen).mean)} from the raw labels ({raw.chosen}), "
        f"{percent(release.mean(release.chosen).mean)} from the release ({release.chosen}), "
        f"{percent(raw.mean(MOST_FREQUENT).mean)} from each item's most frequent label, which "
        f"needs no release."
    )
    of_gain = "of the gain in accuracy"
    if high < 0:
        retained = "The release predicts fewer labels correctly than the most frequent labels do"
    elif gain.unreliable_reason is not None:
        retained = (
            f"No share of the raw gain over the most frequent labels is reported: "
            f"{_reason_of(gain)}"
        )
    elif not gain.has_share(share):
        retained = _unreported_share(of_gain)
    else:
        retained = _retained(of_gain, share)
    return f"{retained}. {figures}"


def _describe_lists(result: Evaluation | NominalLists, feedback: str) -> str:
    raw, release, whole = result.raw, result.release, result.raw_lists
    best, chosen = raw.utilities[raw.best_ranker].ndcg, release.of_ranker.ndcg
    ranker = release.ranker or release.chosen
    figures = (
        f"nDCG: {number(best)} from the raw {feedback} ({raw.best_ranker}, the best), "
        f"{number(chosen)} from the release ({ranker}{_describe_better_ranker(release)})."
    )
    if np.isnan(best) or np.isnan(chosen):
        return (
            f"Lists cannot be evaluated: no relevant item is held out, or no recommender "
            f"distinguishes items. {figures}"
        )
    of_lists = "of the nDCG of lists of ten"
    if whole.unreliable_reason is not None:
        return (
            f"No share of the nDCG that the raw {feedback} reach is reported: "
            f"{_reason_of(whole)}. {figures}"
        )
    share = result.retained.lists
    if not whole.has_share(share):
        return f"{_unreported_share(of_lists)}. {figures}"
    popular = raw.utilities[POPULARITY].ndcg
    gain = result.retained.lists_gain
    if _beats_popularity(result):
        return f"{_retained(of_lists, share)}. {figures} {_describe_lists_gain(result)}"
    if raw.best_ranker == POPULARITY:  # those of the raw table do not beat it either
        return (
            f"On this table no recommender beats popularity, so lists do not show how good the "
            f"release is. {_retained(of_lists, share)}. {figures}"
        )
    how, advice = "do not beat", f"publish that list {NOISE} instead"
    if chosen > popular:
        how, advice = "do not clearly beat", f"that list {NOISE} may serve as well"
    how = "are worse than" if gain.high < 0 else how
    return (
        f"The release's lists {how} popular items alone, the same list for every user (nDCG "
        f"{number(chosen)} against {number(popular)}): {advice}. "
        f"{_retained(of_lists, share)}. {figures}"
    )


def _beats_popularity(result: Evaluation | NominalLists) -> bool:
    gain = result.retained.lists_gain
    is_open = result.raw_lists.has_share(gain) and gain.low <= 0  # no clear gain
    popular = result.raw.utilities[POPULARITY].ndcg
    return result.release.of_ranker.ndcg > popular and not is_open


def _describe_better_ranker(release: Served) -> str:
    """Name the best ranker where the chosen one is far below it."""
    best = release.utilities[release.best_ranker].ndcg
    if not best >= _MUCH_BETTER * release.of_ranker.ndcg > 0:
        return ""
    return f", which a recipient would choose; {release.best_ranker}, the best, has {number(best)}"


def _describe_lists_gain(result: Evaluation | NominalLists) -> str:
    """Describe what popular items alone achieve, and the retained gain above them."""
    share = result.retained.lists_gain
    popular = (
        f"Popular items alone, the same list for every user, have "
        f"{number(result.raw.utilities[POPULARITY].ndcg)}"
    )
    if not result.raw_lists.has_share(share):
        return f"{popular}. {_unreported_share('of the gain above them')}."
    if share.value >= 1:
        return f"{popular}; the release retains all of the gain above them."
    retained = f"{percent(share.value)} of the gain above them{ends(share)}"
    return f"{popular}; the release retains {retained}."


def _describe_ratings(result: Evaluation) -> str:
    gain, share = result.raw_gain, result.retained.ratings
    is_worse = result.release_gain.high < 0
    worse = "For predicted ratings, the release is worse than averages of the raw ratings"
    of_gain = "of the gain of collaborative filtering in predicted ratings"
    is_reliable = gain.has_share(share)
    if gain.unreliable_reason is not None or np.isnan(share.value):
        return (
            f"{f'{worse}. ' if is_worse else ''}No share of the raw gain in predicted ratings is "
            f"reported: {_reason_of(gain)}. The gain is {number(gain.value)} in RMSE "
            f"({format_bounds(gain.low, gain.high, 4)})."
        )
    if share.value <= 0 or is_worse:
        how = worse if is_worse else f"{worse.replace('worse', 'not significantly better')}"
        if not is_reliable:
            return f"{how}. {_unreported_share(of_gain)}."
        return f"{how}: it retains {percent(share.value)} {of_gain}{ends(share)}."
    if not is_reliable:
        return f"{_unreported_share(of_gain)}."
    return f"{_retained(of_gain, share)}."


def _unreported_share(of: str) -> str:
    return f"The retained share {of} is not reported, as its interval is too wide"


def _retained(of: str, share: Measured) -> str:
    """Describe a share with its interval, at most 100%."""
    value = percent(share.value) if share.value < 1 else "all"
    return f"The release retains {value} {of}{ends(share)}"


def ends(share: Measured) -> str:
    """Format the interval of a share, at most 100%; empty if there is none.

    >>> ends(Measured(0.9, 0.8, 1.2)), ends(Measured(1.1, 1.0, 1.2)), ends(Measured(1.0, 1.0, 1.0))
    (' (80–100)', ' (100)', '')
    """
    if np.isnan(share.low) or share.low == share.high:
        return ""
    return f" ({'100' if share.low >= 1 else format_bounds(share.low, min(1, share.high))})"


def describe_best(result: Evaluation) -> str:
    """Describe the best recommenders next to the chosen ones."""
    raw, release, retained = result.raw, result.release, result.best_retained
    lists = _format_share(retained.lists, result.raw_lists)
    ndcgs, rmses = (
        [
            f"{number(getattr(side.utilities[name], metric))} ({name})"
            for side, name in zip((raw, release), names, strict=True)
        ]
        for metric, names in (
            ("ndcg", (raw.best_ranker, release.best_ranker)),
            ("rmse", (raw.best, release.best)),
        )
    )
    if not result.has_ratings:
        return (
            f"The best lists on the test likes, which a recipient cannot know in advance: nDCG "
            f"{ndcgs[0]} from the raw likes, {ndcgs[1]} from the release{lists}."
        )
    return (
        f"All shares above are of the recommenders that a recipient would choose. The best on the "
        f"test ratings, which a recipient cannot know in advance: RMSE {rmses[0]} from the raw "
        f"ratings, {rmses[1]} from the release{_format_share(retained.ratings, result.raw_gain)}; "
        f"nDCG {ndcgs[0]} and {ndcgs[1]}{lists}."
    )


def _format_share(share: Measured, whole: Measured) -> str:
    if not whole.has_share(share):
        return ""
    return f" ({percent(min(1, share.value))} retained)"


def number(value: float | None, digits: int = 4) -> str:
    """Format a number; a dash if there is none."""
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


@singledispatch
def facts(result: object) -> dict[str, object]:
    """Return the facts that represent a result in a line."""
    raise TypeError(f"{type(result).__name__} has no facts")


@facts.register
def _(result: Evaluated) -> dict[str, object]:
    remade = None if result.share is None else "another one with these settings"
    noun = "likes" if result.train.is_unary else "ratings"
    kept = {} if result.coverage is None else kept_of(result.coverage, noun)
    return {"release": remade, **facts(result.evaluation), **kept}


@facts.register
def _(result: Evaluation) -> dict[str, object]:
    return {
        "users": result.n_users,
        "served": result.n_served,
        "lists retained": f"{_fact(result.retained.lists, result.raw_lists)}{_baseline_of(result)}",
        **(_facts_of_ratings(result) if result.has_ratings else {}),
        **kept_of(result.coverage, "ratings" if result.has_ratings else "likes"),
    }


def _facts_of_ratings(result: Evaluation) -> dict[str, object]:
    return {
        "ratings retained": _fact(result.retained.ratings, result.raw_gain),
        "RMSE": result.release.of_chosen.rmse,
        "RMSE of the raw table": result.raw.of_chosen.rmse,
    }


def _baseline_of(result: Evaluation) -> str:
    """Name popular items where they are as good as reported lists."""
    if _beats_popularity(result) or not result.raw_lists.has_share(result.retained.lists):
        return ""
    is_above = result.release.of_ranker.ndcg > result.raw.utilities[POPULARITY].ndcg
    return f", {'not clearly' if is_above else 'no'} better than popular items alone"


@facts.register
def _(result: NominalEvaluation) -> dict[str, object]:
    return {
        "users": result.n_users,
        "accuracy": percent(result.release.mean(result.release.chosen).mean),
        "of most frequent labels": percent(result.raw.mean(MOST_FREQUENT).mean),
        **kept_of(result.coverage),
    }


@facts.register
def _(result: NominalLists) -> dict[str, object]:
    return {"nDCG": result.release.of_ranker.ndcg, "of the raw table": result.raw.of_ranker.ndcg}


# In place of a share whose interval is below 0, and too wide to report it.
WORSE = "worse than averages"


def _fact(share: Measured, whole: Measured) -> str:
    if not whole.has_share(share):
        is_worse = whole.unreliable_reason is None and share.high < 0
        return WORSE if is_worse else "not reliable"
    return estimate([min(1, end) for end in share[:3]])


@singledispatch
def tables(_: object) -> list[Grid]:
    """Return a notebook's tables of a result."""
    return []


@tables.register
def _(result: Evaluated) -> list[Grid]:
    return tables(result.evaluation)


@tables.register
def _(result: Evaluation) -> list[Grid]:
    sides = result.raw.utilities, result.release.utilities
    rows = [
        (name, *(number(getattr(side[name], of), 3) for of in ("rmse", "ndcg") for side in sides))
        for name in result.raw.utilities
    ]
    header = ("recommender", "RMSE raw", "release", "nDCG raw", "release")
    grids = [Grid("trained on the raw ratings, and on the release", header, rows)]
    grids += [] if result.next_items is None else tables(result.next_items)
    return [*grids, *group_grids(result.divisions)[:1]]


@tables.register
def _(result: NextItems) -> list[Grid]:
    rows = []
    for name in {**result.raw, **result.release}:
        sides = [side.get(name) for side in (result.raw, result.release)]
        hits = [estimate(side.hit_rate) if side else "–" for side in sides]
        rows.append((name, *hits, *(estimate(side.ndcg, 3) if side else "–" for side in sides)))
    header = ("recommender", "hit rate raw", "release", "nDCG raw", "release")
    return [Grid("next items", header, rows)]


@tables.register
def _(result: NominalEvaluation) -> list[Grid]:
    rows: list[tuple[str, ...]] = [
        (
            name,
            *(percent(side.mean(name).mean) for side in (result.raw, result.release)),
        )
        for name in result.raw.right
    ]
    header = ("accuracy of", "raw", "release")
    grid = Grid("trained on the raw labels, and on the release", header, rows)
    return [grid, *group_grids(result.divisions)[:1]]
