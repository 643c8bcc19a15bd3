"""Estimates of releases that are not made."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from recveil.io import Reading
from recveil.methods._anonymize import AnonymizeOptions, AnonymizeRequest, check_size, prepare
from recveil.methods.earlier_releases import Earlier
from recveil.methods.size_estimates import Foreseen
from recveil.publish.privacy_ledger import PrivacyTotal
from recveil.publish.staging import leftovers
from recveil.ratings import Ratings
from recveil.release.coverage import Coverage, reject_nearly_empty
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
    total : PrivacyTotal or None
        What all recorded runs on these users and this one would spend; None without an epsilon.
    rejection : str
        Why the run would fail at the estimated size; empty if it would not.
    leftovers : tuple of str
        Files of interrupted runs next to the output, which the run removes first.
    may_be_rejected : bool
        Whether the run may find the release nearly empty, which depends on what it draws.
    """

    output: Path
    reading: Reading
    method: Method
    k: int | None
    foreseen: Foreseen | None
    earlier: tuple[Earlier, ...]
    rejection: str
    leftovers: tuple[str, ...] = ()
    total: PrivacyTotal | None = None
    may_be_rejected: bool = False
    # Whether it would follow another release, whose series `earlier` leaves out
    is_continued: bool = False

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
        All keywords of `anonymize` but `on_estimate` and `on_total`.

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
    (10, 389)
    >>> estimate.sentences()[0]
    'Would publish 50 users in at most 10 groups of at least 5 (sparse).'
    """
    request = AnonymizeRequest.of(source, output, **options)
    ready = prepare(request, is_dry=True)
    ratings, maker = ready.ratings, ready.maker
    foreseen = None
    if maker.foresee is not None:
        foreseen = maker.foresee(
            ratings, request.k, ready.options, request.layout, request.file_format
        )
        if ready.expected is not None:  # the estimate that the run reports before its work
            foreseen = foreseen._replace(expected=ready.expected)
        if request.previous is not None:
            groups, n_users = ready.options["previous"].count_rows(ratings, request.k or 0)
            foreseen = foreseen._replace(groups=groups, n_users=n_users)
    rejection, coverage = (
        _rejection(foreseen, request, ratings.is_unary),
        foreseen and _decisive(foreseen),
    )
    is_checked = coverage is not None and not (rejection or request.allow_sparse_coverage)
    return DryRun(
        output=Path(output),
        reading=ready.reading,
        method=maker.method,
        k=request.k,
        foreseen=foreseen,
        earlier=ready.earlier,
        rejection=rejection,
        may_be_rejected=bool(is_checked and coverage and coverage.may_be_nearly_empty),
        total=ready.total,
        leftovers=tuple(leftovers(Path(output))),
        is_continued=request.previous is not None,
    )


def _rejection(foreseen: Foreseen | None, request: AnonymizeRequest, likes: bool) -> str:
    """Return why a run of the estimated size might be rejected; the run checks more."""
    if foreseen is None:
        return ""
    try:
        if foreseen.expected is not None:
            check_size(request, foreseen.expected)
        if not request.allow_sparse_coverage:
            is_noisy = foreseen.noisy_coverage is not None
            reject_nearly_empty(
                _decisive(foreseen), is_estimate=True, is_noisy=is_noisy, likes=likes
            )
    except RecveilError as error:
        return str(error)
    return foreseen.rejection


def _decisive(foreseen: Foreseen) -> Coverage | None:
    return foreseen.noisy_coverage or foreseen.coverage
