"""Attacks with auxiliary information from a file."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.attacks import Candidates
from recveil.attacks.adversary import DAY_WIDTH, ECCENTRICITY, RATING_WIDTH
from recveil.attacks.reidentification.scoreboard import rating_slack
from recveil.auditing.item_matches import ItemMatches
from recveil.io import Reading
from recveil.io.columns.columns import LIKED, find_columns, is_counted
from recveil.io.columns.frames import frame_of
from recveil.io.detect.dialect import recognize
from recveil.io.detect.known_formats import target_among
from recveil.io.files import naming
from recveil.io.formats.delimited import DIALECTS, read_records
from recveil.io.formats.typed_tables import OF_SEVERAL_TABLES
from recveil.io.ingestion import INFERRED_SCALE_NOTE, understand_auxiliary
from recveil.io.inputs import file_next_to_table
from recveil.io.options import Layout
from recveil.io.source import ROLES
from recveil.io.tables import first_rows
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count, listed
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

_SHOWN = 5


class AlteredItem(NamedTuple):
    """An item whose rating or date in the record differs from the known one."""

    # The item's id in the table, and its title where titles were matched
    item: str
    title: str | None
    # The known rating, and that of the record; None if no ratings are compared
    known: float | None
    published: float | None
    # Days from the known date to the record's; None if no dates are compared
    shift: int | None


@dataclass(frozen=True)
class Alteration(Reportable):
    """How the best record differs from what is known of a target.

    It measures what the publisher altered if the file holds all of the target's ratings, and the
    record is theirs.

    Parameters
    ----------
    is_match : bool
        Whether the record leads with the eccentricity of a match.
    ratings : int
        Number of known ratings.
    missing, added : int
        Known items that the record lacks, and its items that are not known.
    changed : int or None
        Ratings that differ; None if no ratings are compared.
    mean_change, largest_change : float or None
        Points by which those differ; None if none does.
    shifted : int or None
        Dates that differ; None if no dates are compared.
    mean_shift, largest_shift : float or None
        Days by which those differ.
    most : tuple of AlteredItem
        The items with the most altered ratings, of equal ones with the most altered dates; at most
        five.
    missing_items, added_items : tuple of str
        The first five of each, by title where it is known, else by id.
    """

    is_match: bool
    ratings: int
    missing: int
    added: int
    changed: int | None
    mean_change: float | None
    largest_change: float | None
    shifted: int | None
    mean_shift: float | None
    largest_shift: float | None
    most: tuple[AlteredItem, ...] = ()
    missing_items: tuple[str, ...] = ()
    added_items: tuple[str, ...] = ()


class KnownItem(NamedTuple):
    """The part of a record's score that comes from one known item."""

    # The item's id in the table, and its title where titles were matched
    item: str
    title: str | None
    # The score, and its parts as in `Explanation`
    score: float
    from_item: float
    from_rating: float | None
    from_date: float | None


@dataclass(frozen=True)
class Explanation(Reportable):
    """The parts of the best record's score.

    Parameters
    ----------
    score : float
        The sum of its parts.
    from_items : float
        What the average record with the same known items scores by them: rare items count more.
    from_ratings, from_dates : float or None
        By how much the record's ratings and dates score more than the average record's, for the
        same items; None if none is compared.
    most : tuple of KnownItem
        The known items that contribute most, first the largest part; at most five.
    """

    score: float
    from_items: float
    from_ratings: float | None
    from_dates: float | None
    most: tuple[KnownItem, ...]


@brief
@dataclass(frozen=True)
class Suspects(Reportable):
    """The best candidates for one target.

    Parameters
    ----------
    target : str
        The target's name in the file.
    known, matched : int
        Number of entries about the target, and of those whose item is in the table.
    users : list of str
        The candidates with the highest scores, best first; ties by position.
    scores : list of float
    eccentricity : float
        (highest - second highest score) / σ; a match needs at least 1.5.
    bits : float
        Entropy of the adversary's distribution over all users, in bits: the remaining uncertainty.
    alteration : Alteration or None
        How the best record differs from the file; None if two records fit equally well.
    explanation : Explanation or None
        Where its score comes from; None in the same case.
    """

    target: str
    known: int
    matched: int
    users: list[str]
    scores: list[float]
    eccentricity: float
    bits: float
    alteration: Alteration | None = None
    explanation: Explanation | None = None


