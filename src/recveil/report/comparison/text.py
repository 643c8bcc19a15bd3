"""Sentences of comparisons."""

import math
from collections.abc import Iterable, Iterator
from shlex import split
from typing import NamedTuple

import numpy as np

from recveil.attacks import PRESETS, Adversary, Interval
from recveil.attacks.statistics import FEWEST
from recveil.auditing.release_attacks import COVERAGE
from recveil.comparison.choice import (
    ATTRIBUTE,
    FAR_AUC,
    REIDENTIFICATION,
    Axis,
    Choice,
    has_coverage,
    high_disclosure_of,
    inference_of,
    is_safe,
)
from recveil.comparison.results import Comparison
from recveil.comparison.rows import (
    Purpose,
    Row,
    Utility,
    counted_shares,
    shares_of,
    utilities_in,
)
from recveil.evaluation.retained import MIN_USERS, is_share_reliable
from recveil.io.columns.feedback import meaning_of_labels
from recveil.io.options import format_command
from recveil.ratings.ratings import in_likes
from recveil.release.coverage import FEWEST_RATINGS, LOW, NOISE
from recveil.release.exact_ratings import HIGH
from recveil.release.registry import command_options, undone_of, variant_of
from recveil.release.specs.baselines import DATED
from recveil.report.audit.disclosure import (
    MEMBERSHIP_OF_ALL,
    SHADOWS_OF_ALL,
    describe_membership,
)
from recveil.report.audit.risks import describe_absence
from recveil.report.audit.text import describe_lack
from recveil.report.comparison.marks import (
    explain_larger_epsilons,
    format_share,
)
from recveil.report.comparison.retained import (
    describe_recommenders,
    describe_split,
    format_lists,
    format_ratings,
    predicted_of,
)
from recveil.runtime.errors import WARNING, describe_count
from recveil.runtime.number_format import format_bounds, percent

# Maximum number of settings named in a sentence.
_NAMED = 4
# Maximum length of a headline.
_LONGEST = 100
_NAMES: dict[Purpose, str] = {"both": "", "ratings": " for ratings", "lists": " for lists"}
_RULES: dict[Purpose, str] = {
    "both": "Lists and ratings both count: the utility of a setting is the smaller of its two "
    "shares.",
    "lists": "Only lists count here.",
    "ratings": "Only ratings count here.",
}
_POPULAR = "Lists that are no better than popular items alone count as retaining nothing."
_ALL_POPULAR = (
    "On the raw data, no lists were better than those of popular items alone by more than the 95% "
    "interval. Popularity needs no release: how close lists come to these shows little."
)
_WIDE = (
    "A share is not reported if its interval is wider than 100 points. It is ignored if it is "
    "reported for no safe setting."
)
_OF_LIKES = (
    "This is implicit feedback: it has no ratings to retain and no error, and settings are chosen "
    "by lists."
)
_OF_NOMINAL = (
    "These are nominal labels, and a prediction is right or wrong. “Ratings” means labels here, "
    "“averages” each item's most frequent label, and “likes” items with exactly that label."
)
_NO_LISTS = (
    "Lists are not evaluated, as no labels count as liked (--liked): settings are chosen by labels "
    "alone."
)
# Why a risk was not measured in any setting.
_UNMEASURED = {
    "attribute": "No attribute inference was measured. That is no evidence of safety.",
    "membership": f"No setting has a measured rate of recognized members: it takes {FEWEST} "
    f"members and {FEWEST} nonmembers of whom enough ratings are known. That is no evidence of "
    f"safety.",
    "shadows": f"No setting has a measured rate of members recognized with shadow releases: it "
    f"takes {2 * FEWEST} users of whom enough ratings are known. That is no evidence of safety.",
}
# Why a risk that is not above its baseline is no evidence of safety.
_WEAK = {
    "membership": f"these scores use one release only; shadow releases ({SHADOWS_OF_ALL}) usually "
    f"recognize more",
}


def warnings_of(comparison: Comparison) -> list[str]:
    """Return what limits a comparison: of the table, and of its risks."""
    scale, rows, warnings = comparison.ratings.scale, comparison.rows, []
    if comparison.unfinished:
        warnings.append(describe_unfinished(comparison.unfinished))
    warnings += [_OF_LIKES] if comparison.ratings.is_unary else []
    if not scale.ordered:
        has_lists = any(row.has_lists for row in rows if row.problem is None)
        warnings += [_OF_NOMINAL] if has_lists else [_OF_NOMINAL, _NO_LISTS]
    warnings += [*meaning_of_labels(scale), *comparison.reading.notes]
    warnings += [*item_warnings(rows), *explain_larger_epsilons(rows)]
    return warnings + risk_warnings(rows, comparison.axis)


def item_warnings(rows: Iterable[Row]) -> list[str]:
    """Name the settings that take the list of rated items for public.

    >>> print(*item_warnings([Row("synthetic-3", None, "differential-privacy", None)]))
    The figures of “synthetic-3” hold only if the list of rated items is public, as set with
    item_catalog (--item-catalog as-rated); without it, a release may keep few items.
    """
    titles = [row.title for row in rows if takes_public_items(row)]
    if not titles:
        return []
    return [
        f"The figures of {_join([f'“{title}”' for title in titles])} hold only if the list of "
        f"rated items is public, as set with item_catalog (--item-catalog as-rated); without it, a "
        f"release may keep few items."
    ]


