"""Drawn making: people who never were, drawn by executors from sums over those who were."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.base import check_seed, drawn_seed
from recveil.anonymize.drawing_options import check_drawing, epsilon_given
from recveil.anonymize.synthetic.choice_sums import Public
from recveil.anonymize.synthetic.drawn_crowds import DrawnCrowds
from recveil.anonymize.synthetic.synthesizer import Synthesizer, refuse_few
from recveil.anonymize.telling import told_of_drawn
from recveil.errors import RecveilError
from recveil.release.groups import Groups
from recveil.release.sides import Private, Sides
from recveil.spark.lake import Lake
from recveil.spark.making import Made, Ready
from recveil.spark.part_writing import ByExecutors
from recveil.spark.spread_people import AskedItems, SpreadPeople, spread_people


class DrawnMaking:
    """Draws people by a rule that is learned from noisy sums.

    Parameters
    ----------
    k : int or None
        None: no row is shared.
    given : mapping
        The options of `Synthesizer` that were given.
    seed : int or None
        With a number for epsilon None, as the noise is drawn in secret.

    Raises
    ------
    RecveilError
        If they make no sense.
    """

    def __init__(self, k: int | None, given: Mapping[str, Any], seed: int | None) -> None:
        del k  # a promise of its own, which was asked for instead
        self._maker = _synthesizer(dict(given), seed)

    def gather(self, lake: Lake) -> Ready:
        """Gather people on the items that are asked about."""
        maker = self._maker
        maker.check_scale(lake.scale)
        maker.check_items(lake.items)
        public, items, places = maker.public_items(lake.items)
        people = spread_people(lake, AskedItems(items, places, public.most_items))
        if maker.epsilon is None:
            refuse_few(people.n_people)
            if not lake.scale.unary and lake.values.size == 1:
                raise RecveilError(
                    f"all ratings are {lake.values[0]:g}: likes, not supported yet as ratings; "
                    f"read them as likes (--likes), without a scale",
                    code="table.kind",
                )
        return Ready(people, lambda: self._make(people, public, items))

    def _make(self, people: SpreadPeople, public: Public, items: NDArray[Any]) -> Made:
        """Learn by which rule they are drawn."""
        maker = self._maker
        learnt = maker.learn(people, public, items, people.n_people)
        crowds = DrawnCrowds.of(maker.drawn(learnt))
        published = maker.published(learnt, crowds)
        private = Private(np.empty(0), Groups.of_nobody(), maker.seed, maker.used(learnt))
        release = Sides(published, private)
        by = ByExecutors(people.frame.sparkSession, people, crowds)
        return Made(release, by, lambda: told_of_drawn(release))


def _synthesizer(given: dict[str, Any], seed: int | None) -> Synthesizer:
    """Return what learns and draws, or refuse options that make no sense."""
    check_drawing(given)
    epsilon = epsilon_given(given.pop("epsilon"))
    if epsilon is not None and seed is not None:
        raise RecveilError(
            "seed (--seed): with epsilon (--epsilon) the noise is drawn in secret, as whoever "
            "guesses a seed takes the noise away; leave it out",
            code="option.conflict",
        )
    check_seed(seed)
    maker = Synthesizer(epsilon, seed=drawn_seed(seed) if epsilon is None else None, **given)
    maker.check_options()
    return maker