def look_for(
    ratings: Ratings,
    candidates: Candidates,
    path: str | PathLike[str] | Reading | Any,
    *,
    rating_width: float = RATING_WIDTH,
    day_width: float = DAY_WIDTH,
    eccentricity: float = ECCENTRICITY,
    names: Sequence[str] | NDArray[Any] | None = None,
    matches: ItemMatches | None = None,
    **reading: Any,
) -> list[Suspects]:
    """Attack with auxiliary information from a file, by Scoreboard-RH.

    Parameters
    ----------
    ratings : Ratings
        The table to search for the targets.
    candidates : Candidates
        The same ratings, or the rows of a release of them, indexed by item.
    path : path, data frame or Reading
        A file of (target, item[, rating][, date]), compressed or not, in any format that
        `read` reads; a data frame; or the result of `read_knowledge`. Items carry the
        table's ids. Without ratings, users are matched by items alone.
    rating_width, day_width : float
        See `ScoreboardRH`.
    eccentricity : float
        The lead of a match.
    names : sequence of str, optional
        Names of the candidates; the users of the ratings, if not given.
    matches : ItemMatches, optional
        The table's item for each item of the file, if ids differ.
    **reading
        Passed to `read`, such as `user` for the name of the target column, which defaults
        to "target" or one of the usual names for users.

    Raises
    ------
    RecveilError
        If the file cannot be read, or none of its items is in the table.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5, who compared the records of two acquaintances with
    their own ratings to check how Netflix had perturbed the data, and the records of IMDb with
    those of Netflix.
    """
    names = ratings.users if names is None else names
    auxiliary = path if isinstance(path, Reading) else read_knowledge(path, **reading)
    known = auxiliary.ratings
    item_of = positions_in(ratings, auxiliary, matches)
    used = {} if matches is None else matches.used
    titles = {match.item: match.title for match in used.values()}
    weights = 1 / np.log(np.maximum(candidates.support, 2))
    has_ratings = not (known.is_unary or ratings.is_unary)
    if not has_ratings:
        rating_width = math.inf
    suspects = []
    for target in range(known.n_users):
        own = slice(known.indptr[target], known.indptr[target + 1])
        items = item_of[known.indices[own]]
        days = None if known.days is None else known.days[own]
        entries = [
            (item, known.values[own][entry], None if days is None else days[entry])
            for entry, item in enumerate(items.tolist())
            if item >= 0
        ]
        parts = [_points(candidates, entry, rating_width, day_width) for entry in entries]
        scores = np.zeros(candidates.n_records)
        for entry, (carrying, points) in zip(entries, parts, strict=True):
            scores[candidates.records[carrying]] += weights[entry[0]] * points.sum(axis=0)
        name = str(known.users[target])
        found = _suspects(name, items.size, len(entries), scores, names)
        if found.eccentricity > 0:
            record = int(scores.argmax())
            is_match = found.eccentricity >= eccentricity
            # An item that no title matched was not compared, so the record does not lack it.
            unmatched = known.items[known.indices[own]][items < 0][: None if matches is None else 0]
            n_compared = len(entries) + unmatched.size
            altered = _compare(
                candidates, record, entries, n_compared, is_match=is_match, has_ratings=has_ratings
            )
            held = candidates.items[candidates.records == record]
            lacking = np.setdiff1d(items[items >= 0], held)
            altered = replace(
                altered,
                most=_named(altered.most, ratings.items, titles),
                missing_items=_first_titles([*ratings.items[lacking], *unmatched], titles),
                added_items=_first_titles(ratings.items[np.setdiff1d(held, items)], titles),
            )
            of_items = [
                _part_of(candidates, record, entry[2], part, float(weights[entry[0]]), has_ratings)
                for entry, part in zip(entries, parts, strict=True)
            ]
            found = replace(
                found,
                alteration=altered,
                explanation=_explain(
                    of_items, [ratings.items[entry[0]] for entry in entries], titles
                ),
            )
        suspects.append(found)
    return suspects


def _compare(
    candidates: Candidates,
    record: int,
    entries: list[tuple[int, float, int | None]],
    n_known: int,
    *,
    is_match: bool,
    has_ratings: bool,
) -> Alteration:
    """Compare a record with the entries about a target whose items are in the table."""
    places = np.flatnonzero(candidates.records == record)
    place_of = dict(zip(candidates.items[places].tolist(), places.tolist(), strict=True))
    slack = rating_slack(candidates.levels)
    # Of each item in both: the change of its rating and of its date, and both as they are reported
    pairs = []
    for item, rating, day in entries:
        if (place := place_of.get(item)) is None:
            continue
        change = abs(float(candidates.values[place]) - rating) if has_ratings else 0.0
        shift = None
        if day is not None and candidates.days is not None:
            shift = int(candidates.days[place]) - day
        known = float(rating) if has_ratings else None
        published = float(candidates.values[place]) if has_ratings else None
        altered = AlteredItem(str(item), None, known, published, shift)
        pairs.append((change if change > slack else 0.0, abs(shift or 0), altered))
    most = sorted((one for one in pairs if any(one[:2])), key=lambda one: (-one[0], -one[1]))
    return Alteration(
        is_match,
        n_known,
        n_known - len(pairs),
        places.size - len(pairs),
        *_differences([change for change, *_ in pairs if change], has_ratings),
        *_differences(
            [shift for _, shift, _ in pairs if shift],
            any(altered.shift is not None for *_, altered in pairs),
        ),
        tuple(altered for *_, altered in most[:_SHOWN]),
    )


