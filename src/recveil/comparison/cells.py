"""Cells of a comparison: one setting, released, verified, attacked and evaluated; and its files."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, TypedDict

from recveil.attacks import AttackTarget
from recveil.attacks.membership.inference import KNOWN
from recveil.attacks.membership.scores import SCORERS
from recveil.attacks.registry import ATTACKS
from recveil.auditing.attribute_inference import infer_added
from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.evaluation.evaluator import Evaluator, NominalEvaluator
from recveil.methods.registry import make_variant
from recveil.publish import write_release
from recveil.release.claim import bounds_of, claim_kind
from recveil.release.registry import variant_of
from recveil.release.sides import Sides
from recveil.runtime.atomic_writes import (
    make_folder,
    reject_in_release,
    sweep,
    temporary_folder_near,
    temporary_names,
    write_atomically,
)
from recveil.runtime.devices import (
    is_anothers,
    is_written_by_others,
    owner_name,
    read_whole,
    reject_traps,
)
from recveil.runtime.errors import (
    MachineError,
    RecveilError,
    is_of_machine,
    lacks_files,
    reject_interruption,
)
from recveil.runtime.memory import lacks_memory, not_enough
from recveil.runtime.progress import THE_REST, parts
from recveil.runtime.safe_repr import brief


class Setting(NamedTuple):
    """A method with its k; None for a method without one.

    Examples
    --------
    >>> Setting("padded", 5).title, Setting("padded", 5).file, Setting("raw", None).title
    ('padded, k = 5', 'padded-k5.json', 'raw')
    """

    method: str
    k: int | None

    @property
    def title(self) -> str:
        """The setting's display name."""
        return self.method if self.k is None else f"{self.method}, k = {self.k}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.method}.json" if self.k is None else f"{self.method}-k{self.k}.json"


class VerifiedK(NamedTuple):
    """What verification counted in the files of a setting's release."""

    # The verified claim
    claim: str
    # Number of users that must share each row (or set of items), and that do
    k_required: int
    k_achieved: int


class Rate(TypedDict):
    """A rate with its 95% interval, in an evaluation's JSON; None if it was not measured."""

    rate: float | None
    low: float | None
    high: float | None


class ReidentificationFigures(TypedDict):
    """What comparisons read of re-identification by an adversary, in an evaluation's JSON."""

    name: str
    attack: str
    targets_requested: int
    targets_attacked: int
    reidentified: Rate
    baseline: float
    class_reidentified: Rate
    class_baseline: float


class AttackFigures(ReidentificationFigures):
    """What comparisons read of an adversary's results, in an evaluation's JSON."""

    links: Rate
    link_baseline: float | None


class ShadowFigures(TypedDict):
    """What comparisons read of membership inference with shadow releases, in its JSON."""

    users: int
    auc: Rate
    tpr_at_5: Rate
    counts_auc: Rate


