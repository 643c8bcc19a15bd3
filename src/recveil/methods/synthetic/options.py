"""Options of synthetic releases, and the public order of items."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading, spooled
from recveil.io.columns.frames import frame_of, is_frame
from recveil.io.files import watched_text
from recveil.io.ingestion import REASONS
from recveil.io.item_features import ItemFeatures, read_item_features
from recveil.io.pipes import STANDARD, require_path
from recveil.io.side_tables import item_column, read_item_ids, text_of_value
from recveil.ratings import Ratings
from recveil.release.dates import ORDER, PERIODS, Cohort, periods_within
from recveil.release.method import MOST_ITEMS, MOST_RELEASES
from recveil.release.synthetic_form import MOST_DELTA, MOST_PERIODS
from recveil.runtime.errors import RecveilError, describe_count, quoted, unknown

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def as_ids(names: list[str]) -> NDArray[Any]:
    """Return ids as published, ascending: as integers if all are written as such."""
    if all(map(_WHOLE.fullmatch, names)):
        return np.array(sorted(map(int, names)), dtype=np.int64)
    return np.array(sorted(names), dtype=object)


def reject_dropped_rows(reading: Reading) -> None:
    """Raise if rows were left out or merged, since any of them may have a user's first date."""
    if reading.dropped:
        counts = ", ".join(f"{n:,}: {REASONS[why]}" for why, n in reading.dropped.items())
        raise RecveilError(
            f"cohort (--cohort): rows were left out ({counts}), which may be the first ones of "
            f"their users, and decide when they joined; correct them in the table, and give one "
            f"row per pair, with its first date",
            code="time.incomplete",
        )


