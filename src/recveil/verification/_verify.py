"""Verification of a release, a file or a table in memory."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import Any

from recveil.io import read_ratings, spooled
from recveil.io.columns.frames import is_frame
from recveil.io.inputs import path_of
from recveil.io.options import layout_of, reject_given
from recveil.io.part_files import parts_of
from recveil.io.pipes import require_path
from recveil.io.source import as_text
from recveil.ratings import Ratings
from recveil.release.claim import published_claims
from recveil.release.manifest import MANIFEST
from recveil.release.manifest_reader import known_manifest
from recveil.release.private_folder import is_made_of
from recveil.runtime.errors import RecveilError
from recveil.verification.private_data import read_private_side
from recveil.verification.release_folder import check_release, has_limited_means
from recveil.verification.results import Verification
from recveil.verification.table import check_table

_DEFAULT = "identical-rows"


def verify(
    path: str | PathLike[str] | Ratings | Any,
    *,
    k: int | None = None,
    b: int | None = None,
    l: int | None = None,  # noqa: E741
    claim: str | None = None,
    links: bool = False,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    private: str | PathLike[str] | None = None,
    time: str | int | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    wide: bool = False,
    null: str | float | None = None,
    against: str | PathLike[str] | None = None,
    ratings: Ratings | str | PathLike[str] | Any = None,
    duplicates: str | None = None,
) -> Verification:
    r"""Check that each user shares their published row with at least k - 1 others.

    Parameters
    ----------
    path : path, Release, data frame, matrix or Ratings
        A release folder or a release in memory, whose own claim, counts and checksums are checked;
        or any file of ratings that `recveil.io` can read, also as ``file:///data/release``, but no
        database; a pipe, or "-" for standard input; or a table in memory, checked as if it were
        published.
    k : int, optional
        Minimum number of users per row. A release states its own; a file needs it. In a release
        with privacy levels, each row also states its own minimum.
    b, l : int, optional
        Each set of b items (1 to 3) in a row must occur in at least l different rows. A release
        states its own; the defaults for a file are 1 and 1, which require nothing.
    claim : {"identical-rows", "co-rated"}, optional
        What to check. A release states its own; identical rows for a file.
    links : bool
        Whether to compute, from the published rows alone, the probability that a member of a
        group rated an item of its row (Chang et al., Theorems 6.2 and 6.3).
    user, item, rating, time : str, optional
        Names or positions of these columns of a file or table, as for `read`. A file
        without a header needs `user` and `item`, unless its format fixes the order.
    private : path, optional
        The private folder of a release; the release is also searched for its values. Only the
        publisher has it.
    format, delimiter, wide, null : optional
        How a file is written, as for `read`.
    against : path, optional
        The published folder of the release that this one follows (`previous` of `anonymize`), which
        is verified, too. Each of its classes must be part of one class here, with as many rows; all
        other rows of a class must be at least k. If this holds for each two successive releases of
        a series, at least k users have the same rows in every set of its releases. With `private`,
        and the private folder of that release next to it, each user must be in the class that
        continues theirs.
    ratings : Ratings, path or data frame, optional
        With `private`: the table that a release with `diversity` or `closeness` of means was made
        from. The ratings behind each published mean are counted. The options on columns and the
        file's layout are then of this table.
    duplicates : {"error", "last", "mean"}, optional
        With `ratings`: which of several ratings of one user and item counts, as for `read`.

    Returns
    -------
    Verification
        The verdict, the k that is achieved, and every row that violates the claim.

    Raises
    ------
    RecveilError
        If the path cannot be read as either; if k is missing or below 1; if the private folder
        cannot be read or belongs to another release; or if that was made from other ratings.

    Notes
    -----
    Claim `co-rated` is k-coRating, Definition 3: the records with the same items represent at
    least k users. Ratings are not compared, so they may distinguish users; every other column of a
    plain file is compared.

    Claim `identical-rows` is Chang et al., Definition 3.3: the records with the same items and
    ratings represent at least k users. Every column but the user's id counts, and numbers of a text
    file are compared as written: 4 and 4.0 are different. A column `group_size` gives the number of
    users per record. It is stated by the publisher; no file can prove it.

    JSON objects are compared with the order of their names and the types of their values, and rows
    of a matrix with the text that marks a missing rating.

    In a release, every other byte must be what recveil writes. `Verification.not_covered` lists
    what is not compared or has no unique form.

    With `private`, ids of users (and of hidden items) are searched for among the pseudonyms, within
    ids of items, and in all free text. The orders of records and pseudonyms are compared with those
    of the ids. The seed, names and paths of this machine, and times of day are searched for, too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = file.write_text("user_id,item_id,rating\n1,7,4\n2,7,4\n3,7,5\n")
    >>> verdict = verify(file, k=2)
    >>> verdict.holds, verdict.k_achieved, verdict.violations[0].where
    (False, 1, 'ratings.csv line 4')
    """
    if k is not None and k < 1:
        raise RecveilError(f"k is {k}; expected at least 1", code="option.value")
    if claim is not None and claim not in published_claims():
        raise RecveilError(
            f"claim {claim!r}: expected one of {', '.join(published_claims())}",
            code="claim.unknown",
        )
    columns = as_text({"user": user, "item": item, "rating": rating, "time": time})
    layout = layout_of(delimiter, None, wide, null)
    written = {"format": format, "delimiter": delimiter, "wide": wide or None, "null": null}
    if isinstance(path, str | PathLike):
        path = path_of(path)
    _check_folders(path, private, against)
    _check_ratings(private, ratings, duplicates)
    if isinstance(path, str | PathLike):
        opened: AbstractContextManager[Path] = spooled(path)
    elif hasattr(path, "open_folder"):  # a release of `recveil.publish`, a higher layer
        opened = path.open_folder()
    else:
        reject_given(written, "a table in memory")
        return _verify_frame(path, k, b, l, claim, links, columns)
    with opened as file:
        if (file / MANIFEST).is_file():
            if ratings is None:
                _reject_columns(columns)
                reject_given(written, "a release")
            side = None if private is None else read_private_side(file, Path(private))
            before = None if against is None else Path(against)
            table = None
            if private is not None and ratings is not None:
                reading = {**columns, **written, "duplicates": duplicates}
                table = _read_original(file, Path(private), ratings, reading)
            return check_release(
                *(file, k, b, l),
                claim=claim,
                links=links,
                private=side,
                against=before,
                ratings=table,
            )
        required = _check_file(file, k, links)
        how = (required, b or 1, l or 1, claim or _DEFAULT)
        return check_table(file, *how, columns, format=format, layout=layout)


def _check_folders(path: Any, private: Any, against: Any) -> None:
    """Raise a RecveilError for folders to compare with that are none, or given for no release."""
    is_release = isinstance(path, str | PathLike) and Path(path, MANIFEST).is_file()
    if private is not None:
        require_path("the private folder of a release", private=private)
    if against is not None:
        require_path("the published folder of a release", against=against)
    if private is not None and not is_release:
        raise RecveilError(
            "private (--private): only a release has a private folder; expected a folder with "
            "release.json to compare it with",
            code="option.unsupported",
        )
    if against is not None and not is_release:
        raise RecveilError(
            "against (--against): only a release follows another one; expected a folder with "
            "release.json to compare it with",
            code="option.unsupported",
        )


def _check_ratings(private: Any, ratings: Any, duplicates: str | None) -> None:
    """Raise unless what the ratings behind means need was given."""
    if ratings is not None and private is None:
        raise RecveilError(
            "ratings (--ratings): the private folder has the rows of their users; name it "
            "(--private)",
            code="option.required",
        )
    if duplicates is not None and ratings is None:
        raise RecveilError(
            "duplicates (--duplicates): applies to the ratings behind means only; give them "
            "(--ratings), or leave it out",
            code="option.unsupported",
        )


def _reject_columns(columns: Mapping[str, str | int | None]) -> None:
    if named := [name for name, column in columns.items() if column is not None]:
        raise RecveilError(
            f"{', '.join(named)}: given for a release, whose columns have fixed names; leave it "
            f"out",
            code="option.unsupported",
        )


def _read_original(
    folder: Path, private: Path, ratings: Any, options: Mapping[str, Any]
) -> Ratings:
    """Read the ratings that a release was made from; raise for others."""
    if not has_limited_means(folder):
        raise RecveilError(
            f"ratings (--ratings): only means with limits (diversity, closeness) need them, which "
            f"{folder.name} does not have; leave them out",
            code="option.unsupported",
        )
    if not isinstance(ratings, Ratings):
        given = {name: value for name, value in options.items() if value is not None}
        scale = known_manifest(folder).scale
        # Whether these were left out of the release, too, follows from its digest of the ratings.
        given |= {"drop_off_scale": True, "drop_missing_ids": True}
        ratings = read_ratings(ratings, times=False, scale=scale, **given)
    if not is_made_of(folder, ratings, private):
        raise RecveilError(
            f"ratings (--ratings): {folder.name} was not made from them, as its private folder "
            f"shows; give the ratings that it was made from, read in the same way",
            code="release.mismatch",
        )
    return ratings


def _verify_frame(
    frame: Any,
    k: int | None,
    b: int | None,
    l: int | None,  # noqa: E741
    claim: str | None,
    links: bool,
    columns: dict[str, str | None],
) -> Verification:
    """Verify a table in memory as if it were written to a file."""
    if not isinstance(frame, Ratings) and not is_frame(frame):
        raise RecveilError(
            f"path: expected a release, the path of a release or a file, Ratings or a data frame, "
            f"got {type(frame).__name__}; give one of these",
            code="argument.type",
        )
    if k is None or links:
        raise RecveilError(
            "a table in memory has no claim: expected k, and no links; write a release to check "
            "more of it",
            code="option.required" if k is None else "option.unsupported",
        )
    table = frame.to_arrow() if isinstance(frame, Ratings) else frame
    return check_table(table, k, b or 1, l or 1, claim or _DEFAULT, columns)


def _check_file(path: Path, k: int | None, links: bool) -> int:
    """Raise unless this is a file of ratings and every option applies to files; return k."""
    if links:
        raise RecveilError(
            f"{path}: links (--links) need a release; name a release folder",
            code="option.unsupported",
        )
    if _holds_parts(path):
        raise RecveilError(
            f"{path}: no release (it has no release.json); name one, or, if these are parts of a "
            f"table, write them to a file, and verify that: recveil convert PARTS TABLE.parquet",
            code="release.not-found",
        )
    if not path.exists():
        raise RecveilError(
            f"{path}: no such file or folder; name a release or a file of ratings",
            code="input.not-found",
        )
    if path.is_dir() and not any(path.glob("mv_*.txt*")):  # a folder of the Netflix Prize
        raise RecveilError(
            f"{path}: a folder without release.json is not a release; name another",
            code="release.not-found",
        )
    if k is None:
        raise RecveilError(
            f"{path}: a file states no claim; name the k to check (--k), or the unpacked folder of "
            f"a release",
            code="option.required",
        )
    return k


def _holds_parts(path: Path) -> bool:
    try:
        return bool(parts_of(path))
    except RecveilError as error:
        if error.code != "input.parts":
            raise
        return True  # next to other folders, or of several tables