@brief
@dataclass(frozen=True)
class Cell:
    """Results of one setting: released, verified, attacked and evaluated.

    Parameters
    ----------
    key : str
        Identifies the input; see `recveil.comparison.cells.Ground`.
    setting : Setting
    problem : str or None
        Why there is no result; then there is no evaluation.
    is_fault : bool
        Whether the problem is a bug or a fault of the machine, so that a retry makes sense.
    verified : VerifiedK or None
        None for a baseline, which makes no claim.
    evaluation : mapping or None
        The JSON data of `recveil.evaluation.Evaluation.to_dict`.
    lone_share : float or None
        With simple homogenizing, the share of ratings published unchanged.
    seconds : mapping of str to float
        Time of each step.
    shadows : mapping or None
        The result of `recveil.auditing.shadow_releases.ShadowMembership.to_dict`, or why there is
        none, as ``problem``. None if not requested.

    Examples
    --------
    >>> cell = Cell("4f", Setting("raw", None), evaluation={"recipient": {"rmse": 0.9}})
    >>> cell.figure("recipient", "rmse"), Cell.from_json(cell.to_json()) == cell
    (0.9, True)
    """

    key: str
    setting: Setting
    problem: str | None = None
    is_fault: bool = False
    verified: VerifiedK | None = None
    evaluation: Mapping[str, Any] | None = None
    lone_share: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    shadows: Mapping[str, Any] | None = None
    # What the release adds to the inference of each declared attribute
    attributes: Mapping[str, Any] | None = None
    # The highest TPR at 5% FPR by the privacy loss of the release
    membership_bound: float | None = None

    @property
    def counted_k(self) -> int | None:
        """Number of users that share each row (or set of items), as counted in the written files.

        None where nothing was written, and where no row belongs to a user.
        """
        if self.verified is None or not claim_kind(self.verified.claim).contains_users:
            return None
        return self.verified.k_achieved

    @property
    def bound(self) -> float | None:
        """The highest rate that the verified claim allows; a claim about items allows all."""
        if self.verified is None:
            return None
        return claim_kind(self.verified.claim).bound(self.verified.k_required)

    @property
    def attacks(self) -> list[AttackFigures]:
        """Results of each adversary who knows a number of ratings."""
        return self.figure("disclosure", "attacks") or []

    @property
    def reidentifications(self) -> list[ReidentificationFigures]:
        """Results of all adversaries, and of those who know all ratings; empty as for `strongest`.

        The latter attack where users share rows of few items, as in the audit.
        """
        if self.strongest is None:
            return []
        by_all = self.figure("disclosure").get("by_all_ratings", [])
        return [one for one in (*self.attacks, *by_all) if one["targets_attacked"]]

    @property
    def strongest(self) -> AttackFigures | None:
        """Results of the adversary with a number of ratings who re-identifies most users.

        None if no attack fits the method: attacks that do not know how to undo it would be falsely
        reassuring.
        """
        if not variant_of(self.setting.method).is_attacked or not self.attacks:
            return None
        # A measured rate of 0 ranks above that of an adversary who could attack no user.
        return max(
            self.attacks,
            key=lambda one: (one["targets_attacked"] > 0, one["reidentified"]["rate"] or 0.0),
        )

    @property
    def membership(self) -> Rate | None:
        """Membership inference by the best adversary; None as for `strongest`.

        Adversaries measured on too few users are left out.
        """
        if not variant_of(self.setting.method).is_attacked:
            return None
        membership = self.figure("disclosure", "membership") or {}
        results = [membership, *(membership[known] for known in KNOWN if known in membership)]
        measured = [result["auc"] for result in results if result.get("is_measured")]
        return max(measured, key=lambda area: area["rate"]) if measured else None

    def figure(self, *path: str) -> Any:
        """Return the value under nested keys of the evaluation; None if it could not be measured.

        Raises
        ------
        KeyError
            If an evaluation has no such key.
        """
        return dig(self.evaluation, *path)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave.

        Raises
        ------
        KeyError, TypeError
            If it is something else.
        """
        verified = plain["verified"]
        return cls(
            key=plain["key"],
            setting=Setting(plain["method"], plain["k"]),
            problem=plain["problem"],
            is_fault=plain["is_fault"],
            verified=None if verified is None else VerifiedK(**verified),
            evaluation=plain["evaluation"],
            lone_share=plain["lone_share"],
            seconds=plain["seconds"],
            shadows=plain.get("shadows"),
            attributes=plain.get("attributes"),
            membership_bound=plain.get("membership_bound"),
        )

    def to_json(self) -> Mapping[str, object]:
        """Return plain data for its file."""
        return {
            "key": self.key,
            "method": self.setting.method,
            "k": self.setting.k,
            "problem": self.problem,
            "is_fault": self.is_fault,
            "seconds": dict(self.seconds),
            "verified": None if self.verified is None else self.verified._asdict(),
            "evaluation": self.evaluation,
            "shadows": self.shadows,
            "attributes": self.attributes,
            "membership_bound": self.membership_bound,
            "lone_share": self.lone_share,
        }

    def _facts(self) -> dict[str, object]:
        verdict = "no result" if self.problem else "finished"
        return {"": f"{self.setting.title}: {verdict}", "k as counted": self.counted_k}


def dig(plain: Any, *path: str) -> Any:
    """Return the value under nested keys; None if a key on the way holds None.

    >>> dig({"auc": {"rate": 0.6}}, "auc", "rate"), dig({"auc": None}, "auc", "rate")
    (0.6, None)
    """
    for key in path:
        if plain is None:
            return None
        plain = plain[key]
    return plain


AnyEvaluator: TypeAlias = Evaluator | NominalEvaluator

_FORMAT = "recveil-cell-16"
CELLS, WORK = "cells", ".work-"
_WORKS = rf"{re.escape(WORK)}[0-9a-f]{{8}}"
# Files of a comparison's folder.
PAGE, TABLE = "index.html", "comparison.parquet"
_MOST_BYTES = 1 << 26  # of a cell
# Parts of a setting, and their approximate cost.
_MAKING, _WRITING = "Making a release", "Writing and verifying"
_COSTS = {_MAKING: 10, _WRITING: 5, THE_REST: 85}


@brief
class Ground(NamedTuple):
    """The input that all cells of a comparison share; a cell is outdated if any of it changes."""

    # The digest of the ratings
    data: str
    # The share of ratings held out
    split: float
    seed: int
    targets: int
    # Whether releases may have more than 100 values per rating
    allow_large: bool = False
    # Nominal labels that count as liked
    liked: tuple[str, ...] = ()
    # The digest of declared attributes
    attributes: str = ""

    def key(self, setting: Setting) -> str:
        """Return what identifies the result of a setting: 64 hexadecimal digits."""
        # Variants and adversaries can be registered anew under the same name.
        variant = variant_of(setting.method)
        identity = [variant.claim, sorted(variant.options.items()), list(ATTACKS), list(SCORERS)]
        parts = [_FORMAT, version("recveil"), *self, *setting, *identity]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def open_folder(out: Path) -> None:
    """Create a comparison's folder, readable by its creator alone, or open an existing one."""
    reject_traps(out)
    reject_in_release(out)
    if not out.parent.is_dir():
        raise RecveilError(
            f"{out}: {out.parent} is not a folder; create it first", code="output.not-writable"
        )
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise RecveilError(
            f"{out} exists and is no folder; choose another output", code="output.exists"
        )
    if out.exists() and (others := _others(out)):
        raise RecveilError(
            f"{out} has files that are not of a comparison ({', '.join(others[:3])}); "
            f"choose another output",
            code="output.exists",
        )
    if (out / CELLS).is_dir():
        _reject_prepared(out)
    try:
        make_folder(out, exist_ok=True)
        out.chmod(0o700)
        make_folder(out / CELLS, exist_ok=True)
    except OSError as error:
        raise RecveilError(
            f"{out}: cannot be written ({error.strerror}); choose another output",
            code="output.not-writable",
        ) from error
    # An interrupted run may have left a release with its private folder.
    sweep(out, _WORKS)
    for folder in (out, out / CELLS):
        sweep(folder, temporary_names())