# The mark after the items that a setting keeps, and its meaning.
PUBLIC_ITEMS_MARK = "*"
PUBLIC_ITEMS = (
    "*: items that a synthetic user rated, if the list of rated items is public; otherwise fewer."
)


def takes_public_items(row: Row) -> bool:
    """Return whether a setting keeps its items only if the list of rated items is public."""
    return variant_of(row.method).options.get("item_catalog") == "as-rated"


def describe_unfinished(n: int) -> str:
    """Describe that settings of a comparison are missing."""
    return (
        f"This comparison was stopped: {n:,} of its settings are missing; run it again to complete "
        f"it."
    )


def risk_warnings(rows: Iterable[Row], axis: Axis = REIDENTIFICATION) -> list[str]:
    """Return the reasons why the measured risks may be too low."""
    rows = list(rows)
    warnings = _without_targets(rows, axis)
    attacked = [row for row in rows if axis.of(row) is not None]
    if not attacked:
        is_open = any(row.problem is None and variant_of(row.method).is_attacked for row in rows)
        unmeasured = _UNMEASURED.get(axis.name)
        return [*warnings, unmeasured] if is_open and unmeasured else warnings
    raw = next((row for row in attacked if variant_of(row.method).is_control), None)
    if raw is None:
        warnings.append(
            "The raw data were not attacked: add raw to the methods, to show that the attacks work "
            "on this table."
        )
    elif (axis.of(raw) or 0.0) < axis.least_in_raw:
        warnings.append(
            f"Even in the raw data, the strongest adversary has a risk of only "
            f"{describe_rate(raw, axis)}, so low risks are little evidence for the methods."
        )
    if axis is REIDENTIFICATION and any(row.method == DATED for row in attacked):
        warnings.append(
            "Only date-shift publishes dates, which adversaries compare: the other settings, raw "
            "as well, are attacked without. `audit` attacks the raw table with its dates."
        )
    row = attacked[0]
    # The next warning lists the adversaries without targets.
    if row.targets and row.most_targets_attacked and not has_coverage(row, axis):
        warnings.append(
            f"Adversaries who know some ratings could attack at most "
            f"{row.most_targets_attacked:,} of {row.targets:,} targets; the others count as not "
            f"re-identified, so the rates of these adversaries are too low."
        )
    return [*warnings, *_without_attack(attacked, axis)]


def describe_uncovered(row: Row) -> str:
    """Describe that too few targets of a setting could be attacked."""
    who, targets = "adversaries who know some ratings could attack", row.targets or 0
    if not row.most_targets_attacked:
        return f"{who} none of {describe_count(targets, 'target')}"
    return (
        f"{who} only {row.most_targets_attacked:,} of {describe_count(targets, 'target')}, and the "
        f"others count as not re-identified, so the rates of these adversaries are too low"
    )


def _without_attack(rows: list[Row], axis: Axis) -> list[str]:
    """List the adversaries who attacked nobody, whom the strongest adversary leaves out."""
    listed = (
        row.adversaries_without_targets.split("; ")
        for row in rows
        if row.adversaries_without_targets
    )
    names = list(dict.fromkeys(name for each in listed for name in each))
    if not axis.is_search or not names:
        return []
    by_reason = dict[str, list[str]]()
    for name in names:
        lack = describe_lack(PRESETS.get(name, Adversary(name=name)))
        by_reason.setdefault(f" (all targets have {lack})", []).append(name)
    reasons = ", ".join(", ".join(those) + reason for reason, those in by_reason.items())
    return [
        f"{'Adversary' if len(names) == 1 else 'Adversaries'} who could attack no target, in the "
        f"raw data or a setting: {reasons}. Their risk is unknown, and not 0."
    ]


def _applies_to(row: Row, axis: Axis) -> bool:
    return not axis.is_search or variant_of(row.method).about_claim.contains_users


def describe_missing(row: Row, axis: Axis) -> str:
    """Describe in a verb phrase why a setting has no figure of a risk."""
    is_applicable = _applies_to(row, axis)
    return "was " * is_applicable + describe_absence(is_applicable=is_applicable)


def _without_targets(rows: list[Row], axis: Axis) -> list[str]:
    """List settings without targets on an axis that counts targets."""
    synthetic = [row for row in rows if not _applies_to(row, axis)]
    if not synthetic:
        return []
    return [
        f"This risk does not apply to {_titles(synthetic)}: no record of theirs belongs to a "
        f"user, so there are no targets. That is not a low risk; compare by membership inference "
        f"(--risk membership), a risk of every method."
    ]


def _titles(rows: list[Row]) -> str:
    names = ", ".join(f"“{row.title}”" for row in rows[:_NAMED])
    return f"{names} and {len(rows) - _NAMED} more" if len(rows) > _NAMED else names


def describe_rate(row: Row, axis: Axis) -> str:
    """Format a risk with what it counts.

    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.1, targets=900)
    >>> describe_rate(row, REIDENTIFICATION)
    '10% of users re-identified'
    """
    return amount_of(axis.of(row), axis)


def format_risk(value: float | None, axis: Axis) -> str:
    """Format a risk: a share, or a difference of AUC, which is no share of anything."""
    is_area = axis.name == ATTRIBUTE.name and value is not None
    return f"{value:.3f}" if is_area else percent(value)


