"""Synthetic tables, and public data sets to download."""

import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io import read, write_ratings
from recveil.io.write import reject_replacing, resolve_target
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import ScaleLike, scale_of
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, quoted

__all__ = ["fetch_movielens", "generate", "make_ratings"]

FIRST_DAY = 10_957  # 2000-01-01
N_DAYS = 2_190  # six years
_RATINGS_A_SESSION = 8
_DAYS_BETWEEN_SESSIONS = 12.0
_RANK = 8
# More users or items are not generated.
_MOST = 2**31 - 1


def make_ratings(
    n_users: int = 2_000,
    n_items: int = 1_000,
    n_ratings: int = 100_000,
    seed: int = 0,
    *,
    scale: ScaleLike | None = None,
    activity_spread: float = 1.0,
    popularity_spread: float = 1.5,
    preference: float = 0.5,
    noise: float = 0.8,
) -> Ratings:
    """Generate a synthetic table of ratings.

    Parameters
    ----------
    n_users, n_items, n_ratings : int
        Size of the table. The ids of users and items are 1, 2, ...; every user rates at least one
        item.
    seed : int
        The same seed gives the same ratings.
    scale : RatingScale, optional
        1:5:1 by default; it needs a step.
    activity_spread : float
        Standard deviation of the logarithm of a user's number of ratings.
    popularity_spread : float
        Standard deviation of the logarithm of an item's popularity.
    preference : float
        Strength of the effect of latent factors on a rating, in points of a 1-to-5 scale.
    noise : float
        Standard deviation of the noise, in the same points.

    Returns
    -------
    Ratings
        With days from 2000 to 2005.

    Raises
    ------
    RecveilError
        If the sizes do not fit: fewer ratings than users, or more than half of all cells.

    Examples
    --------
    >>> make_ratings(n_users=10, n_items=20, n_ratings=50, seed=1)
    Ratings(10 users × 20 items, 50 ratings, 25% filled, scale 1:5:1, with times)
    """
    _check_sizes(n_users, n_items, n_ratings)
    if seed < 0:
        raise RecveilError(f"seed is {seed}; expected at least 0", code="argument.value")
    scale = scale_of(scale) or RatingScale(1, 5, 1)
    levels = scale.levels
    rng = np.random.default_rng(seed)
    counts = _activity(rng, n_users, n_items, n_ratings, activity_spread)
    popularity = np.exp(popularity_spread * rng.standard_normal(n_items))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    user_bias = 0.4 * rng.standard_normal(n_users, dtype=np.float32)
    item_bias = 0.4 * rng.standard_normal(n_items, dtype=np.float32)
    user_factors = rng.standard_normal((n_users, _RANK), dtype=np.float32)
    item_factors = rng.standard_normal((n_items, _RANK), dtype=np.float32)
    item_factors = item_factors / np.sqrt(_RANK)
    keep, alias = _alias_table(popularity)
    # Users rate above the middle of the scale: 3.6 of 5 in the Netflix Prize data.
    middle, unit = scale.low + 0.65 * scale.range, scale.range / 4 or 1.0
    biases, embeddings = (user_bias, item_bias), (user_factors, item_factors)
    weights = np.float32(preference), np.float32(noise)
    items, raw, days = _rate(rng, indptr, keep, alias, *biases, *embeddings, *weights)
    nearest = np.rint((middle + unit * raw - scale.low) / (scale.step or 1.0))
    values = levels[np.clip(nearest, 0, levels.size - 1).astype(np.int64)].astype(np.float32)
    for array in (indptr, items, values, days):
        array.flags.writeable = False
    users, item_ids = np.arange(1, n_users + 1), np.arange(1, n_items + 1)
    return Ratings(users, item_ids, indptr, items, values, days, scale)