def _reject_prepared(out: Path) -> None:
    """Reject a comparison in which another account may have written results."""
    for path in (out, out / CELLS, *sorted((out / CELLS).iterdir())):
        status = path.lstat()
        if is_anothers(status):
            why = f"belongs to the user {owner_name(status)}"
        elif is_written_by_others(status):
            why = "can be written by others"
        else:
            continue
        raise RecveilError(
            f"{path.relative_to(out.parent)} {why}, who may have written false results; choose "
            f"another output, or remove this one",
            code="output.untrusted",
        )


def _others(out: Path) -> list[str]:
    """Return the entries of a folder that no comparison has written; links count, too."""
    # A page alone may be any page.
    known = {CELLS, PAGE, TABLE} if (out / CELLS).is_dir() else set()
    entries = [(path, path.name in known) for path in out.iterdir()]
    if (out / CELLS).is_dir():
        entries += [(path, path.suffix == ".json") for path in (out / CELLS).iterdir()]
    return sorted(
        path.name
        for path, is_known in entries
        if path.is_symlink() or not (is_known or _is_temporary(path.name))
    )


def _is_temporary(name: str) -> bool:
    """Return whether an interrupted run may have left this."""
    return bool(re.fullmatch(rf"{_WORKS}|{temporary_names()}", name, re.DOTALL))


def load_cell(out: Path, setting: Setting, key: str) -> Cell | None:
    """Return the finished result of a setting, or None if it must be computed.

    A setting that failed for a known reason is finished, since it would fail again; a fault is not.
    """
    try:
        plain = json.loads(read_whole(out / CELLS / setting.file, _MOST_BYTES).decode())
        if plain["key"] != key or plain["is_fault"]:
            return None
        cell = Cell.from_json(plain)
        return cell if cell.setting == setting else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def is_outdated(out: Path, setting: Setting, key: str) -> bool:
    """Return whether a result is stored that another version, input or option made."""
    try:
        plain = json.loads(read_whole(out / CELLS / setting.file, _MOST_BYTES).decode())
        return bool(plain["key"] != key)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return True


