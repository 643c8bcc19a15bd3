"""Demonstration of the main workflow on generated users."""

from collections import Counter
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, Matches, Membership, infer_membership, match_known_ratings
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Synthesizer
from recveil.publish.staging import check_target
from recveil.ratings import Ratings
from recveil.release.claim import bounds_of
from recveil.runtime.progress import parts
from recveil.runtime.safe_repr import brief
from recveil.verification import Verification

KNOWN = 8
_GENERATING, _GROUPING, _SAMPLING = "Generating users", "Grouping users", "Sampling users"
_WRITING, _ATTACKING = "Writing and verifying", "Inferring membership"


@brief
class Demo(NamedTuple):
    """Results of the demo."""

    # 2,000 generated users
    ratings: Ratings
    # Number of users who match `KNOWN` ratings of each user in the raw data
    before: Matches
    # Number of users of each distinct row of the raw data
    row_sizes: NDArray[np.int64]
    # Verification of the release of shared rows
    verification: Verification
    # Verification of the release of synthetic users
    synthetic: Verification
    # Membership inference on the shared rows by eight exact ratings
    members: Membership
    # Upper bound of the AUC of membership inference on the synthetic users
    most_auc: float
    # Upper bound of the probability of naming which of two given users is a member
    most_accuracy_of_two: float

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


def release_synthetic(output: str | PathLike[str]) -> Path:
    """Return the folder of the demo's synthetic users.

    Examples
    --------
    >>> release_synthetic("recveil-demo").name
    'recveil-demo-drawn'
    """
    return Path(output).with_name(f"{Path(output).name}-drawn")


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
    with parts(
        "Demo", {_GENERATING: 1, _GROUPING: 2, _SAMPLING: 4, _WRITING: 2, _ATTACKING: 2}
    ) as begin:
        begin(_GENERATING)
        ratings = make_ratings(n_users=2_000, n_items=1_000, n_ratings=100_000, seed=seed)
        begin(_GROUPING)
        grouping = PredictiveAnonymizer(k, seed=seed)
        release = grouping.anonymize(ratings)
        begin(_SAMPLING)
        synthesizer = Synthesizer(epsilon, item_catalog="as-rated", n_users=ratings.n_users)
        synthetic = synthesizer.anonymize(ratings)
        begin(_WRITING)
        before = match_known_ratings(ratings, KNOWN, seed=seed)
        shared = release.write(output, force=force)
        verified = synthetic.write(synthetic_output, force=force)
        begin(_ATTACKING)
        adversary = Adversary(known=KNOWN, rating_error=0)
        members = infer_membership(ratings, grouping, adversary, seed=seed)
    bounds = bounds_of(synthetic.published.claim)
    most = bounds["most_auc"], bounds["most_accuracy_of_two"]
    return Demo(ratings, before, _row_sizes(ratings), shared, verified, members, *most)


def _row_sizes(ratings: Ratings) -> NDArray[np.int64]:
    """Count the users of each distinct row of (item, rating)."""
    rows = (bytes(items) + bytes(values) for items, values in map(ratings.row, range(2_000)))
    return np.array(list(Counter(rows).values()))
