"""Attacks and recommenders that others measured on our releases, next to our own.

    python experiments/outside_attacks.py path/to/ml-100k

Publishes MovieLens 100K in several ways, audits and evaluates each release as `recveil audit` and
`recveil evaluate` do, and prints what the strongest of ours finds, and what was measured outside.
A row holds if ours is at least as strong within its interval.
"""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

from page import Row, main

from recveil.auditing import audit
from recveil.evaluation import evaluate
from recveil.methods import anonymize

TITLE = "Attacks and recommenders measured outside"
READING = (
    "Not of a paper: others, who did not write recveil, attacked releases of MovieLens 100K, "
    "and made lists from them; *outside* is what they measured. Ours are the figures that "
    "`recveil audit` and `recveil evaluate` give for releases made anew with seed 0 (the second"
    " of two: seed 1), all 943 users looked for. A row holds if ours is at least as strong "
    "within its 95 % interval; without an interval, within half a point. That goes for lists, "
    "too: who keeps more of a release knows better what it is worth. But a share alone can "
    "mislead, since better lists on the raw ratings make it smaller, and weak ones larger. So the "
    "nDCG@10 on the raw ratings stands above the shares, beside the outside one, and that on the "
    "release below each share. Below an attack stand what popularity, or an attack on users who "
    "are not in the release, gives. A figure of the membership attack is an area under the curve: "
    "0.5 means that nothing is inferred."
)
NEXT_TO = "outside"
AXES = None

# Private folders are next to the releases: all are removed when the program ends.
RELEASED = TemporaryDirectory()

Plain = dict[str, Any]
RELEASES: dict[str, Plain] = {
    "padded, k = 5": {"k": 5, "method": "predictive", "homogenize": "padded"},
    "padded, k = 10": {"k": 10, "method": "predictive", "homogenize": "padded"},
    "padded, k = 20": {"k": 20, "method": "predictive", "homogenize": "padded"},
    "padded, k = 50": {"k": 50, "method": "predictive", "homogenize": "padded"},
    "simple, k = 5": {"k": 5, "method": "predictive", "homogenize": "simple"},
    "k-coRating, k = 5": {"k": 5, "method": "k-corating"},
    **{
        f"k-coRating, k = 9, {fill}": {"k": 9, "method": "k-corating", "fill": fill}
        for fill in ("item-mean", "similarity", "random")
    },
}


class Stated(NamedTuple):
    """A figure with its interval, if it has one."""

    figure: float
    interval: tuple[float, float] | None = None


