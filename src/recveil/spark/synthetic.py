"""Drawn making: people who never were, drawn by executors from sums over those who were."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.methods.base import check_seed, drawn_seed
from recveil.methods.release_summary import drawn_as_json
from recveil.methods.synthetic.noisy_sums import Public
from recveil.methods.synthetic.options import check_drawing, parse_epsilon
from recveil.methods.synthetic.synthesizer import Synthesizer, reject_few
from recveil.methods.synthetic.user_model import SampledBatches
from recveil.release.records import Groups
from recveil.release.sides import Private, Sides
from recveil.runtime.errors import RecveilError
from recveil.spark.input import Lake
from recveil.spark.maker import Made, Ready
from recveil.spark.part_files import ByExecutors
from recveil.spark.users import DistributedUsers, QueriedItemSums, distribute_users


class DrawnMaking:
    """Draws people by a rule that is learned from noisy sums."""

    def __init__(self, k: int | None, given: Mapping[str, Any], seed: int | None) -> None:
        del k  # a promise of its own, which was asked for instead
        self._maker = _synthesizer(dict(given), seed)

    def gather(self, lake: Lake) -> Ready:
        """Gather people on the items that are asked about."""
        maker = self._maker
        maker.check_scale(lake.scale)
        maker.check_items(lake.items)
        public, items, places = maker.public_items(lake.items)
        people = distribute_users(lake, QueriedItemSums(items, places, public.most_items))
        if maker.epsilon is None:
            reject_few(people.n_people)
            if not lake.scale.unary and lake.values.size == 1:
                raise RecveilError(
                    f"all ratings are {lake.values[0]:g}: likes, not supported yet as ratings; "
                    f"read them as likes (--likes), without a scale",
                    code="table.kind",
                )
        return Ready(people, lambda: self._make(people, public, items))

    def _make(self, people: DistributedUsers, public: Public, items: NDArray[Any]) -> Made:
        """Learn by which rule they are drawn."""
        maker = self._maker
        learnt = maker.learn(people, public, items, people.n_people)
        crowds = SampledBatches.of(maker.drawn(learnt))
        published = maker.published(learnt, crowds)
        private = Private(np.empty(0), Groups.empty(), maker.seed, maker.used(learnt))
        release = Sides(published, private)
        by = ByExecutors(people.frame.sparkSession, people, crowds)
        return Made(release, by, lambda: drawn_as_json(release))


def _synthesizer(given: dict[str, Any], seed: int | None) -> Synthesizer:
    """Return what learns and draws, or refuse options that make no sense."""
    check_drawing(given)
    epsilon = parse_epsilon(given.pop("epsilon"))
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
