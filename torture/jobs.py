"""Jobs: one command of every verb, on small invented tables, and what it is to leave.

A try has a folder of its own. In it, `in` holds what a job reads, `at` is where it writes, and
`tmp` is for temporary files.
"""

import bz2
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recveil.datasets import make_ratings
from recveil.ratings import RatingScale

IN, AT, TMP = "in", "at", "tmp"
# Every id of a user begins so; where others can read it, a user's ratings got out.
SECRET = "owner-"
_NAMES = "user_id", "item_id", "rating"


class Target(NamedTuple):
    """What a job leaves at one place.

    Attributes
    ----------
    name : str
    kind : {"release", "drawn", "file", "comparison"}
        A release has a private twin; what is drawn from a model has none.
    """

    name: str
    kind: str = "file"

    @property
    def names(self) -> list[str]:
        """All names that it takes in the folder."""
        return [self.name, f"{self.name}.private"] if self.kind == "release" else [self.name]


class Job(NamedTuple):
    """A command, and what it leaves.

    Attributes
    ----------
    name : str
    arguments : tuple of str
        Those of the command line, run in the folder of the try.
    targets : tuple of Target
    replaces : bool
        Whether an older result, of another seed, stands there before.
    takes_force : bool
        Whether the verb replaces nothing unless ``--force`` is given.
    stdin : str
        The file that comes through standard input; none if "".
    weight : float
        How many tries it gets in proportion to other jobs; less for what takes long.
    """

    name: str
    arguments: tuple[str, ...]
    targets: tuple[Target, ...]
    replaces: bool = False
    takes_force: bool = True
    stdin: str = ""
    weight: float = 1.0

    @property
    def inputs(self) -> list[str]:
        """The files and folders that it reads."""
        return [word for word in (*self.arguments, self.stdin) if word.startswith(f"{IN}/")]

    def command(self, *, force: bool = False, seed: int | None = None) -> list[str]:
        """Return the arguments, for once with another seed."""
        words = list(self.arguments)
        if seed is not None:
            words[words.index("--seed") + 1] = str(seed)
        return [*words, "--force"] if force and self.takes_force else words


def _job(
    name: str, line: str, *targets: Target, replaces: bool = False, force: bool = True,
    stdin: str = "", weight: float = 1.0,
) -> Job:  # fmt: skip
    return Job(name, tuple(line.split()), targets, replaces, force, stdin, weight)


_OUT, _DRAWN = Target("out", "release"), Target("out", "drawn")
_ANONYMIZE = "anonymize in/ratings.csv -o at/out --seed 1"
_PADDED = "--k 3 --method predictive --predictor item-mean --grouping bisecting"
_SYNTHETIC = "anonymize in/ratings.csv -o at/out --epsilon 20 --scale 1:5:1 --item-catalog as-rated"
_COMPARE = "compare in/ratings.csv -o at/out --methods simple,raw --k 3 --targets 9 --seed 1"
_AUDIT = (
    "audit in/ratings.csv --release in/made --targets 20 --seed 1 --html at/page.html "
    "--risk at/risk.csv --json at/found.json"
)
_EVALUATE = (
    "evaluate in/ratings.csv --release in/made --split 0.2 --targets 9 --seed 1 "
    "--json at/found.json"
)
_AUDITED = (Target("page.html"), Target("risk.csv"), Target("found.json"))
_FOUND = Target("found.json")

JOBS = (
    _job("anonymize", f"{_ANONYMIZE} {_PADDED} --file-format csv", _OUT),
    _job("anonymize --force", f"{_ANONYMIZE} {_PADDED}", _OUT, replaces=True),
    _job(
        "anonymize --homogenize simple",
        f"{_ANONYMIZE} --k 3 --method predictive --homogenize simple --layout users "
        "--json at/found.json",
        _OUT,
        _FOUND,
    ),
    _job("anonymize --method sparse", f"{_ANONYMIZE} --k 3 --method sparse", _OUT, weight=0.5),
    _job(
        "anonymize --method k-corating",
        f"{_ANONYMIZE} --k 3 --method k-corating --fill item-mean",
        _OUT,
        replaces=True,
        weight=0.5,
    ),
    _job("anonymize --hide-items", f"{_ANONYMIZE} {_PADDED} --hide-items", _OUT, weight=0.5),
    _job("anonymize --epsilon", _SYNTHETIC, _OUT, weight=0.5),
    _job("sample", "sample in/model -o at/out --n-users 20 --seed 1", _DRAWN),
    _job(
        "sample --force", "sample in/model -o at/out --n-users 20 --seed 1", _DRAWN, replaces=True
    ),
    _job("convert", "convert in/ratings.csv at/made.csv.gz", Target("made.csv.gz")),
    _job("convert Parquet", "convert in/ratings.parquet at/made.parquet", Target("made.parquet")),
    _job("convert JSON", "convert in/ratings.jsonl at/made.csv", Target("made.csv"), weight=0.3),
    _job("convert bz2", "convert in/ratings.csv.bz2 at/made.csv", Target("made.csv"), weight=0.3),
    _job("convert parts", "convert in/parts/*.csv at/made.csv", Target("made.csv"), weight=0.3),
    _job("convert wide", "convert in/wide.csv at/made.csv --wide", Target("made.csv"), weight=0.3),
    _job("convert -", "convert - at/made.inter", Target("made.inter"), stdin="in/ratings.csv"),
    _job(
        "generate",
        "generate at/made.csv --users 60 --items 30 --ratings 900 --seed 1",
        Target("made.csv"),
        replaces=True,
    ),
    _job("audit", _AUDIT, *_AUDITED, force=False, weight=0.6),
    _job(
        "evaluate",
        _EVALUATE,
        _FOUND,
        replaces=True,
        force=False,
    ),
    _job("compare", _COMPARE, Target("out", "comparison"), force=False, weight=0.5),
    _job("verify", "verify in/made --json at/found.json", _FOUND, force=False),
    _job(
        "budget",
        "budget in/ratings.csv --ledger in/ledger.sqlite3 --json at/found.json",
        _FOUND,
        force=False,
        weight=0.5,
    ),
    _job(
        "forget",
        "forget in/model --user owner-0001 --ratings in/ratings.csv -o at/made.csv "
        "--log at/log.jsonl --json at/found.json",
        Target("made.csv"),
        Target("log.jsonl"),
        _FOUND,
        weight=0.5,
    ),
    _job("inspect", "inspect in/ratings.csv --json at/found.json", _FOUND, force=False, weight=0.5),
    _job(
        "describe",
        "describe in/made at/croissant.json --card in/card.toml",
        Target("croissant.json"),
        weight=0.5,
    ),
    _job(
        "report",
        "report in/made at/page.html --ratings in/ratings.csv",
        Target("page.html"),
        weight=0.5,
    ),
    _job("config", "config at/recveil.toml", Target("recveil.toml"), weight=0.3),
    _job("selftest", "selftest in/ratings.csv --seed 1 --json at/found.json", _FOUND, force=False),
    _job(
        "audit-lists",
        "audit-lists in/ratings.csv --recommender popular --shadows 8 --json at/found.json",
        _FOUND,
        force=False,
    ),
    _job(
        "demo",
        "demo -o at/out --seed 1",
        _OUT,
        Target("out-drawn", "release"),
        weight=0.1,
    ),
)  # fmt: skip