def amount_of(value: float | None, axis: Axis) -> str:
    """Format a risk with its unit."""
    return f"{format_risk(value, axis)}{' of' * (axis.name != ATTRIBUTE.name)} {axis.label}"


def format_ends(row: Row, axis: Axis, limit: float | None = None) -> str:
    """Format the interval of a risk."""
    digits = 3 if axis.name == ATTRIBUTE.name else None
    return format_bounds(getattr(row, axis.low), getattr(row, axis.high), digits, limit)


def describe_risk(row: Row, axis: Axis, limit: float | None = None) -> str:
    """Describe a risk with its adversary, targets, interval and baseline."""
    if axis.of(row) is None:
        reason = ", since no user could be attacked" * _applies_to(row, axis)
        return describe_missing(row, axis).removeprefix("was ") + reason
    n_targets = getattr(row, f"{axis.value}_targets", None) or row.targets
    targets = f", {n_targets:,} targets" if axis.is_search and n_targets else ""
    if targets and row.targets and n_targets < row.targets:
        targets += f"; {row.targets:,} of adversaries who know fewer ratings"
    return (
        f"{describe_rate(row, axis)} by “{getattr(row, axis.by)}” "
        f"({format_ends(row, axis, limit)}{targets}){describe_baseline(row, axis)}"
    )


def describe_baseline(row: Row, axis: Axis) -> str:
    """Describe a risk that is not above its baseline; empty if it is, or unknown."""
    baseline, rate = getattr(row, axis.baseline), axis.of(row)
    low, high = getattr(row, axis.low), axis.highest(row)
    if None in (baseline, rate, low) or low > baseline:
        return ""
    how = "below" if high < baseline else "not significantly above"
    text = f", {how} the baseline ({axis.baseline_label}: {format_risk(baseline, axis)})"
    second = _describe_second(row, axis)
    if not second and axis.name not in _WEAK:
        return f"{text}, so this attack infers nothing beyond the baseline"
    weak = f"; {_WEAK[axis.name]}" if axis.name in _WEAK else ""
    return f"{text}{second}{weak}"


def _describe_second(row: Row, axis: Axis) -> str:
    """Describe the second figure of an axis if it is above its baseline; empty if it is not."""
    if not axis.second:
        return ""
    value, low, baseline = (
        getattr(row, f"{axis.second}{end}") for end in ("", "_low", "_baseline")
    )
    if None in (value, low, baseline) or low <= baseline:
        return ""
    return f"; however, {axis.second_label}: {percent(value)} (baseline {percent(baseline)})"


def headline_choice(comparison: Comparison) -> Choice | None:
    """Return the answer to the question, or that to a default question."""
    if not comparison.rows:
        return None
    if comparison.has_question:
        return comparison.choice()
    usual = comparison.axis.usual
    return next(
        (c for c in comparison.ladder() if c.max_risk and math.isclose(c.max_risk, usual)), None
    )


def headline_of(choice: Choice) -> str:
    """Return the answer in at most 100 characters.

    >>> headline_of(Choice(0.1, None, "both", "reidentification", reason="unfinished",
    ...                    n_unfinished=3))
    'No recommendation yet: 3 settings are not finished.'
    >>> headline_of(Choice(0.1, None, "lists", "reidentification", reason="not-distinguishable",
    ...                    unbeaten=("lists",)))
    'On this table no recommender beats popularity, so lists do not show which release is best.'
    """
    row = choice.row
    if row is None:
        names = utilities_in(choice.decided_by or choice.utility)[:1]
        return shorten_headline(
            *(
                f"No safe setting beats {_describe_beaten(choice, names, is_named=is_named)}."
                for is_named in (True, False)
                if choice.beaten
            ),
            _describe_no_choice(choice),
        )
    if disclosing := _warn_first(choice, row):
        return shorten_headline(*disclosing)
    title, alone = f"“{row.title}”", f"for {predicted_of(row)} alone"
    if choice.decided_by is None:
        return shorten_headline(f"Publish {title}, the safest: no share decides.", title)
    kept, rivals = format_kept(row), _describe_rivals(choice.tied)
    if not row.is_above_baseline("lists"):
        has_loss = choice.more_disclosing and kept and not kept.startswith("all")
        return shorten_headline(
            *(f"Publish {title} {alone}, not lists; {kept}{end}." for end in rivals if has_loss),
            *(f"Publish {title} {alone}, not lists{end}." for end in rivals if end),
            f"Publish {title} {alone}: its lists do not beat popular items.",
            f"Publish {alone}: {title}",
        )
    amounts = dict.fromkeys(filter(None, (_describe_amounts(row), kept)))
    return shorten_headline(
        *(f"Publish {title}: {each}{end}." for end in rivals for each in amounts),
        *(f"Publish {title}{end}." for end in rivals),
        f"Publish {title}",
    )


