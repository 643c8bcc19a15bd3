"""Drawn crowds: who is drawn by a rule, from one stream, or in crowds that machines share out."""

import math
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from recveil.anonymize.synthetic.likes_model import LikesModel
from recveil.anonymize.synthetic.people_model import PeopleModel
from recveil.brief import brief
from recveil.release.records import Records

# A crowd has so many people at least, and there are at most so many crowds: each becomes a file.
_A_CROWD, _MOST_CROWDS = 1 << 14, 1 << 12


@brief
class DrawnPeople(NamedTuple):
    """People who are drawn by a rule from one stream.

    Attributes
    ----------
    model : PeopleModel or LikesModel
    n_people : int
    drawing : int
        Fixes who they are.
    whole : bool
        Labels are levels of the scale, and not tenths of a step.

    Examples
    --------
    >>> rule = LikesModel(np.zeros(3, np.float32), np.zeros((3, 1), np.float32), np.full(2, 2.0))
    >>> drawn = DrawnPeople(rule, 40, 7, whole=False)
    >>> sum(len(block) for block in drawn.blocks())
    40
    """

    model: PeopleModel | LikesModel
    n_people: int
    drawing: int
    whole: bool

    def blocks(self) -> Iterator[Records]:
        """Draw all of them, block by block."""
        return self.drawn(self.n_people, np.random.default_rng(self.drawing))

    def drawn(self, n_people: int, by: np.random.Generator) -> Iterator[Records]:
        """Draw so many, from any stream."""
        if isinstance(self.model, LikesModel):
            return self.model.draw(n_people, by)
        return self.model.draw(n_people, by, whole=self.whole)

    def _facts(self) -> dict[str, object]:
        return {"people": self.n_people}


@brief
class DrawnCrowds(NamedTuple):
    """The same in crowds, each from a stream of its own: whoever draws which, they are the same.

    Attributes
    ----------
    people : DrawnPeople
        By which rule, how many, and what fixes them.
    size : int
        How many there are in a crowd; in the last, what is left.

    Examples
    --------
    >>> rule = LikesModel(np.zeros(3, np.float32), np.zeros((3, 1), np.float32), np.full(2, 2.0))
    >>> crowds = DrawnCrowds.of(DrawnPeople(rule, 20_000, 7, whole=False))
    >>> crowds.n_crowds, crowds.first_of(1)
    (2, 16384)
    >>> sum(len(block) for block in crowds.crowd(1))
    3616
    """

    people: DrawnPeople
    size: int

    @classmethod
    def of(cls, people: DrawnPeople) -> Self:
        """Divide people into crowds."""
        return cls(people, max(_A_CROWD, math.ceil(people.n_people / _MOST_CROWDS)))

    @property
    def n_crowds(self) -> int:
        """How many crowds there are."""
        return math.ceil(self.people.n_people / self.size)

    @property
    def n_people(self) -> int:
        """How many people there are in all of them."""
        return self.people.n_people

    @property
    def whole(self) -> bool:
        """Whether labels are levels of the scale."""
        return self.people.whole

    def first_of(self, crowd: int) -> int:
        """Return how many people are in the crowds before one."""
        return min(crowd * self.size, self.n_people)

    def crowd(self, number: int) -> Iterator[Records]:
        """Draw the people of one crowd, block by block."""
        n_people = self.first_of(number + 1) - self.first_of(number)
        return self.people.drawn(n_people, np.random.default_rng([self.people.drawing, number]))

    def blocks(self) -> Iterator[Records]:
        """Draw all of them, crowd after crowd."""
        for number in range(self.n_crowds):
            yield from self.crowd(number)

    def _facts(self) -> dict[str, object]:
        return {"people": self.n_people, "crowds": self.n_crowds}
