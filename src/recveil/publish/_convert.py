"""Conversion of rating files, and of releases to the formats of other libraries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from recveil.io.columns.times import SECONDS_A_DAY, UNIX_SECONDS
from recveil.io.ingestion import (
    Reading,
    has_value,
    reject_unknown_keywords,
    understand,
    warn_of_reading,
)
from recveil.io.inputs import file_at, files_at, is_log_of, would_be_read
from recveil.io.item_features import ItemTable, read_item_table
from recveil.io.options import ReadingOptions
from recveil.io.pipes import is_standard
from recveil.io.table_split import SplitBy, TableSplit, split_table
from recveil.io.write import (
    FOLDERS,
    WITH_USERS,
    how_to_load,
    reject_replacing,
    resolve_target,
    write_ratings,
)
from recveil.publish.privacy_ledger import budget
from recveil.publish.release import PublishedRows, ReleaseFolder
from recveil.ratings import Ratings, RatingScale
from recveil.release.dates import DATE, ORDER, cohort_of, no_dates, period_of, reject_positions
from recveil.release.manifest import MANIFEST
from recveil.runtime.errors import RecveilError, describe_count

# Options for releases, whose form is known: how to read their values.
_OF_RELEASES = ("scale", "drop_off_scale", "times", "duplicates")


def convert(
    source: str | PathLike[str] | Sequence[str | PathLike[str]] | Ratings | Any,
    target: str | PathLike[str],
    *,
    target_format: str | None = None,
    item_table: str | PathLike[str] | None = None,
    split: float | None = None,
    split_by: SplitBy = "user",
    seed: int = 0,
    times: bool = True,
    force: bool = False,
    **reading: Unpack[ReadingOptions],
) -> Reading:
    r"""Read a file of ratings and write it in another format.

    Parameters
    ----------
    source : path, Ratings, or data frame
        What to read; a pipe, or "-" for standard input, too. Of a release folder, the
        published rows are read, one per user; the private folder is not. A list of release
        folders of disjoint cohorts is joined.
    target : str or path
        Where to write; "-" for standard output.
    target_format : str, optional
        One of parquet, csv, inter and surprise, or of the folders recbole, lenskit, movielens and
        elliot. By the ending of `target` if not given; CSV for standard output. `notes` of the
        result describe how libraries load what was written.
    item_table : str or path, optional
        Public columns of the items, such as movies.csv, that a folder gets, too. Those of a release
        by default.
    split, split_by, seed : optional
        Write training and test ratings to a folder, and validation ratings for recbole: a random
        share of each user's ratings ("user"), or the last share of all ("time"), as `evaluate`
        does. Users with the same items keep the same ones.
    force : bool
        Replace an existing `target`, but never the source.
    times : bool
        Keep the times, to the day.
    **reading
        Passed to `understand`.

    Returns
    -------
    Reading
        The ratings that were read and written, and what was understood of `source`.

    Raises
    ------
    RecveilError
        If `source` cannot be read or `target` cannot be written; `target` is then as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     source, target = Path(folder, "ratings.txt"), Path(folder, "ratings.csv")
    ...     _ = source.write_text("ann 7 4\nben 7 3.5\n")
    ...     _ = convert(source, target)
    ...     print(target.read_text())
    user_id,item_id,rating
    ann,7,4
    ben,7,3.5
    """
    reject_unknown_keywords(convert, reading, "k", "user_files")
    # A mistyped ending should not cost the minutes of reading a large file.
    written_as = resolve_target(target, target_format)
    reject_replacing(target, force=force)
    path = file_at(source)
    reject_input(target, source)
    items = None if item_table is None else read_item_table(item_table)
    dates = None
    releases: Sequence[PublishedRows] = ()
    if path is not None and (path / MANIFEST).is_file():
        source = ReleaseFolder(path)
    if isinstance(source, PublishedRows):
        releases = [source]
        found = _of_release(source, {"times": times, **reading})
    elif isinstance(source, list | tuple):
        releases = [ReleaseFolder(each) for each in source]
        for each in source:
            reject_input(target, each)
        found = _of_cohorts(source, releases, {"times": times, **reading})
    else:
        found = understand(source, times=times, **reading)
        warn_of_reading(found)
    period = period_of(releases[0].manifest.settings) if releases else None
    if releases and found.ratings.days is not None:
        found, dates = _describe_dates(found, period)
    if items is None and written_as in FOLDERS:
        items = ItemTable.joined([table for each in releases if (table := each.items_table())])
    users = releases[0].users_table() if len(releases) == 1 else None
    if users is not None and written_as not in WITH_USERS:
        note = "The release's user attributes are not written: such a target has none."
        found = replace(found, notes=(*found.notes, note))
    if split is None and split_by != "user":
        raise RecveilError(
            "split_by (--split-by) is given without split (--split); give the share of the test "
            "ratings, too",
            code="option.required",
        )
    # RecBole takes three parts, or none.
    in_three = written_as == "recbole"
    parts = (
        None if split is None else _split(found, period, split, split_by, seed, in_three=in_three)
    )
    if parts is not None:
        n_test = describe_count(parts.test.n_ratings, "rating")
        found = replace(found, notes=(*found.notes, f"Test: {n_test}, which are {parts.rule}."))
    tables = {"item_table": items, "user_table": users if written_as in WITH_USERS else None}
    write_ratings(found.ratings, target, format=target_format, **tables, split=parts, times=dates)
    load = how_to_load(written_as, Path(target), found.ratings, is_split=parts is not None)
    return found if load is None else replace(found, notes=(*found.notes, f"To load it: {load}"))


def _split(
    found: Reading, period: str | None, share: float, by: SplitBy, seed: int, *, in_three: bool
) -> TableSplit:
    """Split ratings, and state what a split of a release does not measure."""
    if by == "time" and period == ORDER:
        raise no_dates()
    if by == "time" and found.ratings.days is not None:
        reject_positions(found.ratings.days, found.ratings.indptr)
    parts = split_table(found.ratings, share, by, seed)
    if in_three:
        parts = parts.with_validation(share, by, seed)
    if not found.of_release:
        return parts
    of_dates = ", by the dates of their items" if by == "time" else ""
    return parts._replace(rule=f"{parts.rule}: of published values, no real ratings{of_dates}")


def reject_input(target: str | PathLike[str], source: Any) -> None:
    """Reject a target that is a file of its source, or that the next run would read with it."""
    path = file_at(source)
    if path is None or is_standard(target):
        return
    files = filter(Path.exists, files_at(path))
    if Path(target).exists() and any(map(Path(target).samefile, files)):
        what = "are one file" if path.is_file() else "share that file"
        raise RecveilError(
            f"{target}: source and target {what}; name another target", code="output.is-input"
        )
    if would_be_read(Path(target), path) or is_log_of(Path(target), path):
        raise RecveilError(
            f"{target} would be among the files of {path}, which the next run reads; name "
            f"another target",
            code="output.is-input",
        )


def _of_release(release: PublishedRows, reading: Mapping[str, Any]) -> Reading:
    """Read published rows as ratings: one row per user, on the scale without its steps."""
    table, options = release.to_arrow(per_user=True), _options_of(release, reading)
    if DATE in table.column_names and options.get("times") is not False:
        # Positions are no plausible times, which the reader would drop.
        seconds = pc.multiply(table[DATE].cast(pa.int32()).cast(pa.int64()), SECONDS_A_DAY)
        table = table.set_column(table.column_names.index(DATE), DATE, seconds)
        options["time_format"] = UNIX_SECONDS
    found = understand(table, **options)
    n_users = found.ratings.n_users
    of = describe_count(n_users, "user")
    notes = [f"A release: its published rows, one for each of {of}, under their new ids."]
    return replace(found, name=release.name, of_release=True, notes=(*notes, *found.notes))


def _describe_dates(found: Reading, period: str | None) -> tuple[Reading, str]:
    """Note what the dates of a release are, in place of doubts of a raw table; and as seconds."""
    note = f"the first day of the {period}, not the day of a rating."
    times = f"seconds since 1970 (UTC) at the start of the first day of the {period}"
    if period == ORDER:
        note = "positions from 1970-01-01 on; compare them within a row only."
        times = (
            "no times: 86,400 for each position in the order of the user's dates, from 0 on; "
            "compare them within a user only"
        )
    column = f"Column {DATE!r}: "  # what the reader says of it
    others = [each for each in found.notes if not each.startswith(column)]
    return replace(found, notes=(*others, f"{column}{note}")), times


def _options_of(release: PublishedRows, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options to read the values of a release."""
    for name, value in reading.items():
        if has_value(value) and name not in _OF_RELEASES:
            raise RecveilError(
                f"{name}: given for a release, whose files have one form; leave that out",
                code="option.unsupported",
            )
    options = {name: value for name, value in reading.items() if name in _OF_RELEASES}
    scale = release.manifest.scale
    if options.get("scale") is None and scale.unary:
        options["likes"] = True
    elif options.get("scale") is None:  # values are means between the scale's steps
        options["scale"] = scale if scale.labels else RatingScale(scale.low, scale.high)
    return options


