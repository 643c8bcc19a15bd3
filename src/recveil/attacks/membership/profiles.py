"""Scores of membership by what a release states next to values: dates, and attributes of users."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.knowledge import Knowledge
from recveil.release.user_table import SUPPRESSED

Numbers = NDArray[np.float64]
# Prior variances of a cell's share of users.
_DOUBT = (0.0003, 0.003, 0.03)


def score_by_periods(table: AttackTarget, known: Knowledge) -> dict[str, Numbers]:
    """Score how well targets' days fit the released counts of items by period, and the lives.

    By the log-likelihood of the periods given the items, by the excess of the counts over those of
    an item of usual times, and by the log-likelihood of the first and the last period.
    """
    if table.days is None or known.days is None:
        return {}
    lengths, sizes = np.diff(table.indptr), table.candidates.sizes.astype(np.float64)
    firsts = np.unique(table.days) - table.candidates.date_width // 2
    n_periods, n_items, n_users = firsts.size, table.n_items, sizes.sum()
    period, of_known = (
        np.maximum(np.searchsorted(firsts, days, side="right") - 1, 0)
        for days in (table.days, known.days)
    )
    weights = np.repeat(sizes, lengths)
    cells = np.bincount(table.indices * n_periods + period, weights, n_items * n_periods)
    counts = cells.reshape(n_items, n_periods)
    usual = (counts.sum(axis=0) / counts.sum())[of_known]
    own, total = counts[known.items, of_known], counts.sum(axis=1)[known.items]
    by_cell = {"fit": np.log((own + usual) / (total + 1)), "excess": own / (total + 1) - usual}
    for doubt in _DOUBT:
        share = total * usual / n_users
        by_cell[f"doubt {doubt:g}"] = own / n_users / (share * (1 - share) + doubt)
    scores = {
        f"periods, {name}": np.add.reduceat(values, known.indptr[:-1])
        for name, values in by_cell.items()
    }
    for name, of in {"first": np.minimum, "last": np.maximum}.items():
        ends = of.reduceat(period, table.indptr[:-1][lengths > 0])
        n_of = np.bincount(ends, sizes[lengths > 0], n_periods)
        fits = np.log((n_of + 1) / (n_of.sum() + n_periods))
        scores[f"periods, {name}"] = fits[of.reduceat(of_known, known.indptr[:-1])]
    return scores


def score_by_attributes(
    table: AttackTarget, has: sparse.csr_array, known: Mapping[str, Sequence[str]]
) -> dict[str, Numbers]:
    """Score how well targets' attributes fit the released association with items.

    By the share of users with the value, by the log-odds of the value given the known items `has`
    (naive Bayes), and by the excess of the counts of these items among users with the value.
    """
    scores = {}
    for name in known.keys() & table.attributes.keys():
        columns = table.attributes[name]
        values = sorted({SUPPRESSED, *(text for of_class in columns for text in of_class)})
        place = {text: at for at, text in enumerate(values)}
        of_targets = np.array([place.get(text, place[SUPPRESSED]) for text in known[name]])
        n_of = np.array([[of_class[text] for text in values] for of_class in columns], np.float64)
        shape = (len(columns), table.n_items)
        rows = sparse.csr_array((np.ones(table.indices.size), table.indices, table.indptr), shape)
        counts, totals = np.asarray(rows.T @ n_of), n_of.sum(axis=0)
        shares = counts.sum(axis=1) / max(totals.sum(), 1)
        own = np.arange(of_targets.size), of_targets
        scores[f"{name}, share"] = np.log((totals + 1) / (totals.sum() + totals.size))[of_targets]
        fits = has @ np.log((counts + shares[:, None] + 1e-9) / (totals + 1))
        fits = np.asarray(fits) + np.log(totals + 1)
        scores[f"{name}, fit"] = (fits - np.logaddexp.reduce(fits, axis=1)[:, None])[own]
        off = counts - shares[:, None] * totals
        for doubt in _DOUBT:
            expected = shares[:, None] * totals / max(totals.sum(), 1) + doubt
            excess = off / max(totals.sum(), 1) / expected
            scores[f"{name}, doubt {doubt:g}"] = np.asarray(has @ excess)[own]
    return scores