class Line(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    release, label : str
    find : callable
        Takes what the library says of the release, and finds the figure in it.
    outside : float, optional
        None for a control, for which nothing is claimed.
    form : str
    """

    release: str
    label: str
    find: Callable[[Plain], Stated]
    outside: float | None = None
    form: str = ".1%"


def run(folder: Path) -> list[Row]:
    """Return each figure of ours next to the one from outside."""
    of_audits = chain(of_cells(), of_members(), of_groups(), of_fills(), of_labels())
    rows = [row(line, audited(folder, line.release)) for line in of_audits]
    rows += [row(line, of_two(folder)) for line in of_two_releases()]
    rows += [row(line, evaluated(folder, line.release)) for line in of_lists()]
    return [one for one in rows if one is not None]


def row(line: Line, said: Plain) -> Row | None:
    """Find the figure, and judge it if there is one from outside; None if the library has none."""
    try:
        figure, interval = line.find(said)
    except (KeyError, IndexError, TypeError):
        print(f"left out, as the library does not tell it: {line.release}: {line.label}")
        return None
    label = f"{line.release}: {line.label}"
    if line.outside is None:
        return Row(label, figure, form=line.form, interval=interval)
    high = interval[1] if interval else figure + 0.005
    holds = high >= line.outside
    return Row(
        *(f"claim: {label}", figure, line.outside, holds),
        f"{label}: {figure:{line.form}}, outside {line.outside:{line.form}}.",
        line.form,
        interval=interval,
    )


@cache
def published(folder: Path, name: str, seed: int = 0, train: str = "u.data") -> Path:
    """Publish a table, and return the release's folder."""
    output = Path(mkdtemp(dir=RELEASED.name), "release")
    anonymize(folder / train, output, seed=seed, **RELEASES[name])
    return output


@cache
def audited(folder: Path, name: str) -> Plain:
    """Return what the audit says of a release."""
    release = published(folder, name)
    found = audit(folder / "u.data", release=release, targets=None, curves=False)
    said: Plain = found.to_dict()["release"]
    return said


@cache
def of_two(folder: Path) -> Plain:
    """Return what the audit says of two releases of the same users."""
    first, second = (published(folder, "padded, k = 5", seed) for seed in (0, 1))
    found = audit(
        folder / "u.data", release=first, second_release=second, targets=None, curves=False
    )
    said: Plain = found.to_dict()["release"]["linkage"]
    return said


@cache
def evaluated(folder: Path, name: str) -> Plain:
    """Return what an evaluation says of a release of the first fold's training part."""
    release = published(folder, name, train="u1.base")
    judged = evaluate(release, train=folder / "u1.base", test=folder / "u1.test")
    said: Plain = judged.to_dict()
    return said


def share(*path: str | int) -> Callable[[Plain], Stated]:
    """Look a figure up by its path; a rate comes with its interval."""

    def find(said: Plain) -> Stated:
        found: Any = said
        for key in path:
            found = found[key]
        if isinstance(found, dict):
            return Stated(found.get("rate", found.get("value")), (found["low"], found["high"]))
        return Stated(float(found))

    return find


def of_cells() -> Iterable[Line]:
    """Yield who rated what, by the residuals of padded rows."""
    release, result = "padded, k = 5", ("residual", "intervals")
    yield Line(release, "cells really rated, 95 % right", share(*result, "recall_at_95"), 0.49)
    yield Line(release, "rated cells by popularity", share("residual", "popularity_recall_at_95"))
    yield Line(release, "lone ratings inferred and exact", share(*result, "lone_exact"), 0.49)
    yield Line(release, "lone ratings by popularity", share("residual", "popularity_lone_exact"))
    yield Line(release, "lone ratings exact, cell known", share(*result, "lone_known"), 0.92)


def of_members() -> Iterable[Line]:
    """Yield who is in the data, by 16 and by all ratings."""
    outside = {5: (0.93, 0.98), 10: (0.81, 0.89), 20: (0.65, 0.71), 50: (0.51, 0.59)}
    for k, areas in outside.items():
        for known, area in zip(("16", "all"), areas, strict=True):
            label = f"membership, {known} ratings"
            release, result = f"padded, k = {k}", ("membership", known)
            yield Line(release, label, share(*result, "auc"), area, ".3f")
            yield Line(release, f"{label}, control", share(*result, "null_auc"), None, ".3f")


def of_groups() -> Iterable[Line]:
    """Yield whose group is found."""
    outside = {"bystander": 0.16, "paper": 0.46, "public-profile": 0.70, "insider": 0.93}

    def group_of(adversary: str) -> Callable[[Plain], Stated]:
        def find(said: Plain) -> Stated:
            attacks = {attack["name"]: attack for attack in said["attacks"]}
            return share("class_reidentified")(attacks[adversary])

        return find

    for adversary, found in outside.items():
        yield Line("padded, k = 5", f"group inferred by {adversary}", group_of(adversary), found)
    yield Line("padded, k = 5", "the person, by a blind guess", share("attacks", 0, "baseline"))


def of_fills() -> Iterable[Line]:
    """Yield who is re-identified in co-rated rows, once fills are distinguished from ratings."""
    outside = {"item-mean": 0.75, "similarity": 0.67, "random": 0.37}
    for fill, found in outside.items():
        release = f"k-coRating, k = 9, {fill}"
        label = "re-identified by eight items, 5 % of the users known"
        yield Line(release, label, share("fills", -1, "reidentified"), found)
        label = "the same by the items alone"
        yield Line(release, label, share("fills", -1, "reidentified_by_items_alone"))


def of_labels() -> Iterable[Line]:
    """Yield what stands behind the labels of a simple release."""
    release = "simple, k = 5"
    yield Line(
        *(release, "whole labels that are every rater's exact rating"),
        *(share("values", "whole_exact"), 0.94),
    )
    yield Line(release, "the same by the commonest rating", share("values", "whole_by_commonest"))
    yield Line(
        *(release, "ratings inferred for certain by an adversary who knows the rest of the group"),
        *(share("companions", "inferred"), 0.84),
    )
    yield Line(release, "of these right", share("companions", "correct"), 0.996)
    yield Line(release, "the same of a user outside the group", share("companions", "control"))


def of_two_releases() -> Iterable[Line]:
    """Yield who is alone in two groups."""
    release = "padded, k = 5, twice"
    yield Line(release, "alone in both groups", share("unique_interval"), 0.34)
    yield Line(release, "alone in one group", share("unique_in_one"))
    yield Line(release, "fewer than k in both groups", share("below_k_interval"), 0.95)


def of_lists() -> Iterable[Line]:
    """Yield what lists of ten are worth."""
    yield Line(
        *("simple, k = 5", "nDCG@10 of the best lists on the raw ratings (fold u1)"),
        *(share("recipient", "best", "raw", "ndcg@10"), 0.47, ".3f"),
    )
    yield Line(
        *("simple, k = 5", "the same by popularity"),
        *(share("recipient", "popularity", "ndcg@10"), None, ".3f"),
    )
    outside = {
        "simple, k = 5": 0.81,
        "padded, k = 5": 0.63,
        "padded, k = 50": 0.49,
        "k-coRating, k = 5": 0.78,
    }
    for release, kept in outside.items():
        result = share("recipient", "utility_retained", "best", "lists")
        yield Line(release, "lists keep of the best on raw", result, kept)
        yield Line(
            *(release, "nDCG@10 of the best lists on the release"),
            *(share("recipient", "best", "release", "ndcg@10"), None, ".3f"),
        )


if __name__ == "__main__":
    main(run, __doc__, next_to=NEXT_TO)
