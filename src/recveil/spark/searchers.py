"""Searchers: executors that look for people, each for some of them, in one table."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attack import Candidates
from recveil.attack.candidates import Work
from recveil.attack.sought import Sought
from recveil.brief import brief

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession

# Targets that one task looks for, at most; and tasks a core, so that no core waits for long.
_TARGETS_OF_A_TASK = 256
_TASKS_A_CORE = 2

Found = tuple[NDArray[Any], ...]


class Searchers:
    """Executors that hold the lists of one table at a time, and look for people in it.

    Parameters
    ----------
    spark : SparkSession
    """

    def __init__(self, spark: "SparkSession") -> None:
        self._context = spark.sparkContext
        self._held: Candidates | None = None
        self._index: Broadcast[Candidates] | None = None

    def look(self, candidates: Candidates, work: Work, sought: Sought) -> Found:
        """Let executors look for all who are sought; what they find is that of one machine."""
        index = self._sent(candidates)
        sent = self._context.broadcast((work, sought))
        cuts = cut_evenly(sought.own.size, self._context.defaultParallelism)
        try:
            tasks = self._context.parallelize(cuts, len(cuts))
            return put_together(tasks.map(partial(_look, index=index, sent=sent)).collect())
        finally:
            sent.destroy()

    def _sent(self, candidates: Candidates) -> "Broadcast[Candidates]":
        """Send executors a table, unless they hold it."""
        if self._index is None or candidates is not self._held:
            self.close()
            bare = {field.name: getattr(candidates, field.name) for field in fields(Candidates)}
            self._index = self._context.broadcast(Candidates(**bare))
            self._held = candidates
        return self._index

    def close(self) -> None:
        """Let executors forget what they hold."""
        if self._index is not None:
            self._index.destroy()
        self._index, self._held = None, None


@brief
@dataclass(frozen=True, eq=False)
class SpreadCandidates(Candidates):
    """Candidates among which executors look for people.

    Parameters
    ----------
    indptr, records, codes, levels, days, sizes, activity
        See `Candidates`.
    searchers : Searchers
    """

    searchers: Searchers

    @classmethod
    def of(cls, candidates: Candidates, searchers: Searchers) -> Self:
        """Return the same candidates, among which executors look."""
        bare = {field.name: getattr(candidates, field.name) for field in fields(Candidates)}
        return cls(**bare, searchers=searchers)

    def look(self, work: Work, sought: Sought, threads: int) -> Found:
        """Let executors do it, one thread a task."""
        del threads
        return self.searchers.look(self, work, sought)


def cut_evenly(n_targets: int, cores: int) -> list[tuple[int, int]]:
    """Cut those sought into parts for tasks: from which target to before which other.

    Examples
    --------
    >>> cut_evenly(10, cores=2)
    [(0, 3), (3, 6), (6, 9), (9, 10)]
    >>> cut_evenly(0, cores=2)  # nobody is looked for, but what is found has its shape
    [(0, 0)]
    """
    size = min(_TARGETS_OF_A_TASK, -(-n_targets // (_TASKS_A_CORE * cores))) or 1
    return [(at, min(at + size, n_targets)) for at in range(0, n_targets, size)] or [(0, 0)]


def put_together(found: list[Found]) -> Found:
    """Put what tasks found together, in the order of targets."""
    return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))


def _look(cut: tuple[int, int], index: "Broadcast[Candidates]", sent: Any) -> Found:
    """Look for some targets, in an executor."""
    found: tuple[Callable[..., Found], Sought] = sent.value
    work, sought = found
    return tuple(work(index.value, sought.part(*cut), 1))
