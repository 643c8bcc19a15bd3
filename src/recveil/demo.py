"""Demonstration of the main workflow on generated users."""

from collections import Counter
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Matches,
    Membership,
    hold_out,
    infer_memberships,
    match_known_ratings,
)
from recveil.datasets import make_ratings
from recveil.methods import SparseRows, Synthesizer
from recveil.methods.base import with_private
from recveil.publish.staging import check_target
from recveil.ratings import Ratings
from recveil.release.claim import bounds_of
from recveil.runtime.progress import parts
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief
from recveil.verification import Verification

KNOWN = 8
# Phases and their costs.
_PHASES = {
    "Generating users": 1,
    "Making shared rows": 2,
    "Sampling synthetic users": 4,
    "Writing and verifying": 2,
    "Inferring membership": 2,
}


@brief
@dataclass(frozen=True, eq=False)
class Demo(Reportable):
    """Results of the demo.

    `matches` counts the users who match `KNOWN` ratings of each user, `row_sizes` those of each
    distinct raw row; `membership` is of the shared rows, both bounds are of `synthetic`.
    """

    output: Path
    ratings: Ratings
    matches: Matches
    row_sizes: NDArray[np.int64]
    verification: Verification
    synthetic: Verification
    membership: Membership
    auc_bound: float
    accuracy_of_two_bound: float


def release_synthetic(output: str | PathLike[str]) -> Path:
    """Return the folder of the demo's synthetic users.

    >>> release_synthetic("recveil-demo").name
    'recveil-demo-synthetic'
    """
    return Path(output).with_name(f"{Path(output).name}-synthetic")


def demo(
    output: str | PathLike[str] = "recveil-demo",
    *,
    k: int = 5,
    epsilon: float = 3.0,
    seed: int = 0,
    force: bool = False,
) -> Demo:
    """Generate 2,000 users, re-identify them by eight ratings, and anonymize them twice.

    The first release has rows shared by k users; the second has synthetic users sampled from noisy
    sums.
    """
    synthetic_output = release_synthetic(output)
    for target in (output, synthetic_output):
        check_target(target, force=force)
    generating, sharing, sampling, writing, inferring = _PHASES
    with parts("Demo", _PHASES) as begin:
        begin(generating)
        ratings = make_ratings(n_users=2_000, n_items=1_000, n_ratings=100_000, seed=seed)
        begin(sharing)
        anonymizer = SparseRows(k, seed=seed)
        release = anonymizer.anonymize(ratings)
        begin(sampling)
        synthesizer = Synthesizer(
            epsilon, item_catalog="as-rated", n_users=ratings.n_users, ledger="none"
        )
        synthetic = synthesizer.anonymize(ratings)
        begin(writing)
        matches = match_known_ratings(ratings, KNOWN, seed=seed)
        verifications = (
            release.write(output, force=force),
            with_private(synthetic, find_linkage=None).write(synthetic_output, force=force),
        )
        begin(inferring)
        held_out = hold_out(ratings, anonymizer, seed=seed)
        everything: dict[str, Adversary | None] = {"all": None}
        membership = infer_memberships(ratings, held_out, everything, seed)["all"]
    bounds = bounds_of(synthetic.published.claim)
    return Demo(
        *(Path(output), ratings, matches, _row_sizes(ratings), *verifications, membership),
        auc_bound=bounds["most_auc"],
        accuracy_of_two_bound=bounds["most_accuracy_of_two"],
    )


def _row_sizes(ratings: Ratings) -> NDArray[np.int64]:
    """Count the users of each distinct row of (item, rating)."""
    rows = (bytes(items) + bytes(values) for items, values in map(ratings.row, range(2_000)))
    return np.array(list(Counter(rows).values()))
