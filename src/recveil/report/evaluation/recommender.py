"""What a recommender publishes, audited: documents, sentences, tables, charts and the page."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from recveil.attacks.inference.similar_items import InferredItems
from recveil.attacks.membership.recommenders import RecommenderInference
from recveil.attacks.membership.shadow_models import EXPOSED
from recveil.attacks.statistics import Interval
from recveil.auditing import RiskFigure, RiskLine
from recveil.evaluation.audited_recommender import GAMES, AuditedRecommender
from recveil.report.audit.disclosure import of_pairs
from recveil.report.audit.risks import describe_highest, lines_of
from recveil.report.document import fields_of, parts_of, plain
from recveil.report.evaluation.text import facts, tables
from recveil.report.terminal import echo, escape, table_of
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import estimate
from recveil.runtime.safe_repr import Grid

if TYPE_CHECKING:
    from recveil.charts import Bin, Chart

# The same as `GAMES`, as an assumption.
_HYPOTHETICAL = {
    "popular": "If nonmembers got popular items",
    "unrated": "If nonmembers got popular items that they did not rate",
}
# Words in tables that notes explain
_OF_TABLES = ("(–)", "(low)", "few items")
PUBLISHED = {
    "lists": "lists of recommended items",
    "model": "a model",
    "similar items": "lists of similar items on two days",
}


@parts_of.register
def _(audited: AuditedRecommender) -> Mapping[str, object]:
    named = {
        name: part for name, part in fields_of(audited).items() if name not in ("users", "targets")
    }
    exposed = audited.of_users
    return {
        "risks": audited.risks,
        **named,
        "n_table": audited.users.size,
        "headline": describe_highest(audited.risks),
        "exposed": None
        if exposed is None
        else {
            "users": len(exposed.users),
            "least_auc": EXPOSED,
            "share": exposed.exposed[0],
            "control": exposed.exposed[1],
            "bins": bins_of(exposed.auc),
        },
        "notes": notes_of(audited),
    }


@parts_of.register
def _(found: RecommenderInference) -> Mapping[str, object]:
    return {name: part for name, part in fields_of(found).items() if name != "of_users"}


@facts.register
def _(audited: AuditedRecommender) -> dict[str, object]:
    return {
        "published": audited.published,
        "users": audited.n_users,
        "items": audited.n_items,
        "AUC": None if audited.strongest is None else area(audited.strongest),
    }


@tables.register
def _(audited: AuditedRecommender) -> list[Grid]:
    if audited.new_items is not None:
        return [_new_items(audited.new_items)]
    attacks = list(audited.by_newcomers.values())
    rows: list[tuple[str, ...]] = [
        ("AUC", *(area(one.inferred.auc) for one in attacks)),
        ("its attack", *(one.attack for one in attacks)),
        ("TPR at 1% FPR", *(estimate(one.inferred.tpr_at_1) for one in attacks)),
        ("its attack", *(one.attack_at_1 for one in attacks)),
        ("control: AUC", *(area(one.control.auc) for one in attacks)),
        ("control: TPR at 1% FPR", *(estimate(one.control.tpr_at_1) for one in attacks)),
    ]
    baselines = {
        "centroids alone: AUC": [one.centroids for one in attacks],
        "popular items for all: AUC": [one.popular for one in attacks],
    }
    for title, found in baselines.items():
        if cells := [area(each.auc) for each in found if each is not None]:
            rows.append((title, *cells))
    return [Grid("membership inference", ("of all attacks", *_heads(audited)), rows)]


def _new_items(found: InferredItems) -> Grid:
    every = found.precision, found.control, found.baseline
    first = found.first, found.first_control, found.first_baseline
    rows = [
        ("right, of all inferred", *map(estimate, every)),
        ("right, of each user's strongest", *map(estimate, first)),
        ("inferred, of all new", estimate(found.recall), "–", "–"),
    ]
    header = ("of new items", "share", "control: another user's", "items that rise most")
    return Grid("new items", header, rows)


def _heads(audited: AuditedRecommender) -> list[str]:
    if not audited.length:
        return ["from the model"]
    what = "shadows" if audited.is_observed else "hypothetical"
    return [
        f"if {text}" if name == "history" and not audited.is_observed else f"{what}: if {text}"
        for name, text in GAMES.items()
        if name in audited.by_newcomers
    ]


def area(auc: Interval) -> str:
    """Format an AUC; that of a constant score has no interval."""
    return estimate(auc, 2) if auc.low < auc.high else f"{auc.rate:.2f} (–)"


def bins_of(areas: tuple[Interval, ...]) -> "list[Bin]":
    """Count users by tenths of their AUC."""
    counts = np.histogram([each.rate for each in areas], np.linspace(0, 1, 11))[0].tolist()
    return [
        {"low": place / 10, "high": (place + 1) / 10, "users": n} for place, n in enumerate(counts)
    ]


def hypothetical_line(audited: AuditedRecommender) -> RiskLine | None:
    """Return the risk if nonmembers got other lists than they do; None if it is not larger."""
    if audited.is_observed or (main := audited.main) is None:
        return None
    areas = {name: one.inferred.auc for name, one in audited.by_newcomers.items()}
    highest = max(areas, key=lambda name: areas[name].ranked)
    if areas[highest].ranked <= areas[main].ranked:
        return None
    who = f"the list and all ratings of a user ({GAMES[highest]})"
    control = audited.by_newcomers[highest].control.auc
    figure = RiskFigure(
        *("membership of training", areas[highest], 0.5, control, who), is_area=True
    )
    return RiskLine(_HYPOTHETICAL[highest], (figure,))


def describe_hypothetical(audited: AuditedRecommender) -> str:
    """Return the AUC if nonmembers got other lists than they do; empty if it is not larger."""
    if (line := hypothetical_line(audited)) is None:
        return ""
    return f"{line.risk}, AUC would be {area(line.figures[0].rate)}."


def describe_exposed(audited: AuditedRecommender) -> str:
    """Return how many users are recognized beyond chance; empty without membership inference."""
    if (exposed := audited.of_users) is None:
        return ""
    share, by_chance = map(estimate, exposed.exposed)
    return (
        f"Of {describe_count(len(exposed.users), 'scored user')} of the table, {share} have an AUC "
        f"of at least {EXPOSED} of their own; in the control {by_chance}."
    )


def notes_of(audited: AuditedRecommender) -> list[str]:
    """Return how the figures came about, and their limits."""
    return list(_notes_of(audited))


def notes_without_tables(audited: AuditedRecommender) -> list[str]:
    """Return the notes that do not explain a word of `tables`."""
    return [note for note in _notes_of(audited) if not note.startswith(_OF_TABLES)]


def _notes_of(audited: AuditedRecommender) -> Iterator[str]:
    if audited.new_items is not None:
        targets = describe_count(audited.new_items.n_targets, "user")
        yield f"{targets} rated new items, and enough earlier ones. The control is another user."
        return
    if audited.is_observed:
        n_others = audited.n_targets - audited.n_members
        how = f"{audited.n_members:,} members and {n_others:,} others"
    else:
        users = describe_count(audited.n_targets, "user")
        how = f"{users}, each a member of half of the shadows"
    yield (
        f"{how}; {audited.shadows} shadow recommenders ({audited.recommender}), of half of the "
        f"users each. The control assigns membership at random. More shadows infer more."
    )
    attacks = audited.by_newcomers.values()
    areas = () if audited.is_observed else (one.inferred.auc for one in attacks)
    yield from (each for each in dict.fromkeys(of_pairs(a, audited.shadows) for a in areas) if each)
    yield (
        "AUC and TPR are the largest of all attacks, and the intervals allow for the choice; the "
        "control chooses, too, so that it may exceed 0.5."
    )
    yield from _notes_of_attacks(audited)


def _notes_of_attacks(audited: AuditedRecommender) -> Iterator[str]:
    attacks = audited.by_newcomers.values()
    figures = [each for one in attacks for each in (one.inferred, one.control, one.centroids)]
    if any(each is not None and each.auc.low == each.auc.high for each in figures):
        yield f"{_OF_TABLES[0]}: all users have the same score, which has no interval."
    if any("(low)" in one.attack + one.attack_at_1 for one in attacks):
        yield f"{_OF_TABLES[1]}: members have the lower scores."
    if any("few items" in one.attack + one.attack_at_1 for one in attacks):
        yield f"{_OF_TABLES[2]}: equal scores rank users with fewer items higher."
    if audited.is_observed:
        yield "If no shadow is like what was published, a low AUC is no evidence of safety."
        yield (
            "No risk per user was measured: one publication is too few to measure that of one "
            "user. To measure it, audit the recommender (--recommender)."
        )
    if audited.order:
        how = {"rank": "rank: 1 is the first.", "score": "score: the highest is the first."}
        yield f"Lists were read by {how[audited.order]}"
    if audited.n_unknown:
        yield f"{describe_count(audited.n_unknown, 'item')} in no table: left out."
    if audited.n_unlisted:
        yield f"{describe_count(audited.n_unlisted, 'user')} without a list: not scored."


SEE_ALSO = "If the table or a release of it is handed out, too: recveil audit."


def show_recommender(audited: AuditedRecommender) -> None:
    """Print what an adversary infers from what a recommender publishes."""
    console = Console(highlight=False)
    for line in lines_of(audited.risks):
        risk, finding = line.split(": ", 1)
        console.print(f"[bold]{escape(risk)}[/]: {escape(finding)}")
    for sentence in filter(None, (describe_hypothetical(audited), describe_exposed(audited))):
        echo(sentence)
    for grid in tables(audited):
        table = table_of(*grid.header)
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)
    for note in (*notes_of(audited), SEE_ALSO):
        echo(note)


def draw_users(audited: AuditedRecommender) -> "Chart | None":
    """Draw a histogram of the users' AUC; None without membership inference."""
    from recveil.charts import draw_histogram  # altair takes a second to load

    if (exposed := audited.of_users) is None:
        return None
    x = "AUC of each user: shadows with the user against those without"
    return draw_histogram(bins_of(exposed.auc), x, "users", ".1f")


def to_html(audited: AuditedRecommender) -> str:
    """Return the audit as one self-contained HTML page: no script, font or network."""
    from recveil.report.audit.page import page_environment

    return (
        page_environment()
        .get_template("evaluation/recommender.html.jinja")
        .render(
            **plain(audited),
            what=PUBLISHED[audited.published],
            hypothetical=describe_hypothetical(audited),
            who=describe_exposed(audited),
            grids=tables(audited),
            chart=draw_users(audited),
            see_also=SEE_ALSO,
        )
    )