def _warn_first(choice: Choice, row: Row) -> list[str]:
    """State a high disclosure of the answer, and the setting to take instead; empty if none is."""
    title, name = f"“{row.title}”", high_disclosure_of(row)
    equal = next(iter(choice.less_disclosing), None)
    if not name:
        if equal is None:
            return []
        other = f"“{equal.title}”"
        return [
            f"Publish {title}. {other} has far less of one disclosure: see below.",
            f"Publish {title}; {other} has less of one disclosure.",
            f"Publish {title}; see below.",
        ]
    amount, least = format_disclosure(row, name), next(iter(choice.least_disclosing), None)
    if equal is not None and (getattr(equal, name) is not None):
        instead = f"at no lower utility, “{equal.title}” has {format_disclosure(equal, name)[1]}"
    elif least is not None:
        instead = f"lowest: “{least.title}”, {format_disclosure(least, name)[1]}"
    else:
        instead = "no compared setting has far less"
    start = f"{amount[0]} {amount[1]} in {title}"
    is_most = choice.decided_by and not choice.unclear and not choice.more_disclosing
    most = ", which retains most" if is_most else ", the answer"
    return [f"{start}{most}; {instead}.", f"{start}; {instead}.", f"{start}: see the alternatives."]


def format_disclosure(row: Row, name: str) -> tuple[str, str]:
    """Return the name and the amount of a disclosure."""
    if name == "published_share":
        return "Exactly published ratings:", percent(row.published_share)
    return "Membership AUC", f"{getattr(row, name):.2f}"


def _describe_rivals(tied: list[Row]) -> list[str]:
    # The longest first
    if not tied:
        return [""]
    one, *more = tied
    first = f"; as good: “{one.title}”{f' and {len(more):,} more' * bool(more)}"
    return [first, f"; {describe_count(len(tied), 'other is', 'others are')} as good", ""]


def describe_rest(choice: Choice, rows: Iterable[Row] = ()) -> str:
    """Describe the amounts that a headline has no room for, and settings that disclose less.

    Without an answer, describe which of all rows keeps the fewest items.
    """
    row, sentences = choice.row, []
    if row is None:
        instead = [_describe_instead(choice)] if choice.beaten else []
        if choice.beaten and choice.unbeaten:
            instead.insert(0, _describe_unbeaten(choice))
        return " ".join(filter(None, (*instead, _describe_fewest(rows))))
    headline, auc = headline_of(choice), strongest_inference(row)
    if auc is not None and auc.low > 0.5 and auc.rate >= 0.5 + FAR_AUC:
        sentences.append(f"It discloses membership: AUC {auc.rate:.2f} (a random guess: 0.50).")
    if publishes_most(row):
        sentences.append(f"It publishes {percent(row.published_share)} of all ratings exactly.")
    amounts = _describe_amounts(row)
    if amounts and amounts not in headline:
        sentences.append(f"It has {amounts}.")
    if takes_public_items(row) and row.items_kept is not None:
        sentences.append("It keeps these items only if the list of rated items is public.")
    averages = "the most frequent labels" if row.is_nominal else "averages"
    nouns = ("lists", "popular items"), (f"predicted {predicted_of(row)}", averages)
    for name, (noun, baseline) in zip(utilities_in("both"), nouns, strict=True):
        if not row.is_clearly_above_baseline(name) and baseline not in headline:
            worse = "significantly " * row.is_above_baseline(name)
            sentences.append(f"Its {noun} are not {worse}better than {baseline}.")
    if sentences and (high_disclosure_of(row) or choice.less_disclosing):
        # The headline names another setting, too.
        sentences[0] = f"“{row.title}”: {sentences[0][0].lower()}{sentences[0][1:]}"
    return " ".join([*sentences, *_describe_others(choice)])


def _describe_fewest(rows: Iterable[Row]) -> str:
    """Describe which setting keeps the fewest items; empty if all keep all."""
    known = [row for row in rows if row.items_kept is not None]
    least = min(known, key=lambda row: row.items_kept or 0, default=None)
    kept = "" if least is None else format_kept(least)
    if least is None or not kept or kept.startswith("all"):
        return ""
    n_little = sum(map(keeps_little, known)) - 1
    others = (
        f"; {describe_count(n_little, 'other setting keeps', 'other settings keep')} less than "
        f"half of the items or ratings"
        if n_little > 0
        else ""
    )
    warning = WARNING if keeps_little(least) else ""
    return f"{warning}“{least.title}” keeps fewest: {kept}{others}."


def join_rest(comparison: Comparison, choice: Choice) -> str:
    """Return what follows the headline: the rest of the answer, and the default limit."""
    return f"{describe_rest(choice, comparison.rows)} {describe_default(comparison)}".strip()


def _describe_others(choice: Choice) -> Iterator[str]:
    for at, other in enumerate(choice.least_disclosing[:_NAMED]):
        amounts = _describe_amounts(other) or "no share reported"
        disclosed = ", ".join(_describe_disclosures(other))
        yield f"“{other.title}” discloses {'far less' if at else 'least'} ({disclosed}): {amounts}."
    if choice.tied and "as good" in headline_of(choice):
        yield "As good: the 95% intervals overlap."
    if names := [f"“{other.title}”" for other in choice.less_disclosing]:
        verb, them = ("discloses", "it") if len(names) == 1 else ("disclose", "them")
        yield f"{_join(names)} {verb} far less at no lower utility: consider {them} first."
    if names := [f"“{other.title}”" for other in choice.more_disclosing]:
        verbs = ("is", "discloses") if len(names) == 1 else ("are", "disclose")
        yield f"{_join(names)} {verbs[0]} not distinguishably better, and {verbs[1]} far more."


