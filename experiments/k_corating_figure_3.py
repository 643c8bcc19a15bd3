"""k-coRating, Fig. 3: who is still found after filling.

    python experiments/k_corating_figure_3.py path/to/ml-100k

Prints how many people Scoreboard-RH finds with eight exactly known ratings, or with eight known
items and no ratings, before and after filling. Claim: from over 80 % the risk falls to below 0.1 %
for k above 21.
"""

from pathlib import Path

from k_corating import EIGHT, ITEMS_ONLY, Opened, look, open_release
from page import Row, main

from recveil.anonymize import KCoRater
from recveil.io import read_ratings

TITLE = "k-coRating, Fig. 3: de-anonymization after filling"
READING = (
    "All of MovieLens 100K, similarity fills; Scoreboard-RH without dates. 'Believed and right' is "
    "the paper's measure: guesses that lead by 1.5 standard deviations, and are right. 'Highest' "
    "are the people whose record scores highest, whatever the lead, shared among equal records: "
    "what an adversary who does not wait for a lead finds. The figure is a plot only; the text "
    "prints 'from over 80 % to below 0.1 %', for all n of m. Who knows items only is not in it."
)
AXES = None
SIZES = (1, 3, 9, 21, 30, 100)
PAPER = {1: 0.8, 30: 0.001, 100: 0.001}


def run(folder: Path) -> list[Row]:
    """Return who is found, and the claims."""
    ratings = read_ratings(folder / "u.data", times=False)
    rows, found = [], {}
    for k in SIZES:
        opened = Opened.of(ratings)
        if k > 1:
            opened = open_release(KCoRater(k, "similarity", seed=1).anonymize(ratings))
        for adversary in (EIGHT, ITEMS_ONLY):
            believed, wrong, highest, _ = (
                float(share.rstrip("%")) / 100 for share in look(opened, ratings, adversary)
            )
            found[adversary.name, k] = believed - wrong, highest
            who = f"{adversary.name}, {'as they are' if k == 1 else f'k = {k}'}"
            paper = PAPER.get(k) if adversary is EIGHT else None
            rows.append(Row(f"{who}: believed and right", believed - wrong, paper, form=".1%"))
            rows.append(Row(f"{who}: highest", highest, form=".1%"))
    return rows + [
        claim(adversary.name, k, *found[adversary.name, k])
        for adversary in (EIGHT, ITEMS_ONLY)
        for k in (30, 100)
    ]


def claim(who: str, k: int, right: float, highest: float) -> Row:
    """Return the claim for one adversary, and whether it holds."""
    return Row(
        f"claim: below 0.1 % above k = 21: {who}, k = {k}, believed and right",
        *(right, 0.001, right < 0.001),
        f"at k = {k} an adversary of {who} finds {right:.1%} of the people with a lead, and "
        f"{highest:.1%} if they take whoever scores highest: every real rating stays where it was.",
        ".1%",
    )


if __name__ == "__main__":
    main(run, __doc__)
