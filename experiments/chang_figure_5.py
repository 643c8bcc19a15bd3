"""Chang et al., Fig. 5: self-rank, how far down the list of similar rows one's own comes.

    python experiments/chang_figure_5.py path/to/ml-100k

Prints for how many people their own published row is the most similar one, or among the first 5 %.
Claim: most self-ranks are low, so that target deviation is a fair measure.
"""

from pathlib import Path

from chang import HOLD_OUT, SEEDS, mean, similar_users
from page import Row, main

from recveil.evaluate import self_rank

TITLE = "Chang et al., Fig. 5: self-rank"
READING = (
    f"{HOLD_OUT} Rank 1 is the most similar; ranks count people, not rows, in bins of 5 %, the "
    "first of which one group of 50 fills. The figure is a plot only, and does not say of which k "
    "and method; ours are padded and simple at k = 5 and 50. The text says that most self-ranks "
    "are quite low: we ask for half of the people in the first 5 %."
)
AXES = ("self-rank, % of people", "share of people")


def run(folder: Path) -> list[Row]:
    """Return the shares and the claim."""
    rows: list[Row] = []
    for kind in ("padded", "simple"):
        for k in (5, 50):
            found = [self_rank(similar_users(folder, kind, k, seed)) for seed in SEEDS]
            name = f"{kind}, k = {k}"
            first = mean([one.first_share for one in found])
            low = mean([float(one.counts[0] / one.n_users) for one in found])
            rows += [
                Row(f"{name}: own row is the most similar", first, form=".1%"),
                Row(
                    f"claim: most self-ranks are low: {name}: within the first 5 %, at least half",
                    *(low, None, low >= 0.5),
                    f"{name}: only {low:.1%} of the people find their own row among the first 5 %.",
                    ".1%",
                ),
            ]
            for place, edge in enumerate(found[0].edges[1:].tolist()):
                share = mean([float(one.counts[place] / one.n_users) for one in found])
                rows.append(Row("", share, series=name, x=round(100 * edge)))
    return rows


if __name__ == "__main__":
    main(run, __doc__)
