"""Thesis (Chen 2012), section 2.2: does perturbation protect ratings?

    python experiments/thesis_rotation.py path/to/ml-100k

Prints how many ratings are recovered within half a step from rotated rows, by independent component
analysis and by 0, 5, 10 and 50 known rows, next to a control; the same for rotation with noise; and
the privacy of additive noise. Claims of the thesis: ICA may violate the privacy of rotation, and
noise protects it further.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from page import Row, main
from thesis import ratings_of

from recveil.attacks import recover_by_components, recover_by_known_rows
from recveil.methods import (
    GeometricPerturbation,
    LabelNoise,
    RotationPerturbation,
    inherent_privacy,
    privacy_loss,
)
from recveil.methods.baselines.rotation import padded_rows
from recveil.predict import ItemMean
from recveil.ratings import Ratings

TITLE = "Thesis, section 2.2: attacks on perturbation"
READING = (
    "Rows of item means with the user's own ratings, rotated as a whole, and rotated with the "
    "default noise. Counted are the ratings of users whose rows are not known. ICA knows the "
    "distribution of each column exactly. A control is the same attack with the records mixed up; "
    "item means need no release. Once with the 50 items that have the most ratings, and once with "
    "all, for which ICA lacks users."
)
AXES: tuple[str, ...] = ()
KNOWN = (5, 10, 50)
N_ITEMS = 50


def most_rated(ratings: Ratings, n_items: int) -> Ratings:
    """Return the ratings of the items with the most."""
    kept = np.argsort(-ratings.support, kind="stable")[:n_items]
    is_kept = np.isin(ratings.indices, kept)
    users = np.repeat(np.arange(ratings.n_users), ratings.activity)
    return Ratings.from_columns(
        users[is_kept], ratings.indices[is_kept], ratings.values[is_kept], scale=ratings.scale
    )


class Table:
    """A table before a rotation, and which of its cells are ratings."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        items, all_users = np.arange(ratings.n_items), np.arange(ratings.n_users)
        padding = ItemMean().fit(ratings).padding()
        self.rows = padded_rows(ratings, padding, all_users, items)
        self.means = padding.item_offset
        self.users = np.repeat(all_users, ratings.activity)
        self.cells = self.users, ratings.indices
        self.order = np.random.default_rng(0).permutation(ratings.n_users)

    def published_by(self, anonymizer: RotationPerturbation) -> NDArray[np.float64]:
        """Return the published rows, in the order of the users."""
        release = anonymizer.anonymize(self.ratings)
        blocks = [block.values.reshape(len(block), -1) for block in release.published.blocks()]
        rows = np.empty_like(self.rows)
        rows[release.private.groups.members] = np.concatenate(blocks)
        return rows

    def recovered(self, rows: NDArray[Any], n_known: int) -> float:
        """Return the share of the ratings of the users who are not known."""
        unknown = ~np.isin(self.users, self.order[:n_known])
        near = np.abs(rows[self.cells] - self.rows[self.cells]) <= self.ratings.scale.step / 2
        return float(near[unknown].mean())

    def by_components(self, published: NDArray[Any]) -> float:
        """Return the share that ICA recovers with the distributions of the columns."""
        columns = np.random.default_rng(1).permuted(self.rows, axis=0)
        return self.recovered(recover_by_components(published, columns, seed=0), 0)

    def by_known(self, published: NDArray[Any], n_known: int, *, mixed: bool = False) -> float:
        """Return the share that known rows recover; mixed up, they are at wrong records."""
        known = self.order[:n_known]
        at = self.order[-n_known:] if mixed else known
        return self.recovered(recover_by_known_rows(published, self.rows[known], at), n_known)


def rows_of(
    table: Table, name: str, make: RotationPerturbation, known: tuple[int, ...]
) -> list[Row]:
    """Return what is recovered from a rotation of a table, and the controls."""
    published, rows = table.published_by(make), []
    if len(table.rows) > table.rows.shape[1]:
        by_ica, control = (table.by_components(p) for p in (published, published[table.order]))
        rows += [Row(f"{name}: m = 0: ICA", by_ica), Row(f"{name}: m = 0: ICA, control", control)]
    for m in known:
        rows += [
            Row(f"{name}: m = {m} known rows", table.by_known(published, m)),
            Row(f"{name}: m = {m} known rows, control", table.by_known(published, m, mixed=True)),
        ]
    return rows


def run(folder: Path) -> list[Row]:
    """Return the shares of recovered ratings, the claims, and the privacy of noise."""
    ratings = ratings_of(folder)
    few, every = Table(most_rated(ratings, N_ITEMS)), Table(ratings)
    rotation = RotationPerturbation(predictor="item-mean", seed=1)
    rows = []
    for name, table in ((f"{N_ITEMS} items", few), ("all items", every)):
        means = np.broadcast_to(table.means, table.rows.shape)
        rows.append(Row(f"{name}: item means, without the release", table.recovered(means, 0)))
        known = (*KNOWN, 200) if table is few else (*KNOWN, 500)
        rows += rows_of(table, f"{name}, RA", rotation, known)
    for name, noise_first in (("RA + N", False), ("R(A + N)", True)):
        make = GeometricPerturbation(predictor="item-mean", noise_first=noise_first, seed=1)
        rows += rows_of(few, f"{N_ITEMS} items, {name}", make, (*KNOWN, 200))
    share = {row.label.removeprefix(f"{N_ITEMS} items, "): row.ours for row in rows}
    gain = share["RA: m = 0: ICA"] - share["RA: m = 0: ICA, control"]
    saved = share["RA: m = 50 known rows"] - share["RA + N: m = 50 known rows"]
    rows += [
        Row(
            "claim: ICA violates the privacy of rotation: RA, ICA - control, above 0",
            *(gain, None, gain > 0),
            "ICA recovers no more ratings than its control.",
        ),
        Row(
            "claim: noise protects further: m = 50, RA - (RA + N), above 0",
            *(saved, None, saved > 0),
            "Noise does not lower the share of recovered ratings.",
        ),
    ]
    rows = [row._replace(form=".1%") for row in rows]
    levels, counts = np.unique(ratings.values, return_counts=True)
    shares = counts / counts.sum()
    rows.append(Row("privacy 2^h of a rating, in levels", inherent_privacy(shares), form=".3f"))
    for noise in (LabelNoise("gaussian", 1.0), LabelNoise("uniform", 1.0)):
        name = f"{noise.kind} noise with a standard deviation of 1"
        rows += [
            Row(f"{name}: privacy 2^h, in points", noise.privacy, form=".3f"),
            Row(f"{name}: privacy lost", privacy_loss(noise, levels, shares), form=".1%"),
        ]
    return rows


if __name__ == "__main__":
    main(run, __doc__)
