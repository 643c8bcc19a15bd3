"""Results of a comparison, with JSON and Parquet output."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from recveil.comparison.cells import TABLE
from recveil.comparison.choice import Choice, cheapest, frontier, warnings_of
from recveil.comparison.measures import MEASURES
from recveil.comparison.risk_axes import PERSON, axis_named
from recveil.comparison.rows import Row
from recveil.comparison.utility import Share, Worth, judges_lists, shares_of
from recveil.io import Reading
from recveil.ratings import Ratings
from recveil.ratings.feedback import meaning_of_words
from recveil.release.registry import variant_of
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import Grid, brief

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


class Reference(TypedDict):
    """Utility of the raw training ratings and of averages, as in an evaluation's JSON.

    ``raw``, ``averages`` and ``popularity`` (lists of popular items) have ``rmse``, ``mae``,
    ``ndcg@10`` and ``recall@10``; the lists of ``raw`` are those of its ``ranker``, the best one.
    ``raw_gain`` and ``raw_lists`` are the utility to retain, and whether shares of it can be
    reported.
    """

    raw: dict[str, Any]
    averages: dict[str, Any]
    popularity: dict[str, Any]
    raw_gain: dict[str, Any]
    raw_lists: dict[str, Any]


_OF_LIKES = (
    "These are likes: there are no ratings to be kept, and no error is told; settings are chosen "
    "by lists. Where ratings are spoken of, likes are meant."
)
_OF_WORDS = (
    "These are words without an order, and a word is told rightly or not: where ratings are spoken "
    "of, words are meant, where averages are, each item's commonest word, and where likes are, an "
    "item with the very word that somebody gave."
)
_NO_LISTS = (
    "Lists are not judged, as nobody said which words count as liked (--liked): settings are "
    "chosen by words alone."
)


@brief
@dataclass(frozen=True)
class Comparison:
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
    worth : {"both", "ratings", "lists"}
    risk : {"person", "group", "membership", "links", "shadows"}
        The question.
    unfinished : int
        Number of settings missing because the run was stopped.
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
    worth: Worth = "both"
    risk: str = PERSON.name
    unfinished: int = 0

    @property
    def ratings(self) -> Ratings:
        """All ratings of the comparison."""
        return self.reading.ratings

    def choice(self) -> Choice:
        """Return the answer to the question."""
        return cheapest(self.rows, self.max_risk, self.min_k, self.worth, self.risk)

    def ladder(self) -> list[Choice]:
        """Return the answers for some usual risks, with the requested minimum k."""
        return [
            cheapest(self.rows, limit, self.min_k, self.worth, self.risk)
            for limit in axis_named(self.risk).ladder
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for JSON and the HTML page."""
        ratings = self.ratings
        names = dict.fromkeys(row.method for row in self.rows)
        asked = self.max_risk is not None or self.min_k is not None
        return {
            "data": {
                "source": self.reading.name,
                "users": ratings.n_users,
                "items": ratings.n_items,
                "ratings": ratings.n_ratings,
                "density": ratings.density,
                "scale": str(ratings.scale),
                **ratings.scale.words_told(),
                **self.reading.to_dict(),
            },
            "settings": {
                "split": self.split,
                "seed": self.seed,
                "targets": self.targets,
                "worth": self.worth,
                "risk": self.risk,
            },
            "methods": {
                name: {
                    "description": variant_of(name).description,
                    "promise": variant_of(name).about_claim.promise,
                    "meaning": variant_of(name).about_claim.meaning,
                }
                for name in names
            },
            "reference": self.reference,
            "warnings": [
                *self._left(),
                *([_OF_LIKES] if ratings.is_unary else []),
                *self._of_words(),
                *meaning_of_words(ratings.scale),
                *self.reading.notes,
                *warnings_of(self.rows, axis_named(self.risk)),
            ],
            "answer": _plain(self.choice()) if asked else None,
            "ladder": [_plain(choice) for choice in self.ladder()],
            "frontier": [row.title for row in frontier(self.rows, self.worth, self.risk)],
            "rows": [
                row._asdict() | {"title": row.title, "kept": _shares(row)} for row in self.rows
            ],
        }

    def _left(self) -> list[str]:
        """Return a note if settings are missing because the run was stopped."""
        if not self.unfinished:
            return []
        return [
            f"This comparison was stopped: {self.unfinished:,} of its settings are not in it; run "
            f"it again to go on."
        ]

    def _of_words(self) -> list[str]:
        """Explain the terms of a comparison of nominal labels."""
        if self.ratings.scale.ordered:
            return []
        judged = any(judges_lists(row) for row in self.rows if row.problem is None)
        return [_OF_WORDS, *([] if judged else [_NO_LISTS])]

    def to_table(self) -> pa.Table:
        """Return one row per setting, with a column for each value of `Row`."""
        schema = pa.schema([(name, _TYPES[kind]) for name, kind in _kinds().items()])
        return pa.Table.from_pylist([row._asdict() for row in self.rows], schema=schema)

    def write_table(self, out: Path) -> None:
        """Write the Parquet table into the comparison's folder."""
        table = self.to_table()
        write_atomically(out / TABLE, lambda path: pq.write_table(table, path))

    def _facts(self) -> dict[str, object]:
        return {
            "people": self.ratings.n_users,
            "ratings": self.ratings.n_ratings,
            "settings": len(self.rows),
            "without result": sum(row.problem is not None for row in self.rows) or None,
        }

    def chart(self, upward: str = "lists") -> Any:
        """Return an Altair chart of retained utility against risk, as on the comparison's page.

        Parameters
        ----------
        upward : {"lists", "ratings"}

        Returns
        -------
        altair.LayerChart

        Raises
        ------
        RecveilError
            If there is no such chart, or it has no data.
        """
        from recveil.comparison.frontier_chart import draw_frontier, utilities_of  # altair is slow

        plain = self.to_dict()
        utilities = {utility.name: utility for utility in utilities_of(plain["rows"])}
        if upward not in utilities:
            raise RecveilError(
                f"chart {quoted(upward)}: expected one of {', '.join(utilities)}",
                code="argument.value",
            )
        chosen = plain["answer"] and plain["answer"]["row"]
        drawn = draw_frontier(plain["rows"], utilities[upward], chosen, axis_named(self.risk))
        if drawn is None:
            raise RecveilError(
                f"chart {quoted(upward)}: no setting has a risk and a share of {upward} that can "
                f"be told; compare other settings",
                code="argument.value",
            )
        return drawn[0].with_key()

    def _tables(self) -> list[Grid]:
        """Return a notebook's table of risk and utility, with the frontier first."""
        axis = axis_named(self.risk)
        best = {row.title for row in frontier(self.rows, self.worth, self.risk)}
        rows: list[tuple[str, ...]] = []
        for row in sorted(self.rows, key=lambda row: row.title not in best):
            kept, found = shares_of(row), axis.of(row)
            risk = "–" if found is None else f"{found:.1%} ({axis.ends(row)})"
            rows.append((row.title, risk, _in_words(kept.lists), _in_words(kept.ratings)))
        title = f"risk: share {axis.limit}; kept: of what the raw data serve"
        return [Grid(title, ("setting", "risk", "lists kept", "ratings kept"), rows)]


def _kinds() -> dict[str, type]:
    """Return the type of each column."""
    setting = {"method": str, "k": int, "promise": str, "problem": str}
    return setting | {name: measure.kind for name, measure in MEASURES.items()}


def _plain(choice: Choice) -> dict[str, Any]:
    return choice._asdict() | {"row": choice.row and choice.row.title}


def _in_words(share: Share | None) -> str:
    """Format a retained share with its interval; a dash if it is not reported."""
    if share is None or not share.is_told:
        return "–"
    if share.low is None or share.high is None:
        return f"{share.value:.0%}"
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def _shares(row: Row) -> dict[str, Any]:
    """Return the retained shares of ratings and of lists; None where not reported."""
    return {name: share and share._asdict() for name, share in shares_of(row)._asdict().items()}