def job_called(name: str) -> Job:
    """Return the job of a name.

    Examples
    --------
    >>> job_called("verify").targets[0].name
    'found.json'
    """
    return next(job for job in JOBS if job.name == name)


def write_inputs(folder: Path) -> None:
    """Write the tables that all jobs read; their releases are made by `made_by`."""
    folder.mkdir()
    invented = make_ratings(
        n_users=60, n_items=30, n_ratings=900, seed=2, scale=RatingScale(1, 5, 1)
    )
    of = np.repeat(np.arange(invented.n_users), invented.activity)
    rated = zip(of, invented.indices, invented.values, strict=True)
    rows = [(f"{SECRET}{user:04}", str(700 + item), f"{rating:g}") for user, item, rating in rated]
    text = _csv(rows)
    half = len(rows) // 2
    (folder / "parts").mkdir(mode=0o700)
    written = {
        "ratings.csv": text,
        "ratings.csv.bz2": bz2.compress(text),
        "ratings.jsonl": _json_lines(rows),
        "parts/a.csv": _csv(rows[:half]),
        "parts/b.csv": _csv(rows[half:]),
        "wide.csv": _matrix(rows),
        "card.toml": b'url = "https://example.org/made"\n',
    }
    for name, content in written.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)


def _csv(rows: Sequence[tuple[str, str, str]]) -> bytes:
    return "".join(f"{','.join(row)}\n" for row in [_NAMES, *rows]).encode()


def _json_lines(rows: Sequence[tuple[str, str, str]]) -> bytes:
    objects = (dict(zip(_NAMES, row, strict=True)) for row in rows)
    return "".join(f"{json.dumps(each)}\n" for each in objects).encode()


def _matrix(rows: Sequence[tuple[str, str, str]]) -> bytes:
    """Return a row for each user, and a column for each item."""
    users, items = (list(dict.fromkeys(row[at] for row in rows)) for at in (0, 1))
    rating = {(user, item): value for user, item, value in rows}
    lines = [[_NAMES[0], *items]]
    lines += [[user, *(rating.get((user, item), "") for item in items)] for user in users]
    return "".join(f"{','.join(line)}\n" for line in lines).encode()


# What is made of the tables once, for the jobs that read it.
INPUTS_MADE = (
    ["convert", "in/ratings.csv", "in/ratings.parquet"],
    f"anonymize in/ratings.csv -o in/made --seed 1 {_PADDED}".split(),
    [
        *_SYNTHETIC.replace("at/out", "in/model").split(),
        *("--layout", "model", "--ledger", "in/ledger.sqlite3"),
    ],
)


def lay_ground(folder: Path, inputs: Path, old: Path | None) -> None:
    """Make the folder of a try, with copies of the inputs and of the older results, if any."""
    folder.mkdir()
    folder.chmod(0o755)
    shutil.copytree(inputs, folder / IN)
    (folder / TMP).mkdir(mode=0o755)
    (folder / AT).mkdir(mode=0o755)
    for made in (folder / AT, folder / TMP):
        made.chmod(0o755)
    lay_old(folder, old)


def lay_old(folder: Path, old: Path | None) -> None:
    """Put the older results of a job to where it writes."""
    for each in [] if old is None else sorted(old.iterdir()):
        target = folder / AT / each.name
        if each.is_dir():
            shutil.copytree(each, target)
        else:
            shutil.copy2(each, target)


def remove(folder: Path) -> None:
    """Remove the folder of a try."""
    shutil.rmtree(folder, ignore_errors=True)
