"""Synthetic users, sampled by executors from noisy sums over the users."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.methods.base import check_seed, seed_or_random
from recveil.methods.release_summary import ReleaseSummary, SyntheticSummary
from recveil.methods.synthetic.noisy_sums import Public
from recveil.methods.synthetic.options import check_synthetic_options, parse_epsilon
from recveil.methods.synthetic.synthesizer import Synthesizer, reject_few
from recveil.methods.synthetic.user_model import SampledBatches
from recveil.release.records import Groups
from recveil.release.sides import Private, Sides
from recveil.runtime.errors import RecveilError
from recveil.spark.input import Lake
from recveil.spark.maker import PlannedRelease
from recveil.spark.part_files import SyntheticWriter
from recveil.spark.users import DistributedUsers, QueriedItemSums, distribute_users


class SyntheticMaking:
    """Samples synthetic users from a model that is fitted to noisy sums."""

    def __init__(self, k: int | None, options: Mapping[str, Any], seed: int | None) -> None:
        del k  # the claim is differential privacy, which has no k
        self._maker = _synthesizer(dict(options), seed)

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], PlannedRelease]]:
        """Gather users on the queried items."""
        maker = self._maker
        maker.check_scale(lake.scale)
        maker.check_items(lake.items)
        public, items, places = maker.public_items(lake.items)
        users = distribute_users(lake, QueriedItemSums(items, places, public.most_items))
        if maker.epsilon is None:
            reject_few(users.n_users)
            if not lake.scale.unary and lake.values.size == 1:
                raise RecveilError(
                    f"all ratings are {lake.values[0]:g}: likes, not supported yet as ratings; "
                    f"read them as likes (--likes), without a scale",
                    code="table.kind",
                )
        return users, lambda: self._make(users, public, items)

    def _make(self, users: DistributedUsers, public: Public, items: NDArray[Any]) -> PlannedRelease:
        """Fit the model."""
        maker = self._maker
        model = maker.learn(users, public, items, users.n_users)
        batches = SampledBatches.of(maker.drawn(model))
        published = maker.published(model, batches)
        private = Private(np.empty(0), Groups.empty(), maker.seed, maker.used(model))
        release = Sides(published, private)
        by = SyntheticWriter(users.frame.sparkSession, users, batches)
        summary = ReleaseSummary(published, SyntheticSummary.of(release))
        return PlannedRelease(release, by, lambda: summary)


def _synthesizer(options: dict[str, Any], seed: int | None) -> Synthesizer:
    """Return the synthesizer; raise if its options are inconsistent."""
    check_synthetic_options(options)
    epsilon = parse_epsilon(options.pop("epsilon"))
    if epsilon is not None and seed is not None:
        raise RecveilError(
            "seed (--seed): with epsilon (--epsilon) the noise must be secret, as an adversary who "
            "guesses the seed removes the noise; leave it out",
            code="option.conflict",
        )
    check_seed(seed)
    maker = Synthesizer(epsilon, seed=seed_or_random(seed) if epsilon is None else None, **options)
    maker.check_options()
    return maker