def _check_sizes(n_users: int, n_items: int, n_ratings: int) -> None:
    for name, number in (("n_users", n_users), ("n_items", n_items)):
        if not 1 <= number <= _MOST:
            raise RecveilError(
                f"{name} is {quoted(number)}; expected from 1 to {_MOST:,}", code="argument.value"
            )
    most = max(n_users, n_users * n_items // 2)
    if not n_users <= n_ratings <= most:
        raise RecveilError(
            f"n_ratings is {n_ratings:,}; {n_users:,} users and {n_items:,} items take from "
            f"{n_users:,} (one each) to {most:,} (half of the cells)",
            code="argument.value",
        )


def _activity(
    rng: np.random.Generator, n_users: int, n_items: int, n_ratings: int, spread: float
) -> NDArray[np.int64]:
    """Deal out the ratings: log-normal, at least one and at most 0.8 n_items to each user."""
    wishes = np.exp(spread * rng.standard_normal(n_users))
    most = max(1, int(0.8 * n_items))

    def dealt(factor: float) -> NDArray[np.int64]:
        return np.clip(np.rint(factor * wishes), 1, most).astype(np.int64)

    low, high = 0.0, most / wishes.min()
    for _ in range(100):
        factor = (low + high) / 2
        low, high = (factor, high) if dealt(factor).sum() < n_ratings else (low, factor)
    counts = dealt(low)
    # What rounding left goes one by one to random users who can still take it.
    while (missing := n_ratings - int(counts.sum())) > 0:
        takers = rng.permutation(np.flatnonzero(counts < most))[:missing]
        counts[takers] += 1
    return counts


def _alias_table(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Prepare drawing items by weight with one look-up (Walker's alias method)."""
    n = weights.size
    share = weights * (n / weights.sum())
    keep, alias = np.ones(n), np.arange(n, dtype=np.int32)
    small, large = list(np.flatnonzero(share < 1)), list(np.flatnonzero(share >= 1))
    while small and large:
        poor, rich = small.pop(), large[-1]
        keep[poor], alias[poor] = share[poor], rich
        share[rich] -= 1 - share[poor]
        if share[rich] < 1:
            small.append(large.pop())
    return keep, alias


@compiled()
def _rate(
    rng: np.random.Generator,
    indptr: NDArray[Any],
    keep: NDArray[Any],
    alias: NDArray[Any],
    user_bias: NDArray[Any],
    item_bias: NDArray[Any],
    user_factors: NDArray[Any],
    item_factors: NDArray[Any],
    preference: np.float32,
    noise: np.float32,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Let each user rate items in sessions; rows are sorted by item."""
    n_users, n_items = user_bias.size, item_bias.size
    items = np.empty(indptr[-1], np.int32)
    raw = np.empty(indptr[-1], np.float32)
    days = np.empty(indptr[-1], np.int32)
    rated_by = np.full(n_items, -1, np.int32)
    day_of = np.empty(n_items, np.int32)
    for user in range(n_users):
        start, end = indptr[user], indptr[user + 1]
        day = N_DAYS * np.sqrt(rng.random())  # the service grows: later years have more users
        at, tries = start, 0
        while at < end:
            tries += 1
            item = int(rng.random() * n_items)
            # A user who has all popular items takes any of the rest.
            if tries < 20 * (end - start) and rng.random() >= keep[item]:
                item = alias[item]
            if rated_by[item] == user:
                continue
            affinity = np.float32(0)
            for f in range(user_factors.shape[1]):
                affinity += user_factors[user, f] * item_factors[item, f]
            if rng.random() * (1 + np.exp(-affinity)) > 1:
                continue
            if rng.random() * _RATINGS_A_SESSION < 1:
                day = (day - _DAYS_BETWEEN_SESSIONS * np.log(1 - rng.random())) % N_DAYS
            rated_by[item] = user
            day_of[item] = FIRST_DAY + int(day)
            items[at] = item
            at += 1
        items[start:end].sort()
        for at in range(start, end):
            item = items[at]
            affinity = np.float32(0)
            for f in range(user_factors.shape[1]):
                affinity += user_factors[user, f] * item_factors[item, f]
            opinion = user_bias[user] + item_bias[item] + preference * affinity
            raw[at] = opinion + noise * np.float32(rng.standard_normal())
            days[at] = day_of[item]
    return items, raw, days


def generate(
    output: str | PathLike[str],
    *,
    users: int = 2_000,
    items: int = 1_000,
    ratings: int = 100_000,
    seed: int = 0,
    scale: ScaleLike | None = None,
    format: str | None = None,
    force: bool = False,
) -> Ratings:
    """Generate a synthetic table of ratings and write it.

    Parameters
    ----------
    output : path
        The file to write; its ending determines the format unless `format` is given.
    users, items, ratings : int
        Size of the table.
    seed : int
        The same seed gives the same ratings.
    scale : RatingScale, optional
        1:5:1 by default.
    format : {"parquet", "csv", "inter"}, optional
    force : bool
        Replace an existing `output`.

    Raises
    ------
    RecveilError
        If the sizes do not fit each other or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     generate(Path(folder, "ratings.csv"), users=10, items=20, ratings=50)
    Ratings(10 users × 20 items, 50 ratings, 25% filled, scale 1:5:1, with times)
    """
    resolve_target(output, format)
    reject_replacing(output, force=force)
    made = make_ratings(users, items, ratings, seed, scale=scale)
    write_ratings(made, output, format=format)
    return made


_HOME = "https://files.grouplens.org/datasets/movielens/"
# The MD5 sums that GroupLens publishes with its archives. The "latest" archives change, so their
# sum is fetched with them.
_ARCHIVES = {
    "100k": ("ml-100k.zip", "u.data", "0e33842e24a9c977be4e0107933c0723"),
    "1m": ("ml-1m.zip", "ratings.dat", "c4d9eecfca2ab87c1945afe126590906"),
    "10m": ("ml-10m.zip", "ratings.dat", "ce571fd55effeba0271552578f2648bd"),
    "20m": ("ml-20m.zip", "ratings.csv", "cd245b17a1ae2cc31bb14903e1204af3"),
    "25m": ("ml-25m.zip", "ratings.csv", "6b51fb2759a8657d3bfcbfc42b592ada"),
    "latest-small": ("ml-latest-small.zip", "ratings.csv", None),
}


def fetch_movielens(name: str = "100k", *, folder: str | Path | None = None) -> Ratings:
    """Download a MovieLens data set, check it against the published MD5 sum, and read it.

    Parameters
    ----------
    name : {"100k", "1m", "10m", "20m", "25m", "latest-small"}
    folder : path, optional
        Folder of the archives; by default the user's cache folder. An existing archive is not
        downloaded again.

    Raises
    ------
    RecveilError
        For an unknown name, without network, or if the archive is not the published one.

    Notes
    -----
    The data belongs to GroupLens, University of Minnesota; its README states the terms of use.

    Examples
    --------
    >>> fetch_movielens("100m")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: MovieLens '100m': expected one of 100k, 1m, 10m, 20m, 25m,
    latest-small
    """
    if name not in _ARCHIVES:
        raise RecveilError(
            f"MovieLens {name!r}: expected one of {', '.join(_ARCHIVES)}", code="argument.value"
        )
    import pooch

    archive, member, md5 = _ARCHIVES[name]
    where = Path(folder) if folder is not None else Path(pooch.os_cache("recveil"))
    if folder is None and not where.is_absolute():
        raise RecveilError(
            f"MovieLens {name!r}: this user has no home to keep it in; name a folder, such as "
            f"folder='movielens'",
            code="option.required",
        )
    try:
        known = f"md5:{md5 or _published_sum(archive, where)}"
        files = pooch.retrieve(
            _HOME + archive, known, archive, where, processor=pooch.Unzip(), progressbar=False
        )
    except OSError as error:  # what pooch's downloader raises without a network is one, too
        raise RecveilError(
            f"MovieLens {name}: could not fetch {_HOME}{archive} ({type(error).__name__}); "
            f"check the network, or put the archive into {where} yourself",
            code="machine.network",
        ) from error
    except ValueError as error:  # pooch's word for a wrong checksum
        raise RecveilError(
            f"MovieLens {name}: {archive} is not the published archive ({known} expected); "
            f"delete it from {where} and fetch it again",
            code="input.damaged",
        ) from error
    return read(next(file for file in files if Path(file).name == member))


def _published_sum(archive: str, where: Path) -> str:
    import pooch

    page = pooch.retrieve(f"{_HOME}{archive}.md5", None, f"{archive}.md5", where)
    found = re.search(r"\b[0-9a-f]{32}\b", Path(page).read_text())
    if found is None:
        raise OSError("the published checksum holds no MD5 sum")
    return found.group()
