"""k-coRating, Fig. 3: who is still found after filling.

    python experiments/k_corating_figure_3.py path/to/ml-100k

Prints how many people Scoreboard-RH finds with n right of m known ratings, or with eight known
items and no ratings, before and after filling in four ways. Claim: for all n of m the risk falls
from over 80 % to below 0.1 % for k above 21.
"""

from collections.abc import Iterator
from pathlib import Path

from k_corating import EIGHT, FEWER, FILLS, ITEMS_ONLY, Opened, look, open_release
from page import Row, main

from recveil.attacks import Adversary
from recveil.io import read_ratings
from recveil.methods import KCoRater
from recveil.ratings import Ratings

TITLE = "k-coRating, Fig. 3: de-anonymization after filling"
READING = (
    "All of MovieLens 100K; Scoreboard-RH without dates. 'Believed and right' is the paper's "
    "measure: guesses that lead by 1.5 standard deviations, and are right. 'Highest' are the "
    "people whose record scores highest, whatever the lead, shared among equal records: what an"
    " adversary who does not wait for a lead finds. The figure is a plot only; the text prints "
    "'from over 80 % to below 0.1 %', for all n of m. Which n of m it drew is not in the text: "
    "ours are 2 of 2, 4 of 4, 3 of 4, 6 of 8 and 8 of 8. Whoever knows items only is not in it. The"
    " chart shows who is believed and right; k = 1 are the data as they are."
)
AXES = ("k", "share believed and right")
SIZES = (1, 3, 9, 21, 30, 100)
TOLD = (1, 9, 30, 100)
THREE = Adversary(known=4, right=3, name="3 of 4")
ADVERSARIES = (*FEWER, THREE, EIGHT, ITEMS_ONLY)
BEFORE, AFTER = 0.8, 0.001


def run(folder: Path) -> list[Row]:
    """Return who is found, and the claims."""
    ratings = read_ratings(folder / "u.data", times=False)
    raw = dict(attack(Opened.of(ratings), ratings))
    rows = [
        row
        for name, (right, highest) in raw.items()
        for row in lines(
            f"as they are, {name}", right, highest, BEFORE if name == "8 of 8" else None
        )
    ]
    for fill in FILLS:
        found = {1: raw}
        for k in SIZES[1:]:
            opened = open_release(KCoRater(k, fill, seed=1).anonymize(ratings))
            found[k] = dict(attack(opened, ratings))
        for k, by_name in found.items():
            for name, (right, highest) in by_name.items():
                rows.append(Row("", right, series=name, x=k, panel=fill))
                if k in TOLD[1:]:
                    rows += lines(f"{fill}, k = {k}, {name}", right, highest)
        rows += claims(fill, found[30], 30)
    return rows


def attack(opened: Opened, ratings: Ratings) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield for each adversary who is believed and right, and who scores highest."""
    for adversary in ADVERSARIES:
        believed, wrong, highest, _ = (
            float(share.rstrip("%")) / 100 for share in look(opened, ratings, adversary)
        )
        yield adversary.name, (believed - wrong, highest)


def lines(who: str, right: float, highest: float, paper: float | None = None) -> list[Row]:
    """Return both measures as lines of the table."""
    return [
        Row(f"{who}: believed and right", right, paper, form=".1%"),
        Row(f"{who}: highest", highest, form=".1%"),
    ]


def claims(fill: str, found: dict[str, tuple[float, float]], k: int) -> list[Row]:
    """Return the claim for each adversary; one sentence tells of all for whom it fails."""
    failing = [name for name, (right, _) in found.items() if right >= AFTER]
    told = ", ".join(f"{name} {found[name][0]:.1%}" for name in failing)
    sentence = (
        f"{fill}, k = {k}: found with a lead are {told}; whoever takes the highest score finds "
        f"{max(highest for _, highest in found.values()):.1%}: every real rating stays in place."
    )
    return [
        Row(
            f"claim: below 0.1 % above k = 21: {fill}, k = {k}, {name}, believed and right",
            *(right, AFTER, right < AFTER),
            sentence if [name] == failing[:1] else "",
            ".1%",
        )
        for name, (right, _) in found.items()
    ]


if __name__ == "__main__":
    main(run, __doc__)