def _describe_amounts(row: Row) -> str:
    """Describe the shares of utility, items and ratings that a setting retains."""
    shares = shares_of(row)
    # Lists that popular items beat retain nothing.
    lists = shares.lists if row.is_above_baseline("lists") else None
    named = ("lists", lists), (predicted_of(row), shares.ratings)
    reliable = [(name, share) for name, share in named if share and share.is_reliable]
    retained = ", ".join(f"{name} {format_share(s)}" for name, s in reliable if s.value > 0)
    return "; ".join(filter(None, (retained and f"{retained} retained", format_kept(row))))


def format_kept(row: Row) -> str:
    """Format the shares of items and ratings that a setting keeps; empty if not measured.

    >>> row = Row("sparse", 5, "k-anonymity", None, items_kept=0.243, ratings_kept=0.747)
    >>> format_kept(row), format_kept(row._replace(items_kept=1, ratings_kept=1))
    ('items 24.3%, ratings 74.7% kept', 'all items and ratings kept')
    """
    if row.items_kept is None:
        return ""
    noun = predicted_of(row) if row.has_ratings else "likes"
    condition = " if items are public" * takes_public_items(row)
    if row.items_kept == 1 and row.ratings_kept in (None, 1):
        return f"all items and {noun} kept{condition}"
    ratings = "" if row.ratings_kept is None else f", {noun} {percent(row.ratings_kept, LOW)}"
    return f"items {percent(row.items_kept, LOW)}{ratings} kept{condition}"


def shorten_headline(*texts: str) -> str:
    """Return the first text that fits into a headline, or the beginning of the last."""
    fitting = (text for text in texts if len(text) <= _LONGEST)
    return next(fitting, f"{texts[-1][: _LONGEST - 1]}…")


def _describe_no_choice(choice: Choice) -> str:
    """Describe why no setting is recommended."""
    if choice.reason == "unfinished":
        n = choice.n_unfinished
        is_one = n == 1
        return (
            f"No recommendation yet: {describe_count(n, 'setting')} "
            f"{'is' if is_one else 'are'} not finished."
        )
    if choice.reason == "not-distinguishable":
        return _describe_unbeaten(choice)
    question = describe_question(choice)
    if choice.beaten:
        names = utilities_in(choice.decided_by or choice.utility)
        return f"{question}, no setting beats {_describe_beaten(choice, names)}."
    return f"{question}, no compared setting qualifies."


def _describe_unbeaten(choice: Choice) -> str:
    """Name the baselines that the raw table does not beat, which so show nothing of releases."""
    averages, ratings = (
        ("most frequent labels", "labels") if choice.is_nominal else ("averages", "ratings")
    )
    named = {"lists": ("popularity", "lists"), "ratings": (averages, ratings)}
    beaten = " or ".join(named[name][0] for name in choice.unbeaten)
    is_one = len(choice.unbeaten) == 1
    shown = f"{named[choice.unbeaten[0]][1]} do not show" if is_one else "neither shows"
    text = f"no recommender beats {beaten}, so {shown} which release is best."
    return shorten_headline(f"On this table {text}", f"{text[0].upper()}{text[1:]}")


def _describe_beaten(choice: Choice, names: tuple[Utility, ...], *, is_named: bool = True) -> str:
    """Describe the baselines that beat all settings within the limits, and the best of these."""
    rows, beaten = choice.beaten, []

    def add(baseline: str, best: Row, figures: str) -> None:
        beaten.append(f"{baseline} ({f'“{best.title}”: ' * is_named}{figures})")

    if "lists" in names:
        best = max(rows, key=lambda row: row.ndcg or 0.0)
        figures = f"nDCG {best.ndcg:.3f} against {best.popularity_ndcg:.3f}"
        add("popular items", best, figures)
    if "ratings" in names and choice.is_nominal:
        best = max(rows, key=lambda row: row.nominal_accuracy or 0.0)
        ends = percent(best.nominal_accuracy), percent(best.baseline_nominal_accuracy)
        add("the most frequent labels", best, f"accuracy {' against '.join(ends)}")
    elif "ratings" in names:
        best = min(rows, key=lambda row: row.rmse or np.inf)
        add("averages", best, f"RMSE {best.rmse:.4f} against {best.averages_rmse:.4f}")
    return " or ".join(beaten)


def _describe_instead(choice: Choice) -> str:
    """Describe what to publish where all settings within the limits are below a baseline."""
    averages = "the most frequent labels" if choice.is_nominal else "averages"
    named = {"lists": "a list of popular items", "ratings": averages}
    names = utilities_in(choice.decided_by or choice.utility)
    return f"Publish {' and '.join(named[name] for name in names)} instead, {NOISE}."


def describe_default(comparison: Comparison) -> str:
    """Describe the limit of the answer to a comparison without a question; empty with one."""
    if comparison.has_question or not comparison.rows or comparison.unfinished:
        return ""
    limit = amount_of(comparison.axis.usual, comparison.axis)
    return f"The limit is the default, at most {limit}; max_risk (--max-risk) sets another."


def describe_advice(choice: Choice) -> str:
    """Describe what to publish, the retained utility, and the risk."""
    row, axis = choice.row, choice.axis
    if row is None:
        return describe_answer(choice)
    return describe_setting(row, choice.utility, axis, choice.max_risk)


