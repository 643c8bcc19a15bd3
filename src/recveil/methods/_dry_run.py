"""Estimate a release without making it."""

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from recveil.io import Reading
from recveil.methods._anonymize import prepare
from recveil.methods.earlier_releases import Earlier
from recveil.methods.size_estimates import Foreseen
from recveil.publish.size_estimate import format_bytes, reject_too_large
from recveil.publish.staging import leftovers
from recveil.ratings import Ratings
from recveil.release.method import Method
from recveil.release.sides import FileFormat, Layout
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.memory import machine_memory
from recveil.runtime.safe_repr import brief


@brief
class DryRun(NamedTuple):
    """The estimate of a release that was not made.

    Attributes
    ----------
    reading : Reading
        The input, and how it was interpreted.
    method : Method
    k : int or None
    foreseen : Foreseen or None
        None for a method without estimates.
    earlier : tuple of Earlier
        Earlier releases of the same users.
    doubt : str
        Why the run might be refused at the estimated size; empty if it would not.
    leftovers : tuple of str
        Files of interrupted runs next to the output, which the run removes first.
    """

    reading: Reading
    method: Method
    k: int | None
    foreseen: Foreseen | None
    earlier: tuple[Earlier, ...]
    doubt: str
    leftovers: tuple[str, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {"": self.method.name, "k": self.k, "people": self.reading.ratings.n_users}

    def sentences(self) -> list[str]:
        """Say what would be done, and what the numbers are estimated from.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from recveil.datasets import make_ratings
        >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
        >>> with TemporaryDirectory() as folder:
        ...     print(dry_run(ratings, Path(folder, "out"), k=5).sentences()[0])
        Would publish 50 users in at most 10 groups of at least 5 (predictive).
        """
        left = [
            f"A run that was cut short left {name}; the run first finishes or undoes what that "
            f"one had begun, or says why it cannot."
            for name in self.leftovers
        ]
        if self.foreseen is None:
            unknown = f"The method {self.method.name} tells what it takes only once it is at work."
            return [unknown, *left]
        told = [self._what(self.foreseen), *left]
        if self.foreseen.expected is not None:
            told.append(f"Expected: {self.foreseen.expected.sentence()}, on two cores.")
        most = machine_memory()
        beyond = "; take a larger machine, or fewer ratings" if self.foreseen.memory > most else ""
        told.append(
            f"Memory: about {format_bytes(self.foreseen.memory)}, of {format_bytes(most)} that "
            f"this process may have at most{beyond}."
        )
        told.append(f"Estimated: {'; '.join(self.foreseen.basis)}.")
        if self.doubt:
            told.append(f"If it comes so, the run would refuse: {self.doubt}.")
        return told

    def _what(self, foreseen: Foreseen) -> str:
        if foreseen.groups is None:
            return (
                f"Would publish about {describe_count(foreseen.people, 'synthetic user')}, and no "
                f"user's row ({self.method.name}); no noise was drawn, and no epsilon is spent."
            )
        least = f" of at least {self.k}" if self.k is not None else ""
        groups = "1 group" if foreseen.groups == 1 else f"{foreseen.groups:,} groups"
        return (
            f"Would publish {describe_count(foreseen.people, 'user')} in at most {groups}{least} "
            f"({self.method.name})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data, for JSON."""
        foreseen = self.foreseen
        return {
            "dry_run": True,
            "method": self.method.name,
            "k": self.k,
            "groups": foreseen and foreseen.groups,
            "people": foreseen and foreseen.people,
            "expected": foreseen and foreseen.expected and foreseen.expected.to_dict(),
            "memory": foreseen and foreseen.memory,
            "estimated_from": list(foreseen.basis) if foreseen else [],
            "might_be_refused": self.doubt,
            "leftovers": list(self.leftovers),
        }


def dry_run(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str],
    *,
    k: int | None = None,
    method: str | None = None,
    layout: Layout = "auto",
    file_format: FileFormat = "parquet",
    seed: int | None = None,
    hide_items: bool = False,
    force: bool = False,
    allow_large: bool = False,
    against: str | PathLike[str] | None = None,
    **options: Any,
) -> DryRun:
    """Estimate what `anonymize` would do with the same arguments, without grouping or writing.

    No random number is drawn, so no privacy budget is spent.

    Parameters
    ----------
    source, output, k, method, layout, file_format, seed, hide_items, force, allow_large, \
    against, **options
        See `anonymize`.

    Raises
    ------
    RecveilError
        As `anonymize`, for errors before the work. Later errors remain possible.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     found = dry_run(ratings, Path(folder, "out"), k=5)
    ...     found.foreseen.groups, found.foreseen.expected.labels, list(Path(folder).iterdir())
    (10, 290, [])
    """
    ready = prepare(
        source,
        output,
        k=k,
        method=method,
        layout=layout,
        file_format=file_format,
        seed=seed,
        hide_items=hide_items,
        force=force,
        allow_large=allow_large,
        against=against,
        tell=None,
        is_dry=True,
        **options,
    )
    ratings, maker = ready.ratings, ready.maker
    check = getattr(ready.anonymizer, "check", None)  # methods of somebody's own may have none
    if check is not None:
        check(ratings)
    foreseen = None
    if maker.foresee is not None:
        foreseen = maker.foresee(ratings, k, ready.given, layout, file_format)
        if ready.expected is not None:  # what the run says before its work
            foreseen = foreseen._replace(expected=ready.expected)
    doubt = _doubt(foreseen, Path(output).absolute().parent, layout, allow_large=allow_large)
    left = tuple(leftovers(Path(output)))
    return DryRun(ready.reading, maker.method, k, foreseen, ready.earlier, doubt, left)


def _doubt(foreseen: Foreseen | None, parent: Path, layout: Layout, *, allow_large: bool) -> str:
    """Return why a run of the estimated size might be refused; the run checks more."""
    if foreseen is None or foreseen.expected is None:
        return ""
    try:
        reject_too_large(foreseen.expected, parent, layout, allow_large=allow_large)
    except RecveilError as refused:
        return str(refused)
    return ""
