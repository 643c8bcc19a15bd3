"""Measures each user's membership risk next to the likelihood ratio as Carlini et al. publish it.

Both see the same scores of the same shadow releases. The published rule (`generate_ours` in
tensorflow/privacy, research/mi_lira_2021/plot.py) fits a normal distribution by median and standard
deviation to the scores of each user with and without membership. It takes one score; here it gets
each of ours in turn, of which the best is reported, and the mean over all, as over augmentations.

    python benchmarks/user_risk.py ml-100k/u.data
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from recveil import read
from recveil.attacks.membership.shadow_models import area_over_clusters, areas_of_users
from recveil.auditing import shadow_releases
from recveil.methods import SparseRows

SHADOWS = 32


def published_rule(scores: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the log-likelihood ratio of each user and release; its pair is left out."""
    found = np.zeros(scores.shape)
    for first in range(0, scores.shape[1], 2):
        pair = np.arange(first, first + 2)
        rest, is_in = np.delete(scores, pair, axis=1), np.delete(inside, pair, axis=1)
        for sign, chosen in ((1, is_in), (-1, ~is_in)):
            part = rest[chosen].reshape(len(rest), -1, 1)
            middle, spread = np.median(part, axis=1), part.std(axis=1)
            found[:, pair] += sign * stats.norm.logpdf(scores[:, pair], middle, spread + 1e-30)
    return np.clip(found, -1e6, 1e6)


def main(file: Path) -> None:
    """Print the AUC over all users, and the users whose own AUC is at least 0.9."""
    seen = []
    ours = shadow_releases.likelihood_ratios

    def keep(scores: dict[str, np.ndarray], inside: np.ndarray) -> object:
        seen.append((scores, inside))
        return ours(scores, inside)

    shadow_releases.likelihood_ratios = keep  # type: ignore[attr-defined]
    found = shadow_releases.attack_by_shadows(
        read(file), lambda seed: SparseRows(5, seed=seed), SHADOWS
    )
    for (known, of_known), (scores, inside) in zip(found.by_known.items(), seen[::3], strict=True):
        ratios = {name: published_rule(score, inside) for name, score in scores.items()}
        ratios["mean of all"] = np.mean(list(ratios.values()), axis=0)
        areas = {name: area_over_clusters(each, inside).rate for name, each in ratios.items()}
        best = max(areas, key=lambda name: areas[name])
        theirs = np.array([each.rate for each in areas_of_users(ratios[best], inside)])
        own = np.array(() if of_known.of_users is None else of_known.of_users.auc)
        print(
            f"{known}: recveil AUC {of_known.inferred.auc.rate:.3f}, published {areas[best]:.3f} "
            f"(best of {len(scores)} scores: {best}), mean of all {areas['mean of all']:.3f}; "
            f"users with 0.9 or more: {np.mean(own >= 0.9):.0%} against "
            f"{np.mean(theirs >= 0.9):.0%}; correlation {stats.spearmanr(own, theirs)[0]:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratings", type=Path)
    main(parser.parse_args().ratings)
