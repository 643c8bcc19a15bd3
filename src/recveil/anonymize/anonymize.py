"""anonymize: from a file of ratings to a verified release, in one call."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recveil.anonymize.folder import check_target
from recveil.anonymize.predictive import Homogenize, PredictiveAnonymizer
from recveil.anonymize.release import FileFormat, Layout, Release
from recveil.errors import RecveilError
from recveil.io import read_ratings
from recveil.ratings import Ratings

if TYPE_CHECKING:
    from recveil.verify import Verification


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
    homogenize: Homogenize = "padded",
    predictor: str = "funk-svd",
    grouping: str = "bisecting",
    round_labels: str | float = "tenth",
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
    k, homogenize, predictor, grouping, round_labels, seed
        See `PredictiveAnonymizer`.
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
    anonymizer = PredictiveAnonymizer(
        k, homogenize, predictor, grouping, round_labels=round_labels, seed=seed
    )
    check_target(output, force=force)  # a mistyped output should not cost the work
    if Path(output).resolve() in Path(source).resolve().parents:
        raise RecveilError(f"{source} stands in the output {output}; choose another output")
    # The published rows carry no times, so that bad ones need not stop anybody.
    ratings = read_ratings(source, times=False, **reading)
    release = anonymizer.anonymize(ratings)
    verification = release.write(output, layout=layout, file_format=file_format, force=force)
    return Anonymized(ratings, release, verification)
