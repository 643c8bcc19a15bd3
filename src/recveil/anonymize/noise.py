"""AdditiveNoise: every rating plus a random number, whose distribution everybody is told."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.anonymize.perturbation import SameCells
from recveil.errors import RecveilError
from recveil.ratings import Ratings, RatingScale

NoiseKind = Literal["gaussian", "uniform"]


@dataclass(frozen=True)
class LabelNoise:
    """Random numbers around zero, all drawn from one distribution.

    Parameters
    ----------
    kind : {"gaussian", "uniform"}
    scale : float
        The standard deviation, in rating points, above 0. Uniform noise lies within ± √3 times
        it.

    Raises
    ------
    RecveilError
        If the kind is unknown or the scale not above 0.

    Examples
    --------
    >>> noise = LabelNoise("uniform", scale=1 / 3**0.5)  # from -1 to 1
    >>> noise.density([-1.5, 0.0, 0.5])
    array([0. , 0.5, 0.5])
    """

    kind: NoiseKind
    scale: float

    def __post_init__(self) -> None:
        if self.kind not in get_args(NoiseKind):
            raise RecveilError(
                f"noise {self.kind!r}: expected 'gaussian' or 'uniform'", code="argument.value"
            )
        if not (isinstance(self.scale, int | float) and 0 < self.scale < math.inf):
            raise RecveilError(
                f"scale of the noise is {self.scale!r}; expected a standard deviation above 0, "
                f"in rating points",
                code="argument.value",
            )

    @property
    def half_width(self) -> float:
        """How far uniform noise reaches, in rating points."""
        return self.scale * math.sqrt(3)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw independent numbers, shape (n,)."""
        if self.kind == "gaussian":
            return rng.normal(0.0, self.scale, n)
        return rng.uniform(-self.half_width, self.half_width, n)

    def density(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the probability density at each value."""
        numbers = np.asarray(values, np.float64)
        if self.kind == "gaussian":
            top = 1 / (self.scale * math.sqrt(2 * math.pi))
            return np.asarray(top * np.exp(-((numbers / self.scale) ** 2) / 2))
        # A little more than the width, because adding to a rating and subtracting it again rounds.
        inside = np.abs(numbers) <= self.half_width * (1 + 1e-9)
        return np.where(inside, 1 / (2 * self.half_width), 0.0)


class AdditiveNoise(SameCells):
    """Publish each rating plus noise of its own. It promises nothing.

    Who rated what stays as it was, and that alone finds people. Labels go beyond the ends of the
    scale and stay there: what is told to everybody is the noise's distribution, and only with
    labels that were not clipped `reconstruct_distribution` can undo it. Whoever wants one rating
    clips the label themselves, and is nearer to the truth by it.

    Parameters
    ----------
    kind : {"gaussian", "uniform"}
    scale : float, optional
        Standard deviation of the noise, in rating points; a quarter of the scale's range (1 point
        of 1 to 5) if not given.
    seed : int, optional
        Fixes the order of the records and the noise.

    Notes
    -----
    Source: Agrawal & Srikant 2000, as told by Chen 2012, section 2.2.1.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> release = AdditiveNoise("uniform", scale=0.1, seed=1).anonymize(ratings)
    >>> (block,) = release.published.blocks()
    >>> np.sort(block.values).round(), release.published.settings["scale"]
    (array([1., 2., 5.]), 0.1)
    """

    method = "additive noise"

    def __init__(
        self,
        kind: NoiseKind = "gaussian",
        scale: float | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.kind = kind
        self.scale = scale
        self.seed = seed

    def noise(self, scale: RatingScale) -> LabelNoise:
        """Return the noise for ratings on some scale, to draw from or to undo.

        Examples
        --------
        >>> AdditiveNoise().noise(RatingScale(1, 5, 1))
        LabelNoise(kind='gaussian', scale=1.0)
        """
        return LabelNoise(self.kind, (scale.range / 4 or 1.0) if self.scale is None else self.scale)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        self.noise(ratings.scale)

    def _settings(self, scale: RatingScale) -> dict[str, Any]:
        noise = self.noise(scale)
        return {"kind": noise.kind, "scale": noise.scale}

    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return raw + self.noise(scale).draw(raw.size, rng)