def save_cell(out: Path, cell: Cell) -> None:
    """Write a cell atomically: an interrupted run leaves the old file or none."""
    text = json.dumps(cell.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    target = out / CELLS / cell.setting.file
    write_atomically(target, lambda path: path.write_text(text, "utf-8", "replace"))


def run_cell(out: Path, setting: Setting, ground: Ground, evaluator: AnyEvaluator) -> Cell:
    """Make, verify, attack and evaluate a setting's release; record failures caused by the data."""
    key, watch = ground.key(setting), _Watch()
    try:
        with parts(setting.title, _COSTS) as begin:
            return _run_steps(out, setting, ground, evaluator, watch, begin)
    except Exception as error:  # a bug in one cell should not stop the others
        _reject_fault(error, setting)
        if isinstance(error, RecveilError):
            # Nothing is published here, so what its queries cost is left out.
            cause = error.__cause__ if isinstance(error.__cause__, RecveilError) else error
            return Cell(key, setting, problem=str(cause), seconds=watch.seconds)
        problem = f"{type(error).__name__}: {error}"
        return Cell(key, setting, problem=problem, is_fault=True, seconds=watch.seconds)


def _reject_fault(error: Exception, setting: Setting) -> None:
    """Raise errors that the data did not cause: an interrupt, or a fault of the machine."""
    reject_interruption(error)
    if is_of_machine(error):
        reason = not_enough() if lacks_memory(error) else str(error)
        raise MachineError(
            f"{setting.title}: {reason} (this is not a result; fix that and run again: finished "
            f"settings are kept)",
            code="machine.memory"
            if lacks_memory(error)
            else "machine.files"
            if lacks_files(error)
            else error.code
            if isinstance(error, RecveilError)
            else "machine.disk",
        ) from error


def _run_steps(
    out: Path,
    setting: Setting,
    ground: Ground,
    evaluator: AnyEvaluator,
    watch: "_Watch",
    begin: Callable[[str], None],
) -> Cell:
    train = evaluator.split.train
    begin(_MAKING)
    anonymizer = make_variant(setting.method, setting.k, ground.seed)
    release = anonymizer.anonymize(train)
    claimed, expected = release.published.claim.kind, variant_of(setting.method).claim
    if claimed != expected:
        raise RecveilError(
            f"method {setting.method!r}: its release claims {claimed!r}, but {expected!r} is "
            f"registered for it; register what it claims",
            code="argument.result",
        )
    watch.stop("anonymize")
    begin(_WRITING)
    verified = None
    if variant_of(setting.method).about_claim.is_published:
        # Verification reads files only, as a recipient would get them.
        with temporary_folder_near(out, WORK) as folder:
            verdict = write_release(
                *(release, folder / "release"),
                allow_large=ground.allow_large,
                allow_sparse_coverage=True,
            )
        verified = VerifiedK(verdict.claim, verdict.k_required, verdict.k_achieved)
        watch.stop("verify")
    begin(THE_REST)
    evaluation = evaluator.evaluate(release, anonymizer=anonymizer).to_dict()
    attributes = _infer_attributes(setting, release, evaluator, ground.seed)
    watch.stop("evaluate")
    lone = release.private.lone_ratings
    return Cell(
        key=ground.key(setting),
        setting=setting,
        verified=verified,
        evaluation=evaluation,
        attributes=attributes,
        membership_bound=bounds_of(release.published.claim).get("most_recognized"),
        lone_share=None if lone is None else float(lone.rating_share),
        seconds=watch.seconds,
    )


def _infer_attributes(
    setting: Setting, release: Sides, evaluator: AnyEvaluator, seed: int
) -> Mapping[str, Any] | None:
    """Return what a release adds to the inference of attributes; None if none are declared."""
    if isinstance(evaluator, NominalEvaluator) or not evaluator.attributes:
        return None
    if not variant_of(setting.method).is_attacked:
        return None
    train = evaluator.split.train
    table = AttackTarget.from_release(release, train)
    found = infer_added(train, evaluator.attributes, table, setting.title, seed)
    return {name: each.to_dict() for name, each in found.items()}


def lacks_shadows(cell: Cell, n: int | None) -> bool:
    """Return whether requested shadow releases are missing from a finished setting.

    >>> lacks_shadows(Cell("key", Setting("raw", None)), 32)
    True
    """
    if n is None or cell.problem is not None or not variant_of(cell.setting.method).is_attacked:
        return False
    return cell.shadows is None or cell.shadows["n"] != n


def with_shadows(cell: Cell, n: int, ground: Ground, evaluator: AnyEvaluator) -> Cell:
    """Measure membership with shadow releases of a finished setting, on the same halves for all."""
    watch, (method, k) = _Watch(), cell.setting
    results: Mapping[str, object]
    try:
        results = attack_by_shadows(
            evaluator.split.train, lambda seed: make_variant(method, k, seed), n, ground.seed
        ).to_dict()
    except Exception as error:  # half of the users may be fewer than k
        _reject_fault(error, cell.setting)
        if not isinstance(error, RecveilError):
            raise
        results = {"n": n, "problem": str(error)}
    watch.stop("shadows")
    return replace(cell, shadows=results, seconds={**cell.seconds, **watch.seconds})


class _Watch:
    """Records the wall-clock seconds of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def stop(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step] = round(now - self.last, 2)
        self.last = now