def of_cohort(ratings: Ratings, cohort: Cohort, *, keeps_items: bool = False) -> Ratings:
    """Return the users whose first rating is in a cohort, with all their ratings."""
    # Nothing of it depends on other users: its items are those that these users rated, and the type
    # of their ids follows from these alone.
    if ratings.days is None:
        raise RecveilError(
            "cohort (--cohort): the table has no dates, which show when users joined; name their "
            "column with time (--time)",
            code="time.missing",
        )
    first = np.full(ratings.n_users, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(first, ratings.user_positions(), ratings.days)
    chosen = cohort.contains(first) & (ratings.activity > 0)
    if not chosen.any():
        raise RecveilError(
            f"cohort (--cohort): no user's first rating is in {cohort}; name another period",
            code="table.no-ratings",
        )
    cells = chosen[ratings.user_positions()]
    indptr = np.concatenate([[0], np.cumsum(ratings.activity[chosen])])
    indices, days = ratings.indices[cells], ratings.days[cells]
    users, items = ratings.users[chosen], ratings.items
    found = Ratings(users, items, indptr, indices, ratings.values[cells], days, ratings.scale)
    if keeps_items:
        return found
    rated = np.flatnonzero(found.support)
    ids, order = published_order(found.items[rated])
    places = np.zeros(ratings.n_items, np.int64)
    places[rated[order]] = np.arange(rated.size)
    return _moved(found, ids, places)


def on_catalog(ratings: Ratings, catalog: NDArray[Any]) -> Ratings:
    """Return the same ratings on the items of a catalog, rated or not; ids are compared as text."""
    return _moved(ratings, catalog, places_on_catalog(ratings.items, catalog))


def places_on_catalog(items: NDArray[Any], catalog: NDArray[Any]) -> NDArray[np.int64]:
    """Return each item's position in a catalog, or raise a RecveilError for a missing one."""
    place = {name: at for at, name in enumerate(catalog.astype(str).tolist())}
    at = np.array([place.get(name, -1) for name in items.astype(str).tolist()], np.int64)
    if n := int((at < 0).sum()):
        is_or_are = "is" if n == 1 else "are"
        raise RecveilError(
            f"item_catalog (--item-catalog): {describe_count(n, 'item')} of the ratings "
            f"{is_or_are} missing, such as {quoted(str(items[np.argmin(at)]))}; list all items, or "
            f"drop those ratings",
            code="id.unknown",
        )
    return at


def in_public_order(ratings: Ratings, most_items: int) -> Ratings:
    """Order items by id, integers first by value, whatever other items the table has."""
    if ratings.items.dtype == object:
        ratings = _moved(ratings, *places_in_public_order(ratings.items))
    return with_most(ratings, most_items)


def places_in_public_order(items: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return items in public order, and the position of each given item."""
    if items.dtype != object:
        return items, np.arange(items.size)
    names = items.tolist()
    order = sorted(range(len(names)), key=lambda item: _rank(names[item]))
    at = np.empty(items.size, np.int64)
    at[order] = np.arange(items.size)
    return items[order], at


def published_order(released: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the ids of released items as published, of a type that depends on them alone."""
    names = released.astype(str).tolist()
    ids = as_ids(names)
    place = {name: at for at, name in enumerate(ids.astype(str).tolist())}
    return ids, np.argsort([place[name] for name in names])


def _rank(name: str) -> tuple[bool, int, str]:
    is_whole = _WHOLE.fullmatch(name) is not None
    return (False, int(name), "") if is_whole else (True, 0, name)


def _moved(ratings: Ratings, items: NDArray[Any], at: NDArray[np.int64]) -> Ratings:
    """Map ratings to other items, by the position of each old item."""
    indices, values, days = at[ratings.indices].astype(np.int32), ratings.values, ratings.days
    if (np.diff(at) < 0).any():
        order = np.lexsort((indices, ratings.user_positions()))
        indices, values = indices[order], values[order]
        days = None if days is None else days[order]
    return Ratings(ratings.users, items, ratings.indptr, indices, values, days, ratings.scale)


def with_most(ratings: Ratings, most: int) -> Ratings:
    """Return so many ratings of each user at most; see `counted_ratings`."""
    if not ratings.n_users or ratings.activity.max() <= most:
        return ratings
    is_counted = counted_ratings(ratings.indptr, most)
    indptr = np.concatenate([[0], np.cumsum(np.minimum(ratings.activity, most))])
    indices, values = ratings.indices[is_counted], ratings.values[is_counted]
    days = None if ratings.days is None else ratings.days[is_counted]
    return Ratings(ratings.users, ratings.items, indptr, indices, values, days, ratings.scale)


def counted_ratings(indptr: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
    """Return which ratings count, evenly spread over the items of each user."""
    # They follow from a user's own number of ratings and the public order of items: positions of
    # items would depend on those that other users rated.
    n = np.diff(indptr)
    within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], n)
    n_of = np.repeat(n, n)
    few = n_of <= most
    return np.asarray(few | ((within + 1) * most // n_of > within * most // n_of))


NO_NOISE = "none"
# Largest number of synthetic users.
MAX_USERS = 2**31 - 1
# More users need allow_large. The limit is public: no answered query decides it.
_MANY_USERS = 1_000_000
# The catalog option if the list of rated items is public.
AS_RATED = "as-rated"
# Bytes of an id as a Python object.
_A_ROW = 100


def parse_epsilon(value: Any) -> float | None:
    """Return epsilon as a number, or None for "none" (exact sums without a guarantee)."""
    if value == NO_NOISE:
        return None
    try:
        epsilon = float(value)
    except (TypeError, ValueError):
        epsilon = math.nan
    if isinstance(value, bool) or not 0 < epsilon < math.inf:
        raise RecveilError(
            f"epsilon (--epsilon) is {quoted(value)}; expected a number above 0, such as 3 (less "
            f"is safer), or none, for exact sums without a guarantee",
            code="option.value",
        )
    return epsilon


def check_synthetic_options(options: Mapping[str, Any]) -> None:
    """Raise a RecveilError for invalid options, before any input is read."""
    epsilon, delta, n_users = (options.get(name) for name in ("epsilon", "delta", "n_users"))
    is_exact = parse_epsilon(epsilon) is None
    if delta is not None and is_exact:
        raise RecveilError(
            "delta (--delta): epsilon is none, so there is no guarantee that delta could weaken; "
            "drop it",
            code="option.conflict",
        )
    if options.get("ledger") is not None and is_exact:
        raise RecveilError(
            "ledger (--ledger): epsilon is none, so no privacy loss is recorded; drop it",
            code="option.conflict",
        )
    _check_series(options, is_exact=is_exact)
    most = options.get("max_ratings")
    if most is not None and not (type(most) is int and 2 <= most <= MOST_ITEMS):
        raise RecveilError(
            f"max_ratings (--max-ratings) is {quoted(most)}; expected a number of ratings per user "
            f"from 2 to {MOST_ITEMS:,}",
            code="option.value",
        )
    _check_reuse(options)
    if options.get("publish_answers") and is_exact:
        raise RecveilError(
            "publish_answers (--publish-answers): epsilon (--epsilon) is none, and exact sums are "
            "never published; drop it, or give an epsilon such as 3",
            code="option.conflict",
        )
    _check_dates(options, is_exact=is_exact)
    if options.get("item_features") is not None and is_exact:
        raise RecveilError(
            "item_features (--item-features): epsilon (--epsilon) is none, and without noise "
            "they have no effect; leave them out",
            code="option.conflict",
        )
    if delta is not None and not (isinstance(delta, float) and 0 < delta <= MOST_DELTA):
        raise RecveilError(
            f"delta (--delta) is {quoted(delta)}, the probability that nothing is guaranteed; "
            f"expected at most {MOST_DELTA:g}, and far below one over the number of users, such as "
            f"1e-6",
            code="option.value",
        )
    if n_users is not None:
        require_n_users(n_users)
    _check_sources(options.get("item_catalog"), options.get("ledger"))


def _check_sources(catalog: Any, ledger: Any) -> None:
    # Nothing is read yet.
    is_path = isinstance(catalog, str | PathLike)
    if ledger is not None:
        require_path("a privacy ledger", ledger=ledger)
    if is_path and not (catalog in (AS_RATED, STANDARD) or _exists(catalog)):
        raise RecveilError(
            f"item_catalog (--item-catalog): {quoted(str(catalog))} does not exist; expected a "
            f"file with one item id per line, or {AS_RATED}",
            code="input.unreadable",
        )
    if not (is_path or catalog is None or isinstance(catalog, Iterable)):
        require_path("a list of items", item_catalog=catalog)


def _exists(path: str | PathLike[str]) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no name of a file
        return False


def _check_series(options: Mapping[str, Any], *, is_exact: bool) -> None:
    cohort, releases = options.get("cohort"), options.get("releases")
    if is_exact and (cohort, releases) != (None, None):
        name = "releases" if cohort is None else "cohort"
        raise RecveilError(
            f"{name} (--{name}): epsilon is none, so no privacy loss adds up; drop it",
            code="option.conflict",
        )
    if cohort is not None:
        Cohort.of(cohort)
    if releases is not None and not (type(releases) is int and 1 <= releases <= MOST_RELEASES):
        raise RecveilError(
            f"releases (--releases) is {quoted(releases)}; expected a number of planned releases "
            f"from 1 to {MOST_RELEASES:,}",
            code="option.value",
        )


def _check_dates(options: Mapping[str, Any], *, is_exact: bool) -> None:
    dates, date_range = options.get("dates"), options.get("date_range")
    if (dates is None) != (date_range is None):
        raise RecveilError(
            "dates (--dates): expected together with date_range (--date-range), as synthetic "
            "ratings are dated by the periods of a public range; give both, or neither",
            code="option.required",
        )
    if dates is None:
        return
    if is_exact:
        raise RecveilError(
            "dates (--dates): epsilon is none, and exact sums by period would reveal users; give "
            "an epsilon such as 3, or drop dates",
            code="option.conflict",
        )
    if dates == ORDER:
        raise RecveilError(
            "dates (--dates): synthetic users have no order, as their dates are sampled by period; "
            f"choose one of {', '.join(PERIODS)}",
            code="option.unsupported",
        )
    if dates not in PERIODS:
        raise unknown("dates (--dates)", dates, PERIODS)
    n_periods = periods_within(dates, date_range).size
    if n_periods > MOST_PERIODS:
        raise RecveilError(
            f"date_range (--date-range) has {n_periods:,} periods; expected at most "
            f"{MOST_PERIODS}: give longer ones with dates (--dates), or a shorter range",
            code="option.value",
        )


def _check_reuse(options: Mapping[str, Any]) -> None:
    missing = [name for name in ("releases", "item_catalog") if options.get(name) is None]
    if options.get("reuse") is None or not (missing or options.get("cohort") is not None):
        return
    name = missing[0] if missing else "cohort"
    flag = f"{name} (--{name.replace('_', '-')})"
    raise RecveilError(
        f"reuse (--reuse): {f'expected {flag}' if missing else f'not with {flag}'}: only releases "
        f"of one plan with a public list of items reuse noisy sums; "
        f"{'give it' if missing else 'drop one of the two'}, or drop reuse",
        code="option.required" if missing else "option.conflict",
    )


def require_n_users(n_users: Any) -> None:
    """Raise unless a number of synthetic users is valid."""
    if type(n_users) is not int or not 1 <= n_users <= MAX_USERS:
        raise RecveilError(
            f"n_users (--n-users) is {quoted(n_users)}; expected a number of users from 1 to "
            f"{MAX_USERS:,}",
            code="option.value",
        )


def check_n_users(options: Mapping[str, Any], layout: str, *, allow_large: bool) -> None:
    """Raise a RecveilError for very many synthetic users, before any read or query."""
    n_users = options.get("n_users")
    if n_users is not None and n_users > _MANY_USERS and layout != "model" and not allow_large:
        raise RecveilError(
            f"n_users (--n-users) is {n_users:,}, more than {_MANY_USERS:,}; lower it, or give "
            f"allow_large (--allow-large)",
            code="release.too-large",
        )


def needs_secret_noise(options: Mapping[str, Any]) -> bool:
    """Return whether a release needs noise that cannot be reproduced."""
    return parse_epsilon(options.get("epsilon")) is not None


def parse_item_catalog(value: Any) -> NDArray[Any] | str:
    """Return the public list of items, ascending, or "as-rated"."""
    # Ids are integers if all ids of the list are written so, and text otherwise. The type of the
    # ids of the ratings plays no part, since published ids must not depend on it.
    if isinstance(value, str) and value == AS_RATED:
        return AS_RATED
    names, where = _names(value)
    if not names or "" in names:
        raise RecveilError(
            f"item_catalog (--item-catalog): {where} "
            f"{'has an empty line' if names else 'is empty'}; expected one item id per line, or a "
            f"column item_id",
            code="input.line" if names else "input.empty",
        )
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise RecveilError(
            f"item_catalog (--item-catalog): {where} lists {quoted(twice)} twice; list each item "
            f"once",
            code="id.duplicate",
        )
    ids, others = as_ids(names), as_ids(names[1:])
    if ids.dtype == object and others.dtype != object and others.size:
        raise RecveilError(
            f"item_catalog (--item-catalog): {where} begins with {quoted(names[0])}, but all other "
            f"ids are whole numbers; call a header item_id, or move that id to another line",
            code="input.header",
        )
    return ids


def parse_item_features(value: ItemFeatures | str | PathLike[str]) -> ItemFeatures:
    """Return the features of items, from their file if they are not read yet."""
    if isinstance(value, ItemFeatures):
        return value
    require_path("a file of item features", item_features=value)
    return read_item_features(value)


def _names(value: Any) -> tuple[list[str], str]:
    """Return the ids as text, and the name of their source."""
    if not isinstance(value, str | PathLike):
        if is_frame(value) and any(hasattr(type(value), name) for name in ("columns", "schema")):
            return _names_in(value), "the data frame"
        return [str(name) for name in value], "the list"
    try:
        with spooled(value) as path:
            if (ids := read_item_ids(path)) is not None:
                return ids, path.name
            with watched_text(path, keeps_text=True, a_row=_A_ROW) as raw:
                text = raw.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RecveilError(
            f"item_catalog (--item-catalog): {quoted(str(value))} cannot be read as text; expected "
            f"a file with one item id per line",
            code="input.unreadable" if isinstance(error, OSError) else "input.encoding",
        ) from error
    return [line.strip() for line in text.splitlines()], Path(value).name


def _names_in(frame: Any) -> list[str]:
    """Return the ids in the column of items of a data frame, each once."""
    if hasattr(frame, "iloc"):  # pandas, whose other columns may not fit Arrow
        names = [str(name) for name in frame.columns]
        values = frame.iloc[:, names.index(item_column(names, "the data frame"))].tolist()
    else:
        table = frame_of(frame).table
        values = table[item_column(table.column_names, "the data frame")].to_pylist()
    return [*dict.fromkeys(text_of_value(value) or "" for value in values)]
