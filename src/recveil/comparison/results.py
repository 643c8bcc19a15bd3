"""Results of a comparison, with their Parquet table; `recveil.report.comparison` describes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from recveil.comparison.cells import TABLE
from recveil.comparison.choice import (
    REIDENTIFICATION,
    Axis,
    Choice,
    axis_named,
    choose_setting,
    frontier,
)
from recveil.comparison.measures import MEASURES
from recveil.comparison.rows import Purpose, Row
from recveil.io import Reading
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import import_optional
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.reportable import WithPage, reporter_of
from recveil.runtime.safe_repr import brief

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


class Reference(TypedDict):
    """Utility of the raw training ratings and of averages, as in an evaluation's JSON.

    ``raw``, ``averages`` and ``popularity`` (lists of popular items) have ``rmse``, ``mae``,
    ``ndcg@10`` and ``recall@10``; the lists of ``raw`` are those of its ``ranker``, the best one.
    ``raw_gain`` and ``raw_lists`` are the utility to retain, and whether shares of it can be
    reported.
    """

    raw: Mapping[str, object]
    averages: Mapping[str, object]
    popularity: Mapping[str, object]
    raw_gain: Mapping[str, object]
    raw_lists: Mapping[str, object]


@brief
@dataclass(frozen=True)
class Comparison(WithPage):
    """Utility and risk of each setting.

    It names no user, but describes their ratings: keep it private.

    Parameters
    ----------
    reading : Reading
        All ratings, and how the table was read; releases were made from the training part.
    split : float
        The share of ratings held out.
    seed, targets : int
        The same for all settings.
    rows : list of Row
        In the order of the requested methods and ks.
    computed : int
        Number of settings computed in this run; the others were finished before.
    reference : Reference or None
        Utility of the raw training ratings and of averages; None if no setting has a result.
    max_risk : float or None
    min_k : int or None
    utility : {"both", "ratings", "lists"}
    risk : {"reidentification", "class", "membership", "links", "shadows", "attribute"}
        The question.
    unfinished : int
        Number of settings missing because the run was stopped.
    divisions : dict of str to list
        By the title of a setting, utility by group, as in an evaluation's JSON.
    """

    reading: Reading
    split: float
    seed: int
    targets: int
    rows: list[Row]
    computed: int
    reference: Reference | None
    max_risk: float | None = None
    min_k: int | None = None
    utility: Purpose = "both"
    risk: str = REIDENTIFICATION.name
    unfinished: int = 0
    divisions: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def ratings(self) -> Ratings:
        """All ratings of the comparison."""
        return self.reading.ratings

    @property
    def axis(self) -> Axis:
        """The risk of the question."""
        return axis_named(self.risk)

    @property
    def has_question(self) -> bool:
        """Whether a limit was set."""
        return self.max_risk is not None or self.min_k is not None

    def choice(self) -> Choice:
        """Return the answer to the question; an unfinished comparison has none."""
        return self._choose(self.max_risk)

    def ladder(self) -> list[Choice]:
        """Return the answers for some usual risks, with the requested minimum k."""
        return [self._choose(limit) for limit in self.axis.ladder]

    def _choose(self, max_risk: float | None) -> Choice:
        question = max_risk, self.min_k, self.utility, self.risk
        return choose_setting(self.rows, *question, self.unfinished)

    def frontier(self) -> list[Row]:
        """Return the settings on the Pareto frontier of risk and utility, the safest first."""
        return frontier(self.rows, self.utility, self.risk)

    def summary(self) -> str:
        """Return the answer to the question, or to a default one, and what limits it."""
        return str(reporter_of(self).summary(self))

    def to_table(self) -> pa.Table:
        """Return one row per setting, with a column for each value of `Row`."""
        kinds: dict[str, type] = {"method": str, "k": int, "promise": str, "problem": str}
        kinds |= {name: measure.kind for name, measure in MEASURES.items()}
        schema = pa.schema([(name, _TYPES[kind]) for name, kind in kinds.items()])
        return pa.Table.from_pylist([row._asdict() for row in self.rows], schema=schema)

    def to_pandas(self) -> Any:
        """Return `to_table` as a pandas data frame; pandas must be installed."""
        import_optional("pandas")
        return self.to_table().to_pandas()

    def write_table(self, out: Path) -> None:
        """Write the Parquet table into the comparison's folder."""
        table = self.to_table()
        write_atomically(out / TABLE, lambda path: pq.write_table(table, path))