def _of_cohorts(
    folders: Sequence[str | PathLike[str]],
    releases: Sequence[PublishedRows],
    reading: Mapping[str, Any],
) -> Reading:
    """Append the synthetic users of verified releases, whose epsilons do not add up."""
    _require_disjoint(releases)
    total = budget(list(folders))  # verifies each
    options, tables, n_of = _options_of(releases[0], reading), [], Counter[str]()
    for release in releases:
        table = release.to_arrow()
        prefix = table["user_id"][0].as_py().partition("-")[0] + "-"
        if n_before := n_of[prefix]:  # chosen at random, so that two may be the same
            ids = pc.replace_substring(table["user_id"], prefix, f"{prefix}{n_before}-")
            table = table.set_column(0, "user_id", ids)
        n_of[prefix] += 1
        tables.append(table)
    found = understand(pa.concat_tables(tables), **options)
    note = (
        f"{len(releases)} releases of disjoint cohorts, each of which was verified: their "
        f"{describe_count(found.ratings.n_users, 'synthetic user')}. The most exposed user spent "
        f"epsilon {total.epsilon:.3g} (delta {total.delta:.3g}), which is not the sum. "
        f"That the cohorts are disjoint is the publisher's statement."
    )
    name = ", ".join(release.name for release in releases)
    return replace(found, name=name, of_release=True, notes=(note, *found.notes))


def _require_disjoint(releases: Sequence[PublishedRows]) -> None:
    """Raise unless no user can be in two of the releases, which have one scale and kind of ids."""
    for release in releases:
        if release.manifest.claim.ledger is None:
            raise RecveilError(
                f"{release.name} has no epsilon, so it is not joined: expected releases of "
                f"disjoint cohorts (--cohort), each with an epsilon; convert each alone",
                code="release.mismatch",
            )
    cohorts = [cohort_of(release.manifest.settings) for release in releases]
    for (one, its), (other, theirs) in combinations(zip(releases, cohorts, strict=True), 2):
        if its is None or theirs is None or not its.is_disjoint(theirs):
            raise RecveilError(
                f"{one.name} and {other.name} may have the same users: expected releases of "
                f"disjoint cohorts (--cohort); convert each alone",
                code="release.mismatch",
            )
        forms = [
            (each.manifest.scale, each.manifest.item_type, period_of(each.manifest.settings))
            for each in (one, other)
        ]
        if forms[0] != forms[1]:
            raise RecveilError(
                f"{one.name} and {other.name} have different scales, dates or kinds of item ids; "
                f"expected releases of one table; convert each alone",
                code="release.mismatch",
            )
