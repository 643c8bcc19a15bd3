"""Sparse making: rows of classes that are drawn from what crowds choose, by executors."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recveil.anonymize.base import check_seed, drawn_seed
from recveil.anonymize.rare_items import split_items
from recveil.anonymize.sparse_rows import SparseRows
from recveil.anonymize.telling import told_of_sparse
from recveil.publish.expected import Expected
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.sides import FileFormat, Layout, Private, Published, Sides
from recveil.release.sparse_words import SPARSE
from recveil.spark.chosen_tastes import ChosenTastes, learn_chosen
from recveil.spark.crowd_rows import count_people, draw_rows
from recveil.spark.crowd_rule import learn_rule
from recveil.spark.group_making import expect_groups, people_of, prefix_of, refuse_table
from recveil.spark.group_rows import ClassRows
from recveil.spark.group_writing import GroupsByExecutors, bare
from recveil.spark.lake import Lake
from recveil.spark.making import Made, Ready
from recveil.spark.people_numbers import NumberedPeople, number_people
from recveil.spark.spread_crowds import Kept, SpreadCrowds, gather_crowds
from recveil.spark.spread_groups import parts_for
from recveil.spark.spread_people import SpreadPeople
from recveil.spark.taste_factors import RatedItems, TasteFactors, learn_factors
from recveil.spark.taste_refining import refine_factors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What is drawn, each by a stream of its own.
_PREFIX, _CHOSEN, _FACTORS = 71, 72, 73


class SparseMaking:
    """Gathers people who choose alike in crowds, and draws rows for classes of at least k of them.

    Parameters
    ----------
    k : int or None
        Smallest class, at least 2.
    given : mapping
        The options of `SparseRows` that were given.
    seed : int or None
        Drawn from the system if not given.

    Raises
    ------
    RecveilError
        If they make no sense.
    """

    def __init__(self, k: int | None, given: Mapping[str, Any], seed: int | None) -> None:
        check_seed(seed)
        self._seed = drawn_seed(seed)
        self._maker = SparseRows(k or 0, seed=self._seed, **given)
        self._maker.check_options()

    def gather(self, lake: Lake) -> Ready:
        """Refuse what would tell of few people, and gather all of them on all items."""
        refuse_table(lake, takes_likes=True)
        people = people_of(lake, int(self._maker.k))
        return Ready(people, lambda: self._make(lake, people))

    def _make(self, lake: Lake, people: SpreadPeople) -> Made:
        """Count; all else is learned when rows are to be written."""
        numbered, items = number_people(people), RatedItems.of(people)
        k = int(self._maker.k)
        self._maker.check_table(people.n_people, items.support)
        secret = numbered.secret(self._seed)
        kept = split_items(items.support, k)
        settings = self._maker.public_settings(lake.scale)
        step = settings.get("label_step", 1.0)

        def expect(layout: Layout, file_format: FileFormat) -> Expected:
            return expect_groups(
                lake,
                people.n_people,
                numbered.mean_length,
                "sparse",
                n_groups=max(1, people.n_people // k),
                width=float(items.support[np.concatenate(kept)].sum()) / people.n_people,
                step=step,
                layout=layout,
                file_format=file_format,
            )

        published = Published(
            claim=Claim(SPARSE.claim_of({}), k),
            items=lake.items,
            scale=lake.scale,
            settings=settings,
            n_users=people.n_people,
            prefix=prefix_of(people, np.random.default_rng([*secret, _PREFIX])),
            blocks=lambda: iter(()),
            default_layout="users",
            expect=expect,
        )
        learned = _Learned(people, numbered, items, kept, k, self._maker.crowd, secret)
        by = GroupsByExecutors(
            people,
            numbered,
            lambda: learned.crowds.classes,
            ClassRows(bare(published), step, k),
            rows_of=lambda: learned.rows(step),
        )
        release = Sides(published, Private(np.empty(0), Groups.of_nobody(), self._seed))

        def told() -> list[str]:
            return told_of_sparse(release, learned.held, items.support)

        return Made(release, by, told)


class _Learned:
    """What is learned of people for their rows, each thing once, when it is first asked for."""

    def __init__(
        self,
        people: SpreadPeople,
        numbered: NumberedPeople,
        items: RatedItems,
        kept: Kept,
        k: int,
        crowd: int,
        secret: tuple[int, ...],
    ) -> None:
        self._people, self._numbered = people, numbered
        self._items, self._kept = items, kept
        self._k, self._crowd, self._secret = k, crowd, secret
        self.held = np.zeros(items.support.size, np.int64)

    def _rng(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([*self._secret, stream])

    @cached_property
    def chosen(self) -> ChosenTastes:
        """By what people are gathered."""
        return learn_chosen(self._people, self._items.support, self._rng(_CHOSEN))

    @cached_property
    def known(self) -> TasteFactors | None:
        """What ratings are predicted from; nothing is predicted of likes."""
        if self._people.scale.unary:
            return None
        seed = int(self._rng(_FACTORS).integers(2**63))
        learned = learn_factors(self._people, self._numbered, self._items, seed)
        return refine_factors(self._people, self._items, learned)

    @cached_property
    def crowds(self) -> SpreadCrowds:
        """Who is near whom, and in which class."""
        return gather_crowds(
            self._people,
            self._numbered,
            self.chosen,
            self.known,
            self._kept,
            k=self._k,
            crowd=self._crowd,
            secret=self._secret,
        )

    def rows(self, step: float) -> "DataFrame":
        """Let executors draw the rows of all classes, and count in how many each item stands."""
        people, kept = self._people, self._kept
        rule = learn_rule(people, self.crowds, self.chosen, self.known, kept[0], self._secret)
        n_parts = parts_for(people.n_people)
        support = self._items.support
        drawn = draw_rows(self.crowds, rule, kept, support, people.scale, step, n_parts)
        self.held = count_people(people.keep(drawn), support.size)
        return drawn