def describe_setting(row: Row, utility: Purpose, axis: Axis, limit: float | None = None) -> str:
    """Describe a setting to publish: the retained utility, the risk, and what else it discloses."""
    retained = [_describe_lists(row)] if row.has_lists else []
    retained += [format_ratings(row)] if row.has_ratings else []
    if utility == "ratings":
        retained.reverse()
    bound = axis.bound_of(row)
    proven = "nothing is proven" if bound is None else f"proven: at most {percent(bound, limit)}"
    return (
        f"Publish “{row.title}”: {', '.join(retained)}. Risk: {describe_risk(row, axis, limit)}; "
        f"{proven}.{_describe_disclosure(row)}"
    )


def _describe_disclosure(row: Row) -> str:
    """Describe what else the release discloses: exact ratings, and membership."""
    parts = []
    if row.published_share:
        parts.append(f"publishes {percent(row.published_share)} of all ratings exactly")
    if row.membership_auc is not None and (row.membership_auc_low or 0.0) > 0.5:
        parts.append(
            f"discloses membership with an AUC of {row.membership_auc:.2f} (a random guess: 0.50)"
        )
    return f" It {' and '.join(parts)}." if parts else ""


def _describe_lists(row: Row) -> str:
    """Describe the quality of the lists, relative to popular items alone."""
    share = shares_of(row).lists
    if share is None or not share.is_reliable or share.value >= 1:
        return format_lists(row)
    gain = _describe_lists_gain(row)
    text = f"lists retain {percent(share.value)} of the best nDCG on the raw data"
    return f"{text} ({gain})" if gain else text


def _describe_lists_gain(row: Row) -> str:
    """Describe how far lists improve from popular items to the best lists of the raw data."""
    if row.is_all_popular:
        return "which popular items alone reach"
    if not row.is_above_baseline("lists"):
        return "no better than popular items alone"
    gain, low, high = (getattr(row, f"lists_gain_retained{end}") for end in ("", "_low", "_high"))
    if gain is None:
        return ""
    if not row.is_ndcg_reliable or not is_share_reliable(gain, low, high):
        return "the share of the gain above popular items is not reliable"
    if gain >= 1:
        return "and all of the gain above popular items"
    if gain <= 0:
        is_worse = high is not None and high < 0
        return f"{'worse' if is_worse else 'no better'} than popular items alone"
    return f"and {percent(gain)} of the gain above popular items"


# Explains a column of the tables of settings.
FEW_RATINGS = (
    f"Users with few ratings: published users with fewer than {FEWEST_RATINGS}, imputed values not "
    f"counted; releases lack the held-out ratings."
)


class Making(NamedTuple):
    """The command that makes a setting."""

    # The line before it
    purpose: str
    command: str


def commands_of(comparison: Comparison, choice: Choice) -> list[Making]:
    """Return the commands that make the answer, and the first setting that discloses less."""
    if choice.row is None:
        return []
    source, *options = comparison.reading.arguments or ("RATINGS",)
    return [
        Making(
            _describe_making(row),
            format_command(
                *("anonymize", source, "-o", "out"),
                *([] if row.k is None else ["--k", str(row.k)]),
                *(*split(command_options(row.method)), *options),
            ),
        )
        for row in (choice.row, *choice.less_disclosing[:1])
    ]


def _describe_making(row: Row) -> str:
    rated = "rated" if row.has_ratings else "liked"
    condition = f", only if the list of {rated} items is public" * takes_public_items(row)
    return f"To make “{row.title}”{condition}:"


def describe_question(choice: Choice) -> str:
    """Describe the limits, as the beginning of a sentence."""
    parts = []
    if choice.max_risk is not None:
        parts.append(f"at most {amount_of(choice.max_risk, choice.axis)}")
    if choice.min_k is not None:
        parts.append(f"at least {choice.min_k} users per row")
    return f"With {' and '.join(parts)}" if parts else "Without a limit"


def describe_answer(choice: Choice) -> str:
    """Describe the setting that retains most within the limits."""
    row, question = choice.row, describe_question(choice)
    if row is None:
        return _describe_no_choice(choice)
    parts = [format_lists(row)] if row.has_lists else []
    parts += [format_ratings(row)] if row.has_ratings else []
    figures = ", ".join(parts[::-1] if choice.utility == "ratings" else parts)
    shares, title = counted_shares(row, choice.utility), f"“{row.title}”"
    if choice.decided_by is None:
        answer = f"no reported share decides which setting retains most; {title} is the safest"
    elif choice.more_disclosing:
        answer = f"{title} discloses far less than a setting that is not distinguishably better"
    elif choice.unclear:
        unclear = _titles(choice.unclear)
        answer = f"{title} retains most of those that clearly beat a baseline (not {unclear})"
    elif all(share is not None and share.is_nothing for share in shares):
        answer = f"{title} is the best, and it retains no collaborative gain"
    elif choice.utility == "both" and not row.is_above_baseline("lists"):
        answer = f"{title} retains most for {predicted_of(row)} alone"
    elif choice.decided_by != choice.utility or not all(s and s.is_reliable for s in shares):
        answer = f"{title} retains most, as far as shares are reported"
    else:
        answer = f"{title} retains most{_NAMES[choice.utility]}"
    kept = format_kept(row)
    return f"{question}, {answer}: {figures}{f'; {kept}' if kept else ''}."


