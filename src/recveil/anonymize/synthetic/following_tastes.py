"""Following tastes: how far ratings follow the tastes that people choose by, from noisy sums.

People who choose by the same tastes rate by them as well, more or less: on one table hardly, on
another entirely. What people tell of it (`taste_vectors`) is compared with what a drawn crowd tells
that follows its tastes by a known measure, and the measure is moved until both tell the same.
Whatever blurs real people's answers, such as how few ratings they have, blurs the crowd's as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.synthetic.bounded_vectors import moved, sum_grid
from recveil.anonymize.synthetic.choice_sums import Asked
from recveil.anonymize.synthetic.learning_people import item_means
from recveil.anonymize.synthetic.noisy_sums import WHAT, NoisySums
from recveil.anonymize.synthetic.people_model import PeopleModel
from recveil.anonymize.synthetic.summing import People, added_up
from recveil.anonymize.synthetic.taste_vectors import TasteMap, taste_sums, taste_vectors, turned
from recveil.brief import brief
from recveil.release.synthetic_form import MOST_TILT

QUERY = "ratings by taste"
# The crowd that is drawn to compare with, and how many cells it may have.
_CROWD, _FEWEST, _CELLS = 2_000, 300, 40_000_000
# Measures are moved so many times.
_TURNS = 4
# What is usual if noise hides everything, and how far tables are from it, as a variance. Of tilts,
# and of the squares of likings.
_USUAL_TILT, _USUAL_LIKING = (0.15, 0.2**2), (0.15**2, 0.05**2)
# Drawn people follow tastes so many times as far as people told: recommenders that learn from them
# predict better so, on MovieLens and on invented people, as learnt tastes are not quite true ones.
BOLDER = 1.5
# Directions differ at least by this variance; a crowd follows its tastes at least so far.
_LEAST_BETWEEN, _LEAST_PROBE = 1e-4, 0.05
_LEAST_SLOPE = 1e-6

Numbers = NDArray[np.float64]


def follow_tastes(
    ratings: People,
    mechanism: Asked,
    measured: NoisySums,
    model: PeopleModel,
    sigma: float,
    rng: np.random.Generator,
) -> PeopleModel:
    """Ask people how far they rate by taste, and return the rule that follows tastes so far.

    Parameters
    ----------
    ratings : Ratings, or whoever is spread
        Those that were measured.
    mechanism : Mechanism or WithoutNoise
    measured : NoisySums
    model : PeopleModel
        Learnt from them. In what is returned, tastes are turned, so that directions do not go
        together.
    sigma : float
        The noise of the query, for a vector of length 1.
    rng : Generator
        Draws crowds.

    Returns
    -------
    PeopleModel
    """
    popularity = np.maximum(measured.items.popularity[measured.told], 0)
    tastes = model.tastes.copy()
    tastes[:, 1:] = turned(tastes[:, 1:], popularity)
    model = model._replace(tastes=tastes)
    items = TasteMap.of(tastes[:, 1:], popularity, item_means(measured))
    grid = sum_grid(sigma)
    exact = added_up(ratings, taste_sums, measured.told, items, grid)
    told = mechanism.measure(QUERY, WHAT[QUERY], exact, grid)[:, : model.tilts.size]
    if not model.tilts.size:
        return model
    n_people = max(measured.n_people, 1.0)
    answer = _Answer(told / n_people, (sigma / n_people) ** 2, n_people)
    return _moved_until_alike(model, items, answer, int(rng.integers(1 << 62)))


@brief
class _Answer(NamedTuple):
    """What people tell: means of their vectors, shape (2, n_directions), and their noise."""

    means: Numbers
    variance: float
    n_people: float


def _moved_until_alike(
    model: PeopleModel, items: TasteMap, answer: _Answer, drawing: int
) -> PeopleModel:
    n = int(np.clip(_CELLS // max(1, len(model.offsets)), _FEWEST, _CROWD))
    n_directions = model.tilts.size

    def crowd(tilts: Numbers, likings: Numbers) -> tuple[Numbers, Numbers]:
        # Each time the same people, who choose the same: only how they rate is another.
        of = model._replace(tilts=tilts, likings=likings)
        vectors = _vectors_of(of, items, n, np.random.default_rng(drawing))
        return vectors.mean(axis=0), vectors.var(axis=0)

    tilts = np.full(n_directions, _USUAL_TILT[0])
    likings = np.full(n_directions, np.sqrt(_USUAL_LIKING[0]))
    for _ in range(_TURNS):
        tilts = np.where(tilts < 0, -1.0, 1.0) * np.maximum(np.abs(tilts), _LEAST_PROBE)
        likings = np.maximum(likings, _LEAST_PROBE)
        by_choice = crowd(tilts, np.zeros(n_directions))[0]
        found, spread = crowd(tilts, likings)
        unsure = spread * (1 / answer.n_people + 1 / n) + answer.variance
        slope = np.maximum(found[0] / tilts, _LEAST_SLOPE)
        gain = np.maximum((found[1] - by_choice[1]) / likings**2, _LEAST_SLOPE)
        tilts = believed(answer.means[0] / slope, unsure[0] / slope**2, *_USUAL_TILT)
        squares = (answer.means[1] - by_choice[1]) / gain
        squares = believed(squares, unsure[1] / gain**2, *_USUAL_LIKING)
        tilts = np.clip(tilts, -MOST_TILT, MOST_TILT)
        likings = np.sqrt(np.clip(squares, 0, MOST_TILT**2))
    tilts, likings = np.clip(BOLDER * np.array([tilts, likings]), -MOST_TILT, MOST_TILT)
    return model._replace(tilts=tilts, likings=likings).within_bounds()


def _vectors_of(
    model: PeopleModel, items: TasteMap, n_people: int, rng: np.random.Generator
) -> Numbers:
    blocks = model.draw(n_people, rng, whole=True)
    return np.concatenate(
        [
            taste_vectors(block.indptr, block.indices, moved(block.values, model.scale), items)
            for block in blocks
        ]
    )


def believed(
    estimates: Numbers, variances: Numbers, usual: float, between_tables: float
) -> Numbers:
    """Pull unsure estimates towards what they have in common, and that towards what is usual.

    Parameters
    ----------
    estimates, variances : ndarray of float64, shape (n,)
        How unsure each is, as a variance.
    usual, between_tables : float
        What is usual, and how far tables are from it, as a variance.

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    Sure ones stay; of what noise hides, the usual is left:

    >>> believed(np.array([0.5, 0.9]), np.full(2, 1e-9), 0.2, 0.04).round(3).tolist()
    [0.5, 0.9]
    >>> believed(np.array([90.0, -70.0]), np.full(2, 1e6), 0.2, 0.04).round(3).tolist()
    [0.2, 0.2]
    """
    between = _LEAST_BETWEEN
    for _ in range(20):
        weights = 1 / (variances + between)
        common = (weights @ estimates + usual / between_tables) / (
            weights.sum() + 1 / between_tables
        )
        squares = weights**2 @ ((estimates - common) ** 2 - variances) / (weights @ weights)
        between = max(float(squares), _LEAST_BETWEEN)
    return np.asarray(common + (estimates - common) * between / (between + variances))
