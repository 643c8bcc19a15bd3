"""Chang et al., Fig. 5: self-rank, how far down the list of similar rows one's own comes.

    python experiments/chang_figure_5.py path/to/ml-100k

Prints for how many users their own published row is the most similar one, or among the first 5 %,
once with a missing item counted as opposite and once on common items alone.
Claim: most self-ranks are low, so that target deviation is a fair measure.
"""

import itertools
from pathlib import Path

from chang import HOLD_OUT, MISSING, SEEDS, mean, similar_users
from page import Row, main

from recveil.evaluation import self_rank

TITLE = "Chang et al., Fig. 5: self-rank"
READING = (
    f"{HOLD_OUT} Rank 1 is the most similar; ranks count users, not rows, in bins of 5 %, the "
    "first of which one group of 50 fills. The figure is a plot only, and does not say of which k "
    "and method; ours are padded and simple at k = 5 and 50. The text says that most self-ranks "
    "are quite low: we ask for half of the users in the first 5 %. Nor does it say what an item "
    "counts as that a person rated and a row lacks. Counted as opposite, it makes the claim for "
    "simple rows hold by construction, since one's own row carries all that one rated, and others "
    "do not; so both are given, and the claim is judged on common items alone. Padded rows lack "
    "next to nothing."
)
AXES = ("self-rank, % of users", "share of users")


def run(folder: Path) -> list[Row]:
    """Return the shares and the claim."""
    rows: list[Row] = []
    cases = itertools.product(("padded", "simple"), (5, 50), MISSING.items())
    for kind, k, (missing, rule) in cases:
        found = [self_rank(similar_users(folder, kind, k, seed, missing)) for seed in SEEDS]
        name = f"{kind}, k = {k}, {rule}"
        first = mean([one.first_share for one in found])
        low = mean([float(one.counts[0] / one.n_users) for one in found])
        rows += [
            Row(f"{name}: own row is the most similar", first, form=".1%"),
            low_ranks(name, low, is_claim=missing == "skip"),
        ]
        for place, edge in enumerate(found[0].edges[1:].tolist()):
            share = mean([float(one.counts[place] / one.n_users) for one in found])
            rows.append(Row("", share, series=f"{kind}, k = {k}", x=round(100 * edge), panel=rule))
    return rows


def low_ranks(name: str, low: float, *, is_claim: bool) -> Row:
    """Return how many self-ranks are low: judged on common items alone."""
    what = f"{name}: within the first 5 %"
    if not is_claim:
        return Row(what, low, form=".1%")
    return Row(
        f"claim: most self-ranks are low: {what}, at least half",
        *(low, None, low >= 0.5),
        f"{name}: only {low:.1%} of the users find their own row among the first 5 %.",
        ".1%",
    )


if __name__ == "__main__":
    main(run, __doc__)
