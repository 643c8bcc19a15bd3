"""Thesis (Chen 2012), Fig. 6.2: MAE with levels, by the level of the user.

    python experiments/thesis_figure_6_2.py path/to/ml-100k

Prints the mean absolute error (MAE) on a held-out fifth under bisecting one-k-gather (BOKG), half
of the users at level 1, next to conventional k-anonymity (BKG) for the same users; means of ten
tries. Claims: users of level 1 gain, those of level k lose nothing, and all together gain.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
from customized_k import absolute_errors, draw_levels, group
from page import Row, main
from thesis import POINTS, TRIES, ratings_of

from recveil.evaluation import split_ratings
from recveil.predict import FunkSVD

TITLE = "Thesis, Fig. 6.2: MAE by the level of the person"
READING = (
    "A random fifth of each person's ratings is held out; half of the users have level 1; ten "
    f"tries with their own levels, splits and seeds. {POINTS} Errors are as in Fig. 4.4. Each is "
    "compared with BKG's for the same users: the thesis compares with BKG's for all, which mixes "
    "in whose ratings are harder to predict. The figure is a plot only."
)
AXES = ("k", "MAE")
SIZES = (2, 3, 5, 10, 15, 20)
WHO = ("level 1", "level k", "all")


def run(folder: Path) -> list[Row]:
    """Return the errors at each k and the claims."""
    found: dict[tuple[str, int], list[list[float]]] = defaultdict(list)
    for seed in range(TRIES):
        rng = np.random.default_rng(seed)
        train, test = split_ratings(ratings_of(folder), seed=seed)
        points = FunkSVD(seed=seed).fit(train).padding().coordinates()
        for k in SIZES:
            levels = draw_levels(train.n_users, k, rng)
            of_level_one = levels[test.users] == 1
            for name in ("BKG", "BOKG"):
                errors = absolute_errors(train, group(name, points, levels, seed), test, seed)
                shown = errors[of_level_one], errors[~of_level_one], errors
                found[name, k].append([float(part.mean()) for part in shown])
    means = {case: np.mean(tries, axis=0) for case, tries in found.items()}
    rows = []
    for k in SIZES:
        for name in ("BKG", "BOKG"):
            for who, error in zip(WHO, means[name, k].tolist(), strict=True):
                series = f"{name}, {who}" if name == "BOKG" or who == "all" else ""
                drawn = {"series": series, "x": k} if series else {}
                rows.append(Row(f"k = {k}: {name}, {who}", error, **drawn))
    return rows + claims(np.array([means["BOKG", k] - means["BKG", k] for k in SIZES]))


def claims(gains: np.ndarray) -> list[Row]:
    """Return the claims as differences, the worst of all k, and whether they hold."""
    worst = gains.max(axis=0).tolist()
    at = [SIZES[place] for place in gains.argmax(axis=0)]
    low = "below 0 at every k"
    return [
        Row(
            f"claim: users of level 1 gain: BOKG - BKG, level 1, {low}",
            *(worst[0], None, worst[0] < 0),
            f"at k = {at[0]} users of level 1 lose {worst[0]:.4f}.",
        ),
        Row(
            "claim: users of level k lose nothing: BOKG - BKG, level k, below 0.005 at every k",
            *(worst[1], None, worst[1] < 0.005),
            f"at k = {at[1]} users of level k lose {worst[1]:.4f}.",
        ),
        Row(
            f"claim: all together gain: BOKG - BKG, all, {low}",
            *(worst[2], None, worst[2] < 0),
            f"at k = {at[2]} all together lose {worst[2]:.4f}.",
        ),
    ]


if __name__ == "__main__":
    main(run, __doc__)