def caveats_of(choice: Choice) -> list[str]:
    """Describe the precision and the safety of an answer, and what was rejected."""
    row = choice.row
    if row is None:
        return _describe_missing(choice)
    caveats = [
        *_describe_less_disclosing(choice, row),
        *_describe_rejected(choice),
        *_describe_precision(choice, row),
        *_describe_safety(choice, row),
    ]
    # Attacks on other tables may have been measured with ratings.
    measured = () if row.has_ratings else undone_of(row.method, has_ratings=False)
    return [in_likes(each, not row.has_ratings and each not in measured) for each in caveats]


def _describe_less_disclosing(choice: Choice, row: Row) -> list[str]:
    """Compare what settings of the same utility disclose, where that differs by far."""
    if choice.more_disclosing:
        others = [
            f"“{other.title}” ({', '.join(_describe_disclosures(other))})"
            for other in choice.more_disclosing
        ]
        verb = "retains" if len(others) == 1 else "retain"
        return [
            f"{_join(others)} {verb} more as measured, which this split does not distinguish, and "
            f"{'discloses' if len(others) == 1 else 'disclose'} far more than “{row.title}” "
            f"({', '.join(_describe_disclosures(row)) or 'not measured'}).",
            *_describe_less_disclosing(choice._replace(more_disclosing=[]), row),
        ]
    if not choice.less_disclosing:
        return []
    disclosures = [
        f"“{other.title}” ({', '.join(_describe_disclosures(other)) or 'not measured'})"
        for other in choice.less_disclosing
    ]
    disclosed = ", ".join(_describe_disclosures(row))
    return [
        f"At the same utility, as far as this split shows, {_join(disclosures)} "
        f"{'discloses' if len(disclosures) == 1 else 'disclose'} far less than “{row.title}” "
        f"({disclosed}). Consider {'it' if len(disclosures) == 1 else 'them'} first."
    ]


def _join(texts: list[str]) -> str:
    """Join the parts of an enumeration, as in: a, b and c."""
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def _describe_disclosures(row: Row) -> list[str]:
    """Describe the exactly published share, and the AUC of the strongest membership inference."""
    auc = strongest_inference(row)
    parts = [] if row.published_share is None else [f"{percent(row.published_share)} exact ratings"]
    return parts if auc is None else [*parts, f"membership AUC {auc.rate:.2f}"]


def strongest_inference(row: Row) -> Interval | None:
    """Return the AUC of the strongest membership inference that was run; None without any."""
    return _interval(row, inference_of(row))


def _describe_missing(choice: Choice) -> list[str]:
    """Describe what to do where no setting is recommended."""
    if choice.reason == "unfinished":
        return ["A setting that is not finished may be better than those below."]
    if choice.beaten:
        return [
            "A release that does not beat a baseline adds risk and no utility. More users, a "
            "smaller k or a higher limit may give one that does.",
            *_describe_rejected(choice),
        ]
    if choice.reason == "not-distinguishable":
        has_other = choice.utility == "both" and len(choice.unbeaten) == 1
        return [
            "Where the raw data's gain over a baseline is not above its 95% interval, no share of "
            f"it is meaningful. Choose by the risk alone, or publish the baseline, item counts or "
            f"averages, {NOISE}.",
            *([_WIDE] if has_other else []),
        ]
    return _describe_safest(choice)


def _describe_safest(choice: Choice) -> list[str]:
    """Describe the lowest risk, where none is low enough."""
    row, axis = choice.safest, choice.axis
    if row is None:
        return ["No setting with a guarantee could be evaluated."]
    if has_coverage(row, axis):
        limits = (choice.max_risk, choice.min_k, axis)
        is_unsure = axis.is_search and is_safe(row._replace(**{axis.high: axis.of(row)}), *limits)
        more = " Only its interval exceeds the limit: more targets (--targets), if users "
        return [
            f"The safest is “{row.title}”: {describe_risk(row, axis, choice.max_risk)}."
            f"{f'{more}are left, may decide it.' if is_unsure else ''}"
        ]
    advice = (
        "Choose by what is proven: k-anonymity with a k of at least 1 / risk."
        if axis is REIDENTIFICATION
        else "Use more targets."
    )
    return [
        f"No setting is shown to be within the limit: {describe_uncovered(row)}. The safest is "
        f"“{row.title}”: {describe_risk(row, axis, choice.max_risk)}. {advice}"
    ]


def _describe_rejected(choice: Choice) -> list[str]:
    """List the settings with more utility than the answer, and why they were rejected."""
    if not choice.rejected:
        return []
    first, *others = choice.rejected
    also = f", with {describe_count(len(others), 'more setting')}" if others else ""
    bound = choice.axis.bound_of(first)
    limit = choice.max_risk
    proven = "nothing" if bound is None else f"at most {percent(bound, limit)}"
    return [
        f"“{first.title}” retains more and is rejected{also}: {describe_uncovered(first)}. "
        f"Without a proof, at least {percent(COVERAGE)} are required. Proven: {proven}."
    ]


