"""Inputs whose answers are obvious, and a database server."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from numba.core import event

from recveil.datasets import make_ratings
from recveil.evaluation import recipient
from recveil.evaluation.rankers import EaseOnBoth, PureSVD
from recveil.evaluation.rating_predictors import RidgeFactors
from recveil.methods import anonymize, base
from recveil.methods import registry as methods
from recveil.methods.registry import Maker, forget, maker_of, register
from recveil.methods.synthetic import fitting, learning, synthesizer
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.options import (
    check_synthetic_options,
    needs_secret_noise,
    parse_epsilon,
    parse_item_catalog,
)
from recveil.publish import Release, convert
from recveil.ratings import Ratings, RatingScale
from recveil.release import registry
from recveil.release.claim import Claim
from recveil.release.ledger import Ledger, Query
from recveil.release.manifest import Manifest
from recveil.release.records import Groups, Records, fresh_prefix
from recveil.release.sides import Private, Published
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.runtime.progress import Whole, _Span

ALL_CHANCES = bool(os.environ.get("RECVEIL_TORTURE"))
"""Whether chance is left alone: each run then tries something else."""


LEDGERS = tempfile.TemporaryDirectory(prefix="recveil-ledgers-")
os.environ["RECVEIL_LEDGER"] = str(Path(LEDGERS.name, "ledger.sqlite3"))
"""No test writes to the ledger of who runs it; each has one of its own."""

TESTS = Path(__file__).parent
SLOW_FOLDERS = {"slow", "golden", "spark", "torture", "browser"}
CPU_SECONDS = 4
"""A test of the fast tier should take one second; a busy machine makes it more."""
SHARE = 4
"""The fast tier runs every fourth case of a test that has more; the slow tier runs the others."""


def pytest_addoption(parser):
    parser.addoption("--tier", choices=("fast", "slow"), help="run one tier; default: all tests")
    parser.addoption("--rotation", type=int, default=0, help="which cases are in the fast tier")


def is_in_slow_folder(path: Path) -> bool:
    return path.is_relative_to(TESTS) and bool(SLOW_FOLDERS & {*path.relative_to(TESTS).parts})


def pytest_ignore_collect(collection_path, config):
    return (config.getoption("--tier") == "fast" and is_in_slow_folder(collection_path)) or None


def pytest_collection_modifyitems(config, items):
    """Keep the tests of the tier; together the tiers are all tests, and none is in both."""
    tier, cases = config.getoption("--tier"), defaultdict(list)
    if tier is None:
        return
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    fast = set()
    for of_one_test in cases.values():
        first = config.getoption("--rotation") % SHARE if len(of_one_test) > SHARE else 0
        step = SHARE if len(of_one_test) > SHARE else 1
        if not is_in_slow_folder(of_one_test[0].path):
            fast.update(of_one_test[first::step])
    dropped = [item for item in items if (item in fast) != (tier == "fast")]
    items[:] = [item for item in items if (item in fast) == (tier == "fast")]
    config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a slow test of the fast tier; fixtures, doctests and compiling do not count."""
    is_limited, compiling = item.config.getoption("--tier") == "fast", []
    before = time.process_time()
    with event.install_timer("numba:compile", compiling.append):
        result = yield
    spent = time.process_time() - before - sum(compiling)
    if is_limited and spent > CPU_SECONDS and isinstance(item, pytest.Function):
        pytest.fail(f"took {spent:.1f} CPU seconds; move it to a folder `slow` next to its file")
    return result