def _first_titles(items: Iterable[Any], titles: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(titles.get(item, item) for item in map(str, islice(items, _SHOWN)))


def _named(
    altered: Sequence[AlteredItem], items: NDArray[Any], titles: Mapping[str, str]
) -> tuple[AlteredItem, ...]:
    """Name items by their ids, and by their titles where these are known."""
    ids = [str(items[int(one.item)]) for one in altered]
    return tuple(
        one._replace(item=item, title=titles.get(item))
        for one, item in zip(altered, ids, strict=True)
    )


def _differences(
    apart: list[float], is_compared: bool
) -> tuple[int | None, float | None, float | None]:
    """Return the number of differences, their mean and the largest one."""
    if not apart:
        return (0 if is_compared else None), None, None
    return len(apart), float(np.mean(apart)), float(max(apart))


def positions_in(
    ratings: Ratings, auxiliary: Reading, matches: ItemMatches | None = None
) -> NDArray[np.int64]:
    """Return each known item's position in the table; -1 if it is not there."""
    ids = [str(item) for item in auxiliary.ratings.items.tolist()]
    position_of = {str(item): position for position, item in enumerate(ratings.items)}
    if matches is not None:
        of = {other: match.item for other, match in matches.used.items()}
        item_of = np.array([position_of.get(of.get(item, ""), -1) for item in ids], np.int64)
        if (item_of < 0).all():
            raise RecveilError(
                f"{auxiliary.name}: none of its {describe_count(len(ids), 'item')} is matched "
                f"with the table ({matches.n_ambiguous:,} are ambiguous); give the matches "
                f"with item_matches (--item-matches), or lower match_certainty (--match-certainty)",
                code="id.unknown",
            )
        return item_of
    item_of = np.array([position_of.get(item, -1) for item in ids], np.int64)
    if (item_of < 0).all():
        raise RecveilError(
            f"{auxiliary.name}: none of its {describe_count(len(ids), 'item')} is in the table; "
            f"it must use the table's own item ids, such as {ratings.items[0]}",
            code="id.unknown",
        )
    return item_of


def read_knowledge(path: str | PathLike[str] | Any, **reading: Any) -> Reading:
    r"""Read a table of auxiliary information, and report how it was read."""
    if not isinstance(path, str | PathLike):
        table = frame_of(path).table
        target = reading.pop("user", None) or target_among(table.column_names)
        return _without_scale(understand_auxiliary(table, user=target, **reading))
    with file_next_to_table("auxiliary", path) as file:
        if reading.get("user") is None:
            reading["user"] = target_among(_columns_of(file, reading.get("format"))[0])
        return _without_scale(understand_auxiliary(file, **reading))


def _without_scale(auxiliary: Reading) -> Reading:
    """Drop the options of the scale: auxiliary information has no scale of its own."""
    auxiliary.require_times()
    notes = tuple(note for note in auxiliary.notes if not note.startswith(INFERRED_SCALE_NOTE))
    return replace(auxiliary, notes=notes)


def reading_of(
    path: str | PathLike[str] | pa.Table, reading: Mapping[str, Any]
) -> Mapping[str, Any]:
    r"""Return those of a table's reading options that fit an auxiliary table."""
    if isinstance(path, str | PathLike):
        where, (names, width) = Path(path).name, _columns_of(Path(path), None)
    else:
        where, names = "the data frame of auxiliary", list(path.column_names)
        width = len(names)
    named = {
        role: reading[role]
        for role in ROLES
        if reading.get(role) in names and not (role == "user" and target_among(names))
    }
    shared = ("duplicates", "drop_missing_ids", "time_format")
    fitting = {name: reading[name] for name in shared if reading.get(name) is not None}
    return {**fitting, **named, **_feedback(where, names, width, named, reading)}


def _feedback(
    where: str,
    names: list[str],
    width: int,
    named: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Return the options about ratings that fit the file."""
    # An adversary who knows items alone knows neither words nor counts. A column that may hold
    # ratings is never skipped, since that would weaken the adversary.
    scale, counts, likes = (reading.get(name) for name in ("scale", "counts", "likes"))
    if not _leaves_ratings_out(names, width, named):
        if scale is not None and scale.labels:
            return {"scale": scale}
        return {} if counts is None else {"counts": counts}
    if likes:
        return {"likes": True}
    found = find_columns(names, feedback=LIKED, **_roles(names, named)).by_role() if names else {}
    left = [name for name in names if name not in found.values()]
    if counts is not None and any(is_counted(name) for name in left):
        return {"counts": counts}
    if left:
        raise RecveilError(
            f"{where}: {listed(left, 60)} may or may not hold ratings; name that column rating, or "
            f"leave it out if the file knows items alone",
            code="column.ambiguous",
        )
    return {}


def _leaves_ratings_out(names: list[str], width: int, named: Mapping[str, Any]) -> bool:
    """Return whether a file names users and items but no ratings, or has only two columns."""
    if not names:
        return width == 2
    try:
        return find_columns(names, feedback=LIKED, **_roles(names, named)).rating is None
    except RecveilError:
        return False  # the reader will report the error


def _roles(names: list[str], named: Mapping[str, Any]) -> Mapping[str, Any]:
    target = target_among(names)
    return named if target is None else {**named, "user": target}


def _columns_of(path: Path, format: str | None) -> tuple[list[str], int]:
    """Return the column names (none without a header) and the number of columns."""
    with naming(path):
        found = recognize(path, format, Layout())
        if found.format in OF_SEVERAL_TABLES:
            raise RecveilError(
                f"{path.name}: {found.notes[0]}, of which only the table itself is read; write the "
                f"auxiliary information to a file, such as CSV, and name that",
                code="input.unknown-format",
            )
        dialect = found.dialect or DIALECTS.get(found.format)
        if dialect is None:
            rows = first_rows(path, found.format)
            names = [] if rows is None else list(rows.column_names)
            return names, len(names)
        try:
            first = next((fields for _, fields in read_records(path, dialect)), [])
        except RecveilError:
            return [], 0  # the reader will report the error
        return (first if dialect.header else []), len(first)


def _points(
    candidates: Candidates,
    entry: tuple[int, float, int | None],
    rating_width: float,
    day_width: float,
) -> tuple[slice, NDArray[np.float64]]:
    """Return the places of an item, and the similarity of rating and date there, two rows."""
    item, rating, day = entry
    carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
    values = candidates.levels[candidates.codes[carrying]]
    points = np.zeros((2, values.size))
    points[0] = np.exp(-np.abs(values - rating) / rating_width)
    if day is not None and candidates.days is not None:
        points[1] = np.exp(-np.abs(candidates.days[carrying] - day) / day_width)
    return carrying, points


def _part_of(
    candidates: Candidates,
    record: int,
    day: int | None,
    part: tuple[slice, NDArray[np.float64]],
    weight: float,
    has_ratings: bool,
) -> tuple[float, float | None, float | None] | None:
    """Return what a known item, its rating and its date score; None if the record lacks it."""
    carrying, points = part
    place = np.flatnonzero(candidates.records[carrying] == record)
    if not place.size:
        return None
    average = points.mean(axis=1)
    by_rating, by_date = (weight * (points[:, place[0]] - average)).tolist()
    has_date = day is not None and candidates.days is not None
    return (
        weight * float(average.sum()),
        by_rating if has_ratings else None,
        by_date if has_date else None,
    )


def _explain(
    parts: list[tuple[float, float | None, float | None] | None],
    items: list[Any],
    titles: Mapping[str, str],
) -> Explanation:
    """Add up the parts of a record's score, by item and by kind."""
    known = [
        KnownItem(str(item), titles.get(str(item)), sum(filter(None, part)), *part)
        for item, part in zip(items, parts, strict=True)
        if part is not None
    ]
    by_rating = [each.from_rating for each in known if each.from_rating is not None]
    by_date = [each.from_date for each in known if each.from_date is not None]
    return Explanation(
        score=sum(each.score for each in known),
        from_items=sum(each.from_item for each in known),
        from_ratings=sum(by_rating) if by_rating else None,
        from_dates=sum(by_date) if by_date else None,
        most=tuple(sorted(known, key=lambda each: -each.score)[:_SHOWN]),
    )


def _suspects(
    name: str,
    known: int,
    matched: int,
    scores: NDArray[np.float64],
    names: Sequence[str] | NDArray[Any],
) -> Suspects:
    order = np.argsort(-scores, kind="stable")[: max(2, _SHOWN)]
    sigma = float(scores.std())
    shares = np.exp((scores - scores.max()) / sigma) if sigma > 0 else np.ones_like(scores)
    shares /= shares.sum()
    top = scores[order]
    is_defined = sigma > 0 and order.size > 1
    return Suspects(
        target=name,
        known=known,
        matched=matched,
        users=[str(names[user]) for user in order[:_SHOWN]],
        scores=top[:_SHOWN].tolist(),
        eccentricity=float((top[0] - top[1]) / sigma) if is_defined else 0.0,
        bits=float(-(shares * np.log2(np.maximum(shares, 1e-300))).sum()),
    )