def _describe_safety(choice: Choice, row: Row) -> list[str]:
    """Describe the safety of the answer, what is proven, and what else it discloses."""
    axis = choice.axis
    risk = describe_risk(row, axis, choice.max_risk)
    caveats = [f"The risk by the strongest adversary: {risk}."]
    caveats.append(_describe_proof(row, choice.max_risk, axis))
    if axis is not REIDENTIFICATION and row.risk is not None:
        caveats.append(f"Re-identification: {describe_risk(row, REIDENTIFICATION)}.")
    if row.published_share:
        lone = row.lone_share
        why = f"; {percent(lone)} because no other user of the cluster rated the item"
        caveats.append(
            f"{percent(row.published_share)} of all ratings are published exactly in the user's "
            f"row{why if lone else ''}."
        )
    caveats += describe_coverage(row)
    return [*caveats, *undone_of(row.method, has_ratings=row.has_ratings), *_describe_members(row)]


def keeps_little(row: Row) -> bool:
    """Return whether a setting keeps less than half of the items or of the ratings."""
    kept = (row.items_kept, row.ratings_kept)
    return any(share is not None and share < LOW for share in kept)


def publishes_most(row: Row) -> bool:
    """Return whether a setting publishes at least half of the ratings exactly."""
    is_control = variant_of(row.method).is_control
    return not is_control and row.published_share is not None and row.published_share >= HIGH


def describe_coverage(row: Row) -> list[str]:
    """Describe the items and ratings that a setting keeps, if it leaves some out."""
    if row.items_kept is None or (row.items_kept == 1 and not row.short_users):
        return []
    noun = "ratings" if row.has_ratings else "likes"
    short = (
        f"; {describe_count(row.short_users, 'published user has', 'published users have')} fewer "
        f"than {FEWEST_RATINGS}"
        if row.short_users
        else ""
    )
    condition = ", if the list of rated items is public" * takes_public_items(row)
    return [
        f"{WARNING if keeps_little(row) else ''}“{row.title}” keeps "
        f"{percent(row.items_kept, LOW)} of the items, which have "
        f"{percent(row.ratings_kept, LOW)} of the {noun}{condition}{short}."
    ]


def _describe_proof(row: Row, max_risk: float | None, axis: Axis) -> str:
    if axis is not REIDENTIFICATION:
        bound = axis.bound_of(row)
        if bound is not None:
            return (
                f"What is proven, if the noise was drawn as the ledger states: no test whether a "
                f"given user was in the data has a TPR above {percent(bound, max_risk)} at an FPR "
                f"of 5%."
            )
        return (
            "This is measured and not guaranteed: no guarantee of a release bounds this risk, and "
            "better attacks may reach more."
        )
    if row.bound is None:
        unpromised = variant_of(row.method).about_claim.unpromised
        return (
            f"This is measured and not guaranteed: {unpromised}, and adversaries who know more "
            f"ratings re-identify more."
        )
    if max_risk is not None and row.bound > max_risk:
        return (
            f"This is measured. The proven bound is {percent(row.bound, max_risk)}, and better "
            f"attacks may reach it. For a proof of at most {percent(max_risk)}, use k = "
            f"{_least_k(max_risk)} or more."
        )
    proof = f"no attack on this release alone re-identifies more than {percent(row.bound)}"
    if axis.of(row) is None:
        return f"What is proven: {proof}."
    return f"This is measured, and better attacks may reach more; {proof}, which is proven."


def _least_k(max_risk: float) -> int:
    """Return the lowest k with 1 / k at most the risk."""
    k = max(2, int(1 / max_risk))
    return k if 1 / k <= max_risk else k + 1


def _describe_members(row: Row) -> list[str]:
    """Describe membership inference by the strongest attack that was run."""
    shadows, area = _interval(row, "shadow_auc"), _interval(row, "membership_auc")
    if area is not None:
        return [describe_membership(area, "An adversary", shadows, MEMBERSHIP_OF_ALL)]
    if shadows is not None:
        return []
    return [
        f"Membership inference was not measured; shadow releases ({SHADOWS_OF_ALL}) measure it."
    ]


def _interval(row: Row, name: str) -> Interval | None:
    value = getattr(row, name)
    if value is None:
        return None
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    return Interval(value, low or 0.0, high or 1.0, 0)


def _describe_precision(choice: Choice, row: Row) -> list[str]:
    """Describe the precision of the shares, and which settings may be as good."""
    decided = choice.decided_by
    caveats = [_RULES[choice.utility]]
    if choice.utility != "ratings":
        caveats[0] += f" {_ALL_POPULAR if row.is_unbeaten('lists') else _POPULAR}"
    shares = shares_of(row)
    if not all(share is None or share.is_reliable for share in shares):
        caveats.append(_WIDE)
    if decided is not None and decided != choice.utility:
        caveats.append(f"So only {decided} decide here.")
    caveats += describe_split(row, shares)
    if shares.ratings is None and row.raw_gain is not None:
        ends = _format_range(row.raw_gain_low, row.raw_gain_high)
        caveats.append(
            f"A share of a gain is reported only if at least {MIN_USERS} users are evaluated, and "
            f"the gain's own 95% interval is above 0 and not wider than the gain. In "
            f"{'accuracy' if row.is_nominal else 'RMSE'}, the gain of the raw table is "
            f"{row.raw_gain:.4f}{ends}."
        )
    if choice.tied:
        caveats.append(
            f"This split does not distinguish it from {_titles(choice.tied)}, as the 95% intervals "
            f"overlap. Choose the safest of them."
        )
    return [*caveats, *describe_recommenders(row)]


def _format_range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({format_bounds(low, high, 4)})"
