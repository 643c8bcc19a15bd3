"""Estimate a release without making it."""

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from recveil.io import Reading
from recveil.methods._anonymize import check_size, prepare
from recveil.methods.earlier_releases import Earlier
from recveil.methods.request import AnonymizeOptions, AnonymizeRequest
from recveil.methods.size_estimates import Foreseen
from recveil.publish.size_estimate import format_bytes
from recveil.publish.staging import leftovers
from recveil.ratings import Ratings
from recveil.release.method import Method
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
        """Describe what would be done, and the basis of the estimates.

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
            f"An interrupted run left {name}; the run first completes or reverts that, or reports "
            f"why it cannot."
            for name in self.leftovers
        ]
        if self.foreseen is None:
            return [f"The method {self.method.name} has no estimate before the work.", *left]
        sentences = [self._what(self.foreseen), *left]
        if self.foreseen.expected is not None:
            sentences.append(f"Expected: {self.foreseen.expected.sentence()}, on two cores.")
        most = machine_memory()
        beyond = "; use a larger machine, or fewer ratings" if self.foreseen.memory > most else ""
        sentences.append(
            f"Memory: about {format_bytes(self.foreseen.memory)} of the {format_bytes(most)} that "
            f"this process may use{beyond}."
        )
        sentences.append(f"Estimated: {'; '.join(self.foreseen.basis)}.")
        if self.doubt:
            sentences.append(f"With this estimate, the run would fail: {self.doubt}.")
        return sentences

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
    **options: Unpack[AnonymizeOptions],
) -> DryRun:
    """Estimate what `anonymize` would do with the same arguments, without grouping or writing.

    No random number is drawn, so no privacy budget is spent.

    Parameters
    ----------
    source, output, **options
        All keywords of `anonymize` but `on_estimate`.

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
    request = AnonymizeRequest.of(source, output, **options)
    ready = prepare(request, is_dry=True)
    ratings, maker = ready.ratings, ready.maker
    check = getattr(ready.anonymizer, "check", None)  # custom methods may have none
    if check is not None:
        check(ratings)
    foreseen = None
    if maker.foresee is not None:
        foreseen = maker.foresee(
            ratings, request.k, ready.options, request.layout, request.file_format
        )
        if ready.expected is not None:  # the estimate that the run reports before its work
            foreseen = foreseen._replace(expected=ready.expected)
    left = tuple(leftovers(Path(output)))
    doubt = _doubt(foreseen, request)
    return DryRun(ready.reading, maker.method, request.k, foreseen, ready.earlier, doubt, left)


def _doubt(foreseen: Foreseen | None, request: AnonymizeRequest) -> str:
    """Return why a run of the estimated size might be rejected; the run checks more."""
    if foreseen is None or foreseen.expected is None:
        return ""
    try:
        check_size(request, foreseen.expected)
    except RecveilError as error:
        return str(error)
    return ""
