"""Estimate a release without making it."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from recveil.io import Reading
from recveil.methods._anonymize import AnonymizeOptions, AnonymizeRequest, check_size, prepare
from recveil.methods.earlier_releases import Earlier
from recveil.methods.size_estimates import Foreseen
from recveil.publish.staging import leftovers
from recveil.ratings import Ratings
from recveil.release.method import Method
from recveil.runtime.errors import RecveilError
from recveil.runtime.reportable import Described
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class DryRun(Described):
    """The estimate of a release that was not made.

    Attributes
    ----------
    output : Path
        The folder that the run would write.
    reading : Reading
        The input, and how it was interpreted.
    method : Method
    k : int or None
    foreseen : Foreseen or None
        None for a method without estimates.
    earlier : tuple of Earlier
        Earlier releases of the same users.
    rejection : str
        Why the run would fail at the estimated size; empty if it would not.
    leftovers : tuple of str
        Files of interrupted runs next to the output, which the run removes first.
    """

    output: Path
    reading: Reading
    method: Method
    k: int | None
    foreseen: Foreseen | None
    earlier: tuple[Earlier, ...]
    rejection: str
    leftovers: tuple[str, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {"": self.method.name, "k": self.k, "users": self.reading.ratings.n_users}


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
    ...     estimate = dry_run(ratings, Path(folder, "out"), k=5)
    ...     estimate.foreseen.groups, estimate.foreseen.expected.n_values
    (10, 290)
    >>> estimate.sentences()[0]
    'Would publish 50 users in at most 10 groups of at least 5 (predictive).'
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
    return DryRun(
        output=Path(output),
        reading=ready.reading,
        method=maker.method,
        k=request.k,
        foreseen=foreseen,
        earlier=ready.earlier,
        rejection=_rejection(foreseen, request),
        leftovers=tuple(leftovers(Path(output))),
    )


def _rejection(foreseen: Foreseen | None, request: AnonymizeRequest) -> str:
    """Return why a run of the estimated size might be rejected; the run checks more."""
    if foreseen is None or foreseen.expected is None:
        return ""
    try:
        check_size(request, foreseen.expected)
    except RecveilError as error:
        return str(error)
    return ""
