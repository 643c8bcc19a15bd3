"""RotationPerturbation, which rotates full rows and so preserves distances between users."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ortho_group

from recveil.methods.base import Blocks
from recveil.methods.baselines.perturbation import Baseline, LabelNoise, each_user_alone, places_of
from recveil.methods.components import PADDERS
from recveil.predict import Padder, Padding
from recveil.ratings import Ratings, RatingScale
from recveil.release.method import Settings
from recveil.release.records import Groups, Records
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

Space = Literal["padded", "latent"]
# An orthogonal matrix of items × items takes 800 MB at this number, and a minute to draw.
MOST_ITEMS_ROTATED = 10_000
# Cells of a tile of rows: 32 MiB.
_TILE_CELLS = 1 << 22
# Labels are rounded to so many digits, which leaves distances alone and hides what a matrix
# product adds to equal rows.
_DIGITS = 11


class RotationPerturbation(Baseline):
    """Publish every row multiplied by one secret random orthogonal matrix, without a guarantee.

    Distances between users, and angles between their rows, are preserved exactly, so methods that
    use only these work as on the raw data. A published value is a mix of all ratings of the user,
    not a rating of its item, and may be far beyond the scale. So a recommender that reads the
    values as ratings learns little.

    **A failed attack is no evidence of safety.** The attacks of an audit read values as ratings
    too, and do not try to undo the rotation. An adversary can: distances among known rows identify
    the published ones, and from as many of them as there are dimensions the rotation follows by
    linear algebra (`recveil.attacks.recover_by_known_rows`, `recover_by_components`).

    Parameters
    ----------
    space : {"padded", "latent"}
        The space to rotate. "padded": the padded rows with the user's own ratings, in as many
        dimensions as there are rated items, about the point where all ratings are 0. "latent": the
        predicted rows, only in the directions in which predictions differ, about their mean. This
        preserves item means, and values stay near the scale; own ratings count only through the
        predictor.
    predictor : str or Padder
        As in `PredictiveAnonymizer`: rotating needs full rows.
    seed : int, optional
        Fixes every random choice. The seed does not undo the rotation without the ratings.

    Notes
    -----
    Source: Chen & Liu 2005, as described by Chen 2012, section 2.2.2. Neither specifies
    empty cells; padding them is our interpretation, as is the table: one value for each user and
    rated item. The matrix is uniformly distributed over all orthogonal ones, reflections included.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=8, n_ratings=60, seed=1)
    >>> release = RotationPerturbation(predictor="item-mean", seed=1).anonymize(ratings)
    >>> (block,) = release.published.blocks()
    >>> block.values.reshape(20, -1).shape, release.published.claim.kind  # 7 items were rated
    ((20, 7), 'nothing')
    """

    method: ClassVar[str] = "rotation perturbation"

    def __init__(
        self,
        space: Space = "padded",
        predictor: str | Padder = "funk-svd",
        *,
        seed: int | None = None,
    ) -> None:
        self.space = space
        self.predictor = predictor
        self.seed = seed
        self.check_options()

    def _publish(self, ratings: Ratings, rng: np.random.Generator) -> tuple[Groups, Blocks]:
        padding = self._predictor(int(rng.integers(2**32))).fit(ratings).padding()
        turned = _turn(ratings, padding, self.space, rng)
        groups = each_user_alone(ratings.n_users, rng)
        shift = self._shift(turned.items.size, ratings.scale, rng)
        noise, seed = self._noise(ratings.scale), int(rng.integers(2**62))

        def blocks() -> Iterator[Records]:
            step = max(1, _TILE_CELLS // turned.items.size)
            for first in range(0, groups.members.size, step):
                users = groups.members[first : first + step]
                # One thread, so that the last bit does not depend on the machine.
                with one_thread():
                    labels = turned.rows(users)
                labels += shift
                if noise is not None:
                    block_rng = np.random.default_rng([seed, first])
                    labels += self._draw(noise, len(labels), turned, block_rng)
                yield _full_records(turned.items, np.round(labels, _DIGITS) + 0.0)

        return groups, blocks

    def _shift(
        self, n_items: int, _scale: RatingScale, _rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return what is added to every row, shape (n_items,)."""
        return np.zeros(n_items)

    def _noise(self, _scale: RatingScale) -> LabelNoise | None:
        return None

    def _draw(
        self, noise: LabelNoise, n_rows: int, turned: "_Turned", rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw noise for rows that are turned already."""
        return noise.draw(n_rows * turned.items.size, rng).reshape(n_rows, -1)

    def _predictor(self, seed: int) -> Padder:
        if not isinstance(self.predictor, str):
            if not callable(getattr(self.predictor, "padding", None)):
                raise RecveilError(
                    f"predictor {type(self.predictor).__name__} has no padding to rotate; expected "
                    f"one that has, such as FunkSVD(), or one of {', '.join(PADDERS)}",
                    code="argument.type",
                )
            return copy.copy(self.predictor)
        if self.predictor not in PADDERS:
            raise RecveilError(
                f"predictor {self.predictor!r}: expected one of {', '.join(PADDERS)}",
                code="argument.value",
            )
        return PADDERS[self.predictor](seed)

    def _settings(self, _scale: RatingScale) -> Settings:
        name = self.predictor if isinstance(self.predictor, str) else type(self.predictor).__name__
        return {"space": self.space, "predictor": name}

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        if self.space not in get_args(Space):
            raise RecveilError(
                f"space is {self.space!r}; expected 'padded' or 'latent'", code="argument.value"
            )
        n_rated = int((ratings.support > 0).sum())
        if self.space == "padded" and n_rated > MOST_ITEMS_ROTATED:
            raise RecveilError(
                f"{n_rated:,} items are too many to turn padded rows; expected "
                f"{MOST_ITEMS_ROTATED:,} at most; take space='latent'",
                code="table.too-large",
            )


class GeometricPerturbation(RotationPerturbation):
    """Publish every row rotated, shifted and with noise on each value, without a guarantee.

    The noise prevents an adversary who knows rows from undoing the rotation exactly; the more known
    rows they have, the less it helps. Distances are preserved up to the noise.

    Parameters
    ----------
    scale : float, optional
        Standard deviation of the Gaussian noise, in rating points; by default a tenth of the
        scale's range.
    space, predictor, seed
        As in `RotationPerturbation`, whose warning about attacks applies here too.
    noise_first : bool
        Add the noise before the rotation, R(A + N), not after it, RA + N. Gaussian noise has the
        same distribution in all directions, so that the two differ in the latent space alone, where
        noise that comes first is within the directions of the predictions.

    Notes
    -----
    Source: Chen & Liu 2007, ``G(X) = R X + Ψ + Δ``; Chen 2012, section 2.2.3, describes
    it as ``RA + N | R(A + N)``, without the shift Ψ, which is the same for all users.
    Interpretation: each item's shift is uniform from half the scale's range below 0 to half above.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=8, n_ratings=60, seed=1)
    >>> release = GeometricPerturbation(predictor="item-mean", seed=1).anonymize(ratings)
    >>> release.published.settings["scale"]
    0.4
    """

    method: ClassVar[str] = "geometric perturbation"

    def __init__(
        self,
        scale: float | None = None,
        space: Space = "padded",
        predictor: str | Padder = "funk-svd",
        *,
        noise_first: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(space, predictor, seed=seed)
        self.scale = scale
        self.noise_first = noise_first

    def _shift(
        self, n_items: int, scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return rng.uniform(-scale.range / 2, scale.range / 2, n_items)

    def _noise(self, scale: RatingScale) -> LabelNoise:
        return LabelNoise(
            "gaussian", (scale.range / 10 or 1.0) if self.scale is None else self.scale
        )

    def _draw(
        self, noise: LabelNoise, n_rows: int, turned: "_Turned", rng: np.random.Generator
    ) -> NDArray[np.float64]:
        if not self.noise_first:
            return super()._draw(noise, n_rows, turned, rng)
        with one_thread():
            return noise.draw(n_rows * len(turned.turn), rng).reshape(n_rows, -1) @ turned.turn

    def _settings(self, scale: RatingScale) -> Settings:
        settings = {**super()._settings(scale), "scale": self._noise(scale).scale}
        return settings | ({"noise": "before rotation"} if self.noise_first else {})

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        self._noise(ratings.scale)


def padded_rows(
    ratings: Ratings, padding: Padding, users: NDArray[np.int64], items: NDArray[Any]
) -> NDArray[np.float64]:
    """Return some users' predictions of some items, with their own ratings where they have any.

    All that the users rated must be among the items. Shape (n_users, n_items).
    """
    rows = padding.rows(users)[:, items].astype(np.float64)
    column = np.zeros(ratings.n_items, np.int64)
    column[items] = np.arange(items.size)
    indptr, at = places_of(ratings, users)
    row_of = np.repeat(np.arange(users.size), np.diff(indptr))
    rows[row_of, column[ratings.indices[at]]] = ratings.scale.round(ratings.values[at])
    return rows


@brief
class _Turned(NamedTuple):
    """The turned table, which is never held as a whole."""

    items: NDArray[np.int32]  # positions of the columns
    rows: Callable[[NDArray[np.int64]], NDArray[np.float64]]
    turn: NDArray[np.float64]  # from the turned dimensions to the columns


def _turn(ratings: Ratings, padding: Padding, space: Space, rng: np.random.Generator) -> _Turned:
    # A prediction for an item without ratings has no basis.
    items = np.flatnonzero(ratings.support).astype(np.int32)
    if space == "padded":
        with one_thread():
            matrix = ortho_group.rvs(items.size, random_state=rng)
        return _Turned(
            items, lambda users: padded_rows(ratings, padding, users, items) @ matrix.T, matrix.T
        )
    of_items = padding.item_factors[items].astype(np.float64)
    of_users = padding.user_factors.astype(np.float64)
    centre = of_users.mean(axis=0)
    with one_thread():
        mean_row = padding.item_offset[items] + of_items @ centre
        # An orthonormal basis of the directions in which predictions differ.
        basis, triangular = np.linalg.qr(of_items) if of_items.size else (of_items, np.eye(0))
        matrix = ortho_group.rvs(basis.shape[1], random_state=rng)
        of_basis = matrix.T @ basis.T
        turn = triangular.T @ matrix.T @ basis.T  # from a user's factors to their turned row
    return _Turned(items, lambda users: mean_row + (of_users[users] - centre) @ turn, of_basis)


def _full_records(items: NDArray[np.int32], labels: NDArray[np.float64]) -> Records:
    n_rows = len(labels)
    return Records(
        sizes=np.ones(n_rows, np.int64),
        indptr=np.arange(n_rows + 1, dtype=np.int64) * items.size,
        indices=np.tile(items, n_rows),
        values=labels.ravel(),
    )
