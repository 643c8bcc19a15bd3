"""Re-identification from the residuals of a smooth fit to full rows."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses
from recveil.attacks.knowledge import Knowledge
from recveil.attacks.reidentification.residuals import Residuals, find_residuals
from recveil.ratings import RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief

# Lower bound of one known rating's evidence in the clipped score.
_LEAST = -1.5
# A known rating falls between two levels of a fine scale; otherwise this is for rounding.
_TOLERANCE = 1e-3


@brief
class RowScores(NamedTuple):
    """Log-likelihood of each row given what is known about one target, shape (n_rows,) each.

    `by_fit` is that of the known ratings under the row's fit. `by_value` adds the log-likelihood
    ratio of the known items' values with the target in the row, and `clipped` bounds the evidence
    of one item against a row. `n_items` counts the known items that the rows hold.
    """

    by_fit: NDArray[np.float64]
    by_value: NDArray[np.float64]
    clipped: NDArray[np.float64]
    n_items: int


@dataclass(frozen=True)
class ResidualAttack:
    """Picks the row whose residuals the known ratings explain best.

    Parameters
    ----------
    scale : RatingScale
    right : float
        Share of the known entries that are right.
    wrong_item : bool
        Whether wrong entries are items that the target did not rate, instead of wrong ratings.
    rating_error : float or None
        As in `Adversary`.

    Notes
    -----
    Where `find_residuals` does not apply, all users fit equally well.

    Examples
    --------
    >>> ResidualAttack.of(Adversary(known=8, right=6), RatingScale(1, 5, 1)).right
    0.75
    """

    scale: RatingScale
    right: float = 1.0
    wrong_item: bool = False
    rating_error: float | None = 0
    name: ClassVar[str] = "residual"

    @classmethod
    def of(cls, adversary: Adversary, scale: RatingScale) -> Self:
        """Return the attack of an adversary who knows the error of their knowledge."""
        return cls(
            scale=scale,
            right=adversary.n_right / adversary.known,
            wrong_item=adversary.wrong_kind == "item",
            rating_error=adversary.rating_error,
        )

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Score every target against the candidates."""
        entries = record_of[knowledge.targets]
        best, tied = np.full(entries.size, -1), np.full(entries.size, candidates.n_people)
        own_is_top = entries >= 0
        residuals = find_residuals(candidates, self.scale)
        if residuals is not None:
            for target, scores in enumerate(self.scores(residuals, knowledge)):
                highest = scores.by_value.max()
                top = residuals.rows[scores.by_value >= highest - 1e-9 * (1 + abs(highest))]
                best[target] = top[0] if top.size == 1 else -1
                tied[target] = candidates.sizes[top].sum()
                own_is_top[target] = entries[target] >= 0 and bool(np.isin(entries[target], top))
        return Guesses(best=best, tied_people=tied, own_is_top=own_is_top)

    def scores(self, residuals: Residuals, knowledge: Knowledge) -> list[RowScores]:
        """Score every row by what is known about each target."""
        by_fit, by_value = residuals.weighed
        column_of = np.full(int(max(residuals.items.max(), knowledge.items.max(initial=0))) + 1, -1)
        column_of[residuals.items] = np.arange(residuals.items.size)
        columns = column_of[knowledge.items]
        likelihoods, certain = self._known_likelihoods(residuals.levels, knowledge)
        found = []
        for target in range(knowledge.targets.size):
            entries = np.arange(knowledge.indptr[target], knowledge.indptr[target + 1])
            entries = entries[columns[entries] >= 0]
            sums = np.zeros((3, residuals.rows.size))
            _score_rows(columns[entries], likelihoods[entries], certain, by_fit, by_value, sums)
            found.append(RowScores(sums[0], sums[1], sums[2], entries.size))
        return found

    def _known_likelihoods(
        self, levels: NDArray[np.float64], knowledge: Knowledge
    ) -> tuple[NDArray[np.float64], float]:
        """Return the likelihood of each known entry per true level, and the rated share."""
        certain = self.right if self.wrong_item else 1.0
        if knowledge.values is None or self.rating_error is None:
            return np.ones((knowledge.items.size, levels.size)), certain
        step = float(levels[1] - levels[0])
        is_coarse = self.scale.step is None or self.scale.step < step * (1 - _TOLERANCE)
        error = self.rating_error + step * (0.5 if is_coarse else _TOLERANCE)
        near = np.abs(knowledge.values[:, None].astype(np.float64) - levels) <= error
        # Levels within the error are equally likely to be observed, and so are those beyond it.
        within = near / np.maximum(near.sum(axis=1, keepdims=True), 1)
        far = ~near / np.maximum((~near).sum(axis=1, keepdims=True), 1)
        right = 1.0 if self.wrong_item else self.right
        return right * within + (1 - right) * far, certain


@compiled()
def _score_rows(
    columns: NDArray[Any],
    likelihoods: NDArray[Any],
    certain: float,
    by_fit: NDArray[Any],
    by_value: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Sum the evidence of the known entries for each row."""
    for entry in range(columns.size):
        fits, labels = by_fit[columns[entry]], by_value[columns[entry]]
        for row in range(fits.shape[0]):
            fit, label = 1e-12, 1e-12
            for level in range(likelihoods.shape[1]):
                fit += likelihoods[entry, level] * fits[row, level]
                label += likelihoods[entry, level] * labels[row, level]
            evidence = math.log(certain * label / fit + 1 - certain)
            fit = math.log(fit)
            sums[0, row] += fit
            sums[1, row] += fit + evidence
            sums[2, row] += fit + max(evidence, _LEAST)


def score_by_residuals(
    candidates: Candidates, adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return log-likelihood ratios of membership from residuals; none if there is no fit.

    The ratios compare the rows with the target as a member with the rows' fits alone, which also
    fit non-members. The scores are the total, the mean per known item, the mean with the evidence
    of each item bounded, and the maximum over single rows of the evidence of the values alone.

    Returns
    -------
    list of ndarray of float64, shape (n_targets,) each
    """
    residuals = find_residuals(candidates, scale)
    if residuals is None:
        return []
    share = np.log(residuals.cells.people / residuals.cells.people.sum())
    ratios = []
    for scores in ResidualAttack.of(adversary, scale).scores(residuals, known):
        fit_alone = _log_sum(scores.by_fit + share)
        ratio = _log_sum(scores.by_value + share) - fit_alone
        clipped = _log_sum(scores.clipped + share) - fit_alone
        n = max(scores.n_items, 1)
        alone = float((scores.by_value - scores.by_fit).max())
        ratios.append((ratio, ratio / n, clipped / n, alone))
    return list(np.array(ratios).reshape(-1, 4).T)


def _log_sum(logarithms: NDArray[np.float64]) -> float:
    highest = float(logarithms.max())
    return highest + math.log(float(np.exp(logarithms - highest).sum()))
