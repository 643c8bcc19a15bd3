"""Cells: one setting of the comparison, made, verified, attacked and judged; and its file."""

import hashlib
import json
import re
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from recveil.anonymize.methods import make_variant
from recveil.beside import folder_beside, sweep, temporary_names, write_beside
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.evaluate.evaluator import Evaluator
from recveil.publish import write_release
from recveil.release.registry import variant_of

Cell: TypeAlias = dict[str, Any]

_FORMAT = "recveil-cell-3"
CELLS, WORK = "cells", ".work-"
# What stands in a comparison's folder.
PAGE, TABLE = "index.html", "comparison.parquet"


class Setting(NamedTuple):
    """A method with its k; None for a method that takes none.

    Examples
    --------
    >>> Setting("padded", 5).title, Setting("padded", 5).file, Setting("raw", None).title
    ('padded, k = 5', 'padded-k5.json', 'raw')
    """

    method: str
    k: int | None

    @property
    def title(self) -> str:
        """The setting, for people."""
        return self.method if self.k is None else f"{self.method}, k = {self.k}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.method}.json" if self.k is None else f"{self.method}-k{self.k}.json"


@brief
class Ground(NamedTuple):
    """What all cells of a comparison share, and what makes one outdated if it changes.

    Attributes
    ----------
    data : str
        The digest of the ratings.
    split : float
        The share of ratings held out.
    seed, targets : int
    allow_large : bool
        Whether releases may have more than 100 labels for each rating.
    """

    data: str
    split: float
    seed: int
    targets: int
    allow_large: bool = False

    def key(self, setting: Setting) -> str:
        """Return what identifies the result of a setting: 64 hexadecimal digits."""
        parts = [_FORMAT, version("recveil"), *self, *setting]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def open_folder(out: Path) -> None:
    """Make the folder of a comparison, readable by its owner alone, or find an older one there.

    Raises
    ------
    RecveilError
        If there is something else, or a release around it, or it cannot be made.
    """
    if (out.parent / "release.json").exists():
        raise RecveilError(
            f"{out}: {out.parent} is a release, to be published, and a comparison is private; "
            f"choose another output"
        )
    if not out.parent.is_dir():
        raise RecveilError(f"{out}: {out.parent} is not a folder; create it first")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise RecveilError(f"{out} exists and is no folder; choose another output")
    if out.exists() and (others := _others(out)):
        raise RecveilError(
            f"{out} holds something else than a comparison ({', '.join(others[:3])}); "
            f"choose another output"
        )
    try:
        out.mkdir(mode=0o700, exist_ok=True)
        out.chmod(0o700)
        (out / CELLS).mkdir(exist_ok=True)
    except OSError as error:
        raise RecveilError(
            f"{out}: cannot be written ({error.strerror}); choose another output"
        ) from error
    # A killed run may have left a release with its private twin.
    sweep(out, rf"{re.escape(WORK)}\w+")
    for folder in (out, out / CELLS):
        sweep(folder, temporary_names())


def _others(out: Path) -> list[str]:
    """Return what in a folder no comparison has written."""
    # A page alone may be anybody's.
    own = {CELLS, PAGE, TABLE} if (out / CELLS).is_dir() else set()
    names = [path.name for path in out.iterdir()]
    others = [name for name in names if name not in own and not _is_ours(name)]
    if (out / CELLS).is_dir():
        others += [
            path.name
            for path in (out / CELLS).iterdir()
            if path.suffix != ".json" and not _is_ours(path.name)
        ]
    return sorted(others)


def _is_ours(name: str) -> bool:
    """Tell whether a killed run can have left this."""
    return name.startswith(WORK) or (name.startswith(".") and name.endswith(".tmp"))


def load_cell(out: Path, setting: Setting, key: str) -> Cell | None:
    """Return the finished result of a setting, or None if it must be computed.

    What failed for a reason that could be named fails again, and is finished; a fault is not.
    """
    try:
        cell = json.loads((out / CELLS / setting.file).read_text(encoding="utf-8"))
        return cell if cell["key"] == key and not cell["is_fault"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_cell(out: Path, setting: Setting, cell: Cell) -> None:
    """Write a cell beside its file, then rename it: a killed run leaves the old one or none."""
    text = json.dumps(cell, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_beside(out / CELLS / setting.file, lambda path: path.write_text(text, encoding="utf-8"))


def run_cell(out: Path, setting: Setting, ground: Ground, evaluator: Evaluator) -> Cell:
    """Make the release of a setting from the training ratings, verify it, attack it, judge it.

    What goes wrong is told in the cell, and stops nothing else.

    Parameters
    ----------
    out : Path
        The comparison's folder, in which the release is written for a moment, to be verified.
    setting : Setting
    ground : Ground
    evaluator : Evaluator
        The same for all cells.

    Returns
    -------
    dict
        ``key``, ``method``, ``k``, ``problem`` (None, or why there is no result), ``is_fault``,
        ``verified`` (the claim, its k and the k that was achieved; None for a baseline),
        ``evaluation`` (see `Evaluation.to_json`), ``lone_share`` and ``seconds``.
    """
    cell: Cell = {
        "key": ground.key(setting),
        **setting._asdict(),
        **{"problem": None, "is_fault": False, "seconds": {}},
        **{"verified": None, "evaluation": None, "lone_share": None},
    }
    try:
        cell |= _judge(out, setting, ground, evaluator, cell["seconds"])
    except RecveilError as error:
        cell["problem"] = str(error)
    except Exception as error:  # a fault of ours in one cell should not cost the others
        cell |= {"problem": f"{type(error).__name__}: {error}", "is_fault": True}
    return cell


def _judge(
    out: Path, setting: Setting, ground: Ground, evaluator: Evaluator, seconds: dict[str, float]
) -> Cell:
    train = evaluator.split.train
    watch = _Watch(seconds)
    anonymizer = make_variant(setting.method, setting.k, ground.seed)
    release = anonymizer.anonymize(train)
    watch.stop("anonymize")
    verified = None
    if variant_of(setting.method).about_claim.is_published:
        # The checker knows files only, as everybody would get them.
        with folder_beside(out, WORK) as folder:
            found = write_release(release, folder / "release", allow_large=ground.allow_large)
        verified = {
            "claim": found.claim,
            "k_required": found.k_required,
            "k_achieved": found.k_achieved,
        }
        watch.stop("verify")
    evaluation = evaluator.evaluate(release, anonymizer=anonymizer).to_json()
    watch.stop("evaluate")
    lone = release.private.lone_ratings
    return {
        "verified": verified,
        "evaluation": evaluation,
        "lone_share": lone and float(lone.rating_share),
    }


def strongest_attack(attacks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the attack that finds most people.

    Examples
    --------
    >>> found = [{"name": n, "person_found": {"rate": r}} for n, r in (("a", 0.1), ("b", 0.3))]
    >>> strongest_attack(found)["name"]
    'b'
    """
    return max(attacks, key=lambda attack: attack["person_found"]["rate"] or 0.0)


class _Watch:
    """Notes how long each step took, in seconds of the clock on the wall."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = time.perf_counter()

    def stop(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step] = round(now - self.last, 2)
        self.last = now
