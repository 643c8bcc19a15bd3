"""What the fast and the slow tests of `test_guarantees.py` share."""

import os
import re
import socket
import tempfile
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numba
import numpy as np
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError

TORTURE = bool(os.environ.get("RECVEIL_TORTURE"))

ANY = settings(
    deadline=None,
    max_examples=1_000 if TORTURE else 20,
    phases=tuple(set(Phase) - {Phase.explain, Phase.shrink}),  # it takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SCALES = [(1, 5, 1), (0.5, 5, 0.5), (-10, 10, 0.25), (0, 100, None), (1, 3, 1)]

# What a release may refuse, of ratings that cannot be published so.
REFUSED = re.compile(
    r"likes, not supported|cannot form|cannot be \d different ones|items of .* people can be told"
    r"|rounding may have made two groups' rows equal"
)

# No word of a release, whatever its numbers.
MARK = "zqx"

ITEMS = {
    "numbers": lambda n: 3 * n + 1,
    "text": lambda n: f"{MARK}film {n}",
    "odd text": lambda n: ['={}, "x"', "{}\ttab", " {} é✓", "-{}", "0{}", "{}0"][n % 6].format(n),
    "numbers as text": lambda n: f"{n}" if n % 2 else f"0{n}",
}

USERS = {
    "addresses": lambda n: f"{MARK}{7919 * n % 1009:04d}@example.org",
    "numbers": lambda n: 480_310_000_000_000 + 7919 * n % 1009,
    "odd text": lambda n: f'{MARK}"{7919 * n % 1009},\t=é',
}


@st.composite
def tables(draw, least_users=2):
    low, high, step = draw(st.sampled_from(SCALES))
    scale = RatingScale(low, high, step)
    n_people, n_items = draw(st.integers(least_users, 24)), draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rated = rng.random((n_people, n_items)) < draw(st.sampled_from([0.2, 0.6, 1.0]))
    rated[np.arange(n_people), rng.integers(n_items, size=n_people)] = True
    users, items = np.nonzero(rated)
    grid = step or draw(st.sampled_from([1.0, 0.01]))
    n_levels = draw(st.integers(2, int((high - low) / grid) + 1))
    values = low + grid * rng.integers(n_levels, size=users.size)
    values[:2] = low, low + grid  # or they are likes
    one_user, item = (draw(st.sampled_from(sorted(of))) for of in (USERS, ITEMS))
    return Ratings.from_columns(
        [USERS[one_user](user) for user in users.tolist()],
        [ITEMS[item](item_) for item_ in items.tolist()],
        np.round(values, 2),
        scale=scale,
    )


forms = st.tuples(st.sampled_from(["users", "groups"]), st.sampled_from(["csv", "parquet"]))


@contextmanager
def written(make, seed, form, threads=1):
    """A release, written on some machine, in some folder, with some threads."""
    before = numba.get_num_threads()
    with (
        tempfile.TemporaryDirectory(prefix=f"{MARK}place") as place,
        mock.patch.dict(os.environ, LOGNAME=f"{MARK}me", USER=f"{MARK}me"),
        mock.patch.object(socket, "gethostname", return_value=f"{MARK}host"),
        threadpool_limits(threads),
    ):
        numba.set_num_threads(min(threads, before))
        try:
            out = Path(place, "out")
            make(seed).write(out, layout=form[0], file_format=form[1])
            yield out
        except RecveilError as error:
            assert REFUSED.search(str(error)), error  # noqa: PT017
            event(f"refused: {REFUSED.search(str(error)).group()}")
            yield None
        finally:
            numba.set_num_threads(before)


def texts_of(out):
    """All that can be read in a release."""
    for file in out.iterdir():
        yield file.name
        yield file.read_bytes().decode(errors="replace")
        if file.suffix == ".parquet":
            stored = pq.ParquetFile(file)
            yield str(stored.metadata.to_dict())
            yield str(stored.metadata.metadata)
            yield str(stored.schema)
            for column in stored.read().columns:
                yield "\n".join(map(str, column.unique().to_pylist()))
