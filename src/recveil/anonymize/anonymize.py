"""anonymize: from a file of ratings to a verified release, in one call."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.folder import check_target
from recveil.anonymize.k_corating import KCoRater, Protect
from recveil.anonymize.predictive import Homogenize, PredictiveAnonymizer
from recveil.anonymize.release import FileFormat, Layout, Release
from recveil.errors import RecveilError
from recveil.io import read_levels, read_ratings
from recveil.ratings import Ratings
from recveil.ratings.levels import levels_by_rule

if TYPE_CHECKING:
    from recveil.verify import Verification

Method = Literal["predictive", "k-corating"]


class Anonymized(NamedTuple):
    """What was read, what was made of it, and what the checker says of the written files."""

    ratings: Ratings
    release: Release
    verification: "Verification"


def anonymize(
    source: str | PathLike[str],
    output: str | PathLike[str],
    *,
    k: int,
    method: Method = "predictive",
    homogenize: Homogenize = "padded",
    predictor: str = "funk-svd",
    grouping: str | None = None,
    round_labels: str | float = "tenth",
    fill: str = "item-mean",
    round_fills: bool = True,
    protect: Protect = "none",
    privacy_levels: str | PathLike[str] | None = None,
    b: int = 1,
    l: int = 1,  # noqa: E741
    layout: Layout = "auto",
    file_format: FileFormat = "parquet",
    seed: int | None = None,
    force: bool = False,
    **reading: Any,
) -> Anonymized:
    r"""Read a file of ratings and write a release of it that is verified to keep its claim.

    Parameters
    ----------
    source : path
        The ratings, in any format that `recveil.io` reads.
    output : path
        The folder to be published; its private twin is `output` + ".private".
    method : {"predictive", "k-corating"}
        `PredictiveAnonymizer` or `KCoRater`.
    k, homogenize, predictor, grouping, round_labels, b, l, seed
        See `PredictiveAnonymizer`; `homogenize`, `predictor`, `round_labels`, `b` and `l` are of
        that method alone.
    fill, round_fills, protect
        See `KCoRater`; of that method alone.
    privacy_levels : path or str, optional
        A file with the columns user_id and k, in which users who are missing have the level `k`;
        or a rule for `levels_by_rule`.
    layout, file_format, force
        See `Release.write`.
    **reading
        Passed to `read_ratings`: format, scale, duplicates, and names of columns.

    Raises
    ------
    RecveilError
        If the source cannot be read, a setting makes no sense, or the output cannot be written.
        Nothing is written then.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     source, output = Path(folder, "ratings.csv"), Path(folder, "release")
    ...     rows = "1,8,5 1,9,4 2,8,5 3,9,1 4,9,1 4,8,2 5,8,4 6,9,2".split()
    ...     _ = source.write_text("\n".join(["user,item,rating", *rows]))
    ...     anonymize(source, output, k=3, seed=1).verification.k_achieved
    3
    """
    _check_method(method, privacy_levels, b, l)
    check_target(output, force=force)  # a mistyped output should not cost the work
    if Path(output).resolve() in Path(source).resolve().parents:
        raise RecveilError(f"{source} stands in the output {output}; choose another output")
    # The published rows carry no times, so that bad ones need not stop anybody.
    ratings = read_ratings(source, times=False, **reading)
    anonymizer: PredictiveAnonymizer | KCoRater
    if method == "k-corating":
        anonymizer = KCoRater(
            k, fill, grouping or "gecom", round_fills=round_fills, protect=protect, seed=seed
        )
    else:
        levels = None if privacy_levels is None else _levels(ratings, privacy_levels, k)
        anonymizer = PredictiveAnonymizer(
            k,
            homogenize,
            predictor,
            grouping,
            round_labels=round_labels,
            privacy_levels=levels,
            b=b,
            l=l,
            seed=seed,
        )
    release = anonymizer.anonymize(ratings)
    verification = release.write(output, layout=layout, file_format=file_format, force=force)
    return Anonymized(ratings, release, verification)


def _levels(ratings: Ratings, given: str | PathLike[str], default: int) -> NDArray[np.int64]:
    """Read levels from a file, or work a rule out; a name with a colon or of digits is a rule."""
    is_rule = isinstance(given, str) and (":" in given or given.strip().isdigit())
    if isinstance(given, str) and is_rule and not Path(given).is_file():
        return levels_by_rule(ratings, given)
    return read_levels(given, ratings.users, default)


def _check_method(method: str, privacy_levels: object, b: int, l: int) -> None:  # noqa: E741
    """Refuse what a method cannot promise, before the work begins."""
    if method not in get_args(Method):
        raise RecveilError(f"method {method!r}: expected one of {', '.join(get_args(Method))}")
    if method == "k-corating" and (privacy_levels is not None or b != 1 or l != 1):
        raise RecveilError(
            "k-coRating knows neither privacy levels nor diversity; leave them out, or take the "
            "method predictive"
        )