# What is compiled at its first call, or waits for a busy machine, is no failure.
settings.register_profile("patient", deadline=None, derandomize=not ALL_CHANCES)
settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def the_same_chances_again():
    """Let each test draw the same "secret" noise in every run, but not twice the same in a run.

    Else one draw in thousands makes a right program fail, on a day when it was not changed.
    """
    if ALL_CHANCES:
        yield
        return
    drawn = Counter()

    def key(n_bytes: int) -> bytes:
        # The file and the phase, not the test: those who share a fixture come in any order.
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        drawn[test] += 1
        place = f"{test.split('::')[0]} {test.split(' ')[-1]} {drawn[test]}"
        return sha256(place.encode()).digest()[:n_bytes]

    numbers = SimpleNamespace(randbits=lambda n_bits: int.from_bytes(key(n_bits // 8)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoiseSource, "secret", lambda: NoiseSource(key(32), is_secret=True))
        patch.setattr(base, "secrets", numbers)
        patch.setattr(synthesizer, "secrets", numbers)
        yield


@pytest.fixture
def two_blocks() -> Ratings:
    """Twelve users: the first six love items 0-4 and hate 5-9, the last six the other way round.

    Each has rated eight of the ten items.
    """
    users, items, values = [], [], []
    for user in range(12):
        for item in range(10):
            if (user + item) % 5 != 0:
                users.append(user)
                items.append(item)
                values.append(5 if (user < 6) == (item < 5) else 1)
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


@pytest.fixture
def fans_of_two_blocks() -> np.ndarray:
    """Which of the two blocks each of the twelve users belongs to."""
    return np.repeat([0, 1], 6)


@pytest.fixture(scope="session")
def invented() -> Ratings:
    """Three hundred invented users, with times."""
    return make_ratings(n_users=300, n_items=120, n_ratings=6_000, seed=5)


@pytest.fixture(scope="session")
def word_numbers() -> Ratings:
    """A hundred and twenty users, half of forty items rated, from 1 to 4."""
    scale = RatingScale(1, 4, 1)
    return make_ratings(n_users=120, n_items=40, n_ratings=2_400, seed=5, scale=scale)


@pytest.fixture(scope="session")
def words(word_numbers) -> Ratings:
    """The same in words, from hate to love."""
    return word_numbers.with_scale(RatingScale.of_labels(("hate", "dislike", "like", "love")))


@pytest.fixture(scope="session")
def words_file(tmp_path_factory, words) -> Path:
    """The same as a file."""
    file = tmp_path_factory.mktemp("tables") / "words.csv"
    convert(words, file)
    return file


@pytest.fixture(scope="session")
def words_made(tmp_path_factory, words, words_file) -> Path:
    """Releases of it, one a folder."""
    folder = tmp_path_factory.mktemp("words")
    for name, options in {
        "padded": {"method": "predictive"},
        "simple": {"method": "predictive", "homogenize": "simple"},
        "sparse": {"method": "sparse"},
    }.items():
        anonymize(words_file, folder / name, k=5, seed=1, scale=words.scale, **options)
    return folder


@pytest.fixture(autouse=True)
def _own_ledger(monkeypatch):
    monkeypatch.setenv("RECVEIL_LEDGER", str(Path(LEDGERS.name, uuid4().hex, "ledger.sqlite3")))


@pytest.fixture(scope="module")
def rough_fit():
    """Fit drawn users roughly: it takes most of the time, and what is promised is the same.

    What comes after the noise cannot reveal more of any user than the noisy sums do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "_SAMPLE_SIZE", 200)
        patch.setattr(fitting, "_ROUNDS", 20)
        patch.setattr(learning, "_SAMPLE_SIZE", 200)
        patch.setattr(learning, "_TURNS", 1)
        yield


@pytest.fixture(scope="module")
def few_recommenders():
    """Let recipients try fewer recommenders: those that are left out take half of the time."""

    def few(usual=recipient.default_recommenders):
        slow = (RidgeFactors, EaseOnBoth, PureSVD)
        return tuple(each for each in usual() if not isinstance(each, slow))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipient, "default_recommenders", few)
        yield


@pytest.fixture
def reports(monkeypatch):
    """Every report of progress: how much of the whole, which parts, and what the loop has done."""
    found, reach, report = [], Whole.reach, _Span.report

    def is_shown():
        """Work in a second thread is not."""
        return threading.current_thread() is threading.main_thread()

    def note(whole, fraction, until, path=()):
        if is_shown():
            found.append((fraction, path, None))
        reach(whole, fraction, until, path)

    def note_count(span, until, count):
        loop = SimpleNamespace(loop=span, total=count.total, done=count.done)
        if is_shown():
            found.append((span.at, span.path, loop))
        report(span, until, count)

    monkeypatch.setattr(Whole, "reach", note)
    monkeypatch.setattr(_Span, "report", note_count)
    return found


class DrawnByShares:
    """The simplest maker of drawn users: each user takes items by their noisy shares.

    It represents any method that draws users; its sums are one bounded vector a user.
    """

    def __init__(
        self,
        epsilon,
        delta=1e-6,
        *,
        n_users=None,
        item_catalog=None,
        rating_grid="tenths",
        seed=None,
    ):
        self.epsilon, self.delta, self.n_users = epsilon, delta, n_users
        self.item_catalog, self.rating_grid, self.seed = item_catalog, rating_grid, seed

    def anonymize(self, ratings):
        rng = np.random.default_rng(self.seed)
        of = np.repeat(np.arange(ratings.n_users), ratings.activity)
        sums = np.bincount(ratings.indices, 1 / np.sqrt(ratings.activity)[of], ratings.n_items)
        ledger = None if self.epsilon is None else self._ledger(ratings.n_items)
        if ledger is not None:
            sums = sums + rng.normal(scale=ledger.queries[0].sigma, size=sums.size)
        shares = np.maximum(sums, 0.01)
        model = self._model(ratings, shares / shares.sum())
        n_people = ratings.n_users if self.n_users is None else self.n_users
        step = 0.1 if self.rating_grid == "tenths" else ratings.scale.step
        claim = Claim("aggregates", ratings.n_users)
        if ledger is not None:
            claim = Claim(
                "differentially-private", 1, epsilon=self.epsilon, delta=self.delta, ledger=ledger
            )
        settings = {
            "method": SYNTHETIC.title,
            "noise": "none" if ledger is None else "gaussian",
            "item_catalog": "selected" if self.item_catalog is None else "given",
            "n_users": "counted" if self.n_users is None else "requested",
            "value_step": step,
            "omitted_share": 0.0,
            "user_counts": [8.0],
            "cutpoints": [0.0],
            "spreads": [1.0, 1.0],
            "slopes": [],
            "slope_spreads": [],
        }
        drawing = int(rng.integers(1 << 60))
        published = Published(
            claim=claim,
            items=ratings.items,
            scale=ratings.scale,
            settings=settings,
            n_users=n_people,
            prefix=fresh_prefix(np.empty(0), rng),
            blocks=lambda: draw_by_shares(
                Manifest(claim, "users", settings, ratings.scale), model, n_people, drawing
            ),
            default_layout="users",
            model=lambda: model,
        )
        private = Private(users=ratings.users, groups=Groups.empty(), seed=self.seed)
        return Release(published, private)

    def _ledger(self, n_items):
        sigma = 0.01
        while True:
            ledger = Ledger((Query("item sums", "who rated each item", 1.0, sigma, n_items),))
            if ledger.epsilon(self.delta) <= self.epsilon:
                return ledger
            sigma *= 1.01

    def _model(self, ratings, shares):
        middle = (ratings.scale.low + ratings.scale.high) / 2
        numbers = [np.log(shares), np.full(shares.size, middle), np.ones(shares.size)]
        columns = {"item_id": pa.array(ratings.items)}
        names = SYNTHETIC.model_columns(4, {})[1:]
        columns |= {
            name: pa.array(of.astype(np.float32)) for name, of in zip(names, numbers, strict=True)
        }
        return pa.table(columns)


def draw_by_shares(manifest, model, n_people, seed):
    rng = np.random.default_rng(seed)
    shares = np.exp(model["offset"].to_numpy().astype(float))
    shares /= shares.sum()
    size, scale = min(8, shares.size), manifest.scale
    for _ in range(n_people):
        items = np.sort(rng.choice(shares.size, size, replace=False, p=shares))
        drawn = model["rating_mean"].to_numpy()[items] + rng.normal(size=size)
        labels = scale.round(np.clip(drawn, scale.low, scale.high), manifest.settings["value_step"])
        indptr = np.array([0, size], np.int64)
        yield Records(np.ones(1, np.int64), indptr, items.astype(np.int32), labels)


@pytest.fixture(scope="module")
def synthetic():
    """Register a maker of drawn users under the words of such releases.

    Its ledger and its model are others than those of recveil's own.
    """
    maker = Maker(
        method=replace(SYNTHETIC, problems=lambda _manifest, _format: iter(())),
        make=DrawnByShares,
        check=check_synthetic_options,
        read={
            "epsilon": lambda given, _ratings, _k: parse_epsilon(given),
            "item_catalog": lambda given, _ratings, _k: parse_item_catalog(given),
        },
        is_secret=needs_secret_noise,
        sample=lambda manifest, model, all_users, rng: draw_by_shares(
            manifest, model, all_users, int(rng.integers(1 << 60))
        ),
        again=lambda manifest, seed: DrawnByShares(
            manifest.claim.epsilon, manifest.claim.delta or 1e-6, seed=seed
        ),
    )
    # The registered maker gives way while the tests run.
    known = [(held, dict(held)) for held in (methods._MAKERS, registry._METHODS)]
    forget(maker_of(SYNTHETIC.name))
    register(maker)
    yield DrawnByShares
    for held, before in known:  # in the order in which they were
        held.clear()
        held.update(before)


@pytest.fixture(scope="module")
def postgresql_server(_postgresql_folder):
    """A PostgreSQL server of our own, with an empty database.

    Any account that reaches the socket may log in as the user "shop"; "guarded" needs a password.
    """
    programs, folder = _postgresql_programs(), _postgresql_folder
    name = f"of_{uuid4().hex[:12]}"
    subprocess.run([programs / "createdb", "-h", folder, "-U", "shop", name], check=True)
    return f"postgresql://shop@/{name}?host={folder}"


@pytest.fixture(scope="session")
def _postgresql_folder():
    """The temporary folder of a PostgreSQL server; its socket is all that leads to it."""
    pytest.importorskip("adbc_driver_postgresql")
    programs = _postgresql_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    os.chown(folder, *user)
    as_user = {"user": user[0], "group": user[1], "extra_groups": []} if os.getuid() == 0 else {}
    as_user |= {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    data = folder / "data"
    make = ["-D", data, "--auth=trust", "--username=shop", "--no-sync", "--encoding=UTF8"]
    subprocess.run([programs / "initdb", *make], check=True, **quiet, **as_user)
    hba = data / "pg_hba.conf"
    hba.write_text("local all guarded scram-sha-256\n" + hba.read_text())
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-F"]
    server = subprocess.Popen([programs / "postgres", "-D", data, *settings], **quiet, **as_user)
    try:
        _wait_for(folder / ".s.PGSQL.5432", server)
        yield folder
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _postgresql_programs() -> Path | None:
    """Return the folder of the server's programs, if it is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    known = shutil.which("postgres") or (found[-1] if found else None)
    folder = None if known is None else Path(known).resolve().parent
    return folder if folder and (folder / "initdb").exists() else None


def _unprivileged() -> tuple[int, int]:
    """Return who runs the server, which refuses to be run by root."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    import pwd

    found = pwd.getpwnam("nobody")
    return found.pw_uid, found.pw_gid


def _wait_for(socket: Path, server: subprocess.Popen) -> None:
    from adbc_driver_manager import Error
    from adbc_driver_postgresql import dbapi

    for _ in range(600):
        assert server.poll() is None, "the PostgreSQL server ended"
        if socket.exists():
            try:
                dbapi.connect(f"postgresql://shop@/postgres?host={socket.parent}").close()
                return
            except Error:
                pass
        time.sleep(0.05)
    raise AssertionError("the PostgreSQL server did not start")
