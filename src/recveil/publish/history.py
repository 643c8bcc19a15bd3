"""History of the claims of a release and of those it replaced, for the publisher only.

Recipients keep a replaced release, so the private folder records its claim.
"""

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from recveil.release.claim import Claim, claim_kind
from recveil.release.ledger import is_sha256
from recveil.release.manifest import ERASURES, MANIFEST, PRIVATE_MANIFEST, FileEntry
from recveil.release.manifest_reader import read_manifest
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError
from recveil.runtime.locks import FOR_OWNER
from recveil.runtime.safe_repr import brief

_KEY = "history"


@brief
class Promised(NamedTuple):
    """The claim of a present or former release."""

    # Of its release.json; "" if unknown
    sha256: str
    # Kind of its claim; None if unknown
    kind: str | None = None
    # Totals of its ledger; None without a ledger
    mu: float | None = None
    delta: float | None = None
    threshold_delta: float | None = None
    # Releases whose noisy sums it reuses; each has spent as much, which the totals count
    earlier: tuple[str, ...] = ()

    @classmethod
    def of(cls, sha256: str, claim: Claim | None) -> Self:
        """Return what a release promised, as far as is known."""
        if claim is None:
            return cls(sha256)
        if claim.ledger is None:
            return cls(sha256, claim.kind)
        ledger = claim.ledger
        totals = ledger.mu, claim.delta, ledger.threshold_delta
        return cls(sha256, claim.kind, *totals, ledger.earlier)

    @property
    def loss(self) -> tuple[float, float, float]:
        """Its mu, delta and delta of the threshold; 0 if unknown."""
        return self.mu or 0.0, self.delta or 0.0, self.threshold_delta or 0.0

    @property
    def contains_users(self) -> bool:
        """Whether its records belong to users; True if unknown."""
        return self.kind is None or claim_kind(self.kind).contains_users

    def _facts(self) -> dict[str, object]:
        return {"": self.sha256[:8], "claim": self.kind, "mu": self.mu}


def keep_history(published: Path, private: Path, new: Path, new_private: Path) -> None:
    """Record the claims of a release and of those it replaces, and keep the log of erasures."""
    file = new_private / PRIVATE_MANIFEST
    content = json.loads(read_whole(file).decode())
    current = Promised.of(content["release"]["sha256"], read_manifest(new / MANIFEST)[0].claim)
    kept = each_once((current, *_current_release(published, private)))
    entries = [promised._asdict() for promised in kept]
    content[_KEY] = [{k: v for k, v in entry.items() if k != "earlier" or v} for entry in entries]
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    if (private / ERASURES).is_file():
        (new_private / ERASURES).write_bytes(read_whole(private / ERASURES))
        (new_private / ERASURES).chmod(FOR_OWNER)


def describe_history(content: Mapping[str, Any], published: Path) -> tuple[Promised, ...]:
    """Return the history in a private folder: its own release and those before it."""
    sha256 = content["release"]["sha256"]
    remembered = [_promised(entry) for entry in content.get(_KEY, [])]
    if all(promised.sha256 != sha256 for promised in remembered):
        remembered.insert(0, _promised_at(published, sha256))
    return tuple(remembered)


def each_once(history: Iterable[Promised]) -> list[Promised]:
    """Remove duplicates: the same release reveals nothing new.

    >>> each_once([Promised("9c1f"), Promised("04ab", "aggregates"), Promised("9c1f", "co-rated")])
    [Promised(9c1f, claim: co-rated), Promised(04ab, claim: aggregates)]
    """
    kept: dict[str, Promised] = {}
    for promised in history:
        if promised.sha256 not in kept or kept[promised.sha256].kind is None:
            kept[promised.sha256] = promised
    return list(kept.values())


def each_run(history: Iterable[Promised]) -> list[Promised]:
    """Return the known loss of each run: noisy sums that several releases reuse were spent once.

    If releases disagree on a run, the largest loss counts.
    """
    runs: dict[str, Promised] = {}
    for promised in each_once(history):
        if promised.mu is None:
            continue
        n, (mu, delta, _) = 1 + len(promised.earlier), promised.loss
        one = promised._replace(mu=mu / math.sqrt(n), delta=delta / n)
        for sha256 in (promised.sha256, *promised.earlier):
            found = runs.get(sha256, one), one
            mu, delta, threshold = map(max, *(each.loss for each in found))
            runs[sha256] = Promised(sha256, one.kind, mu, delta, threshold)
    return list(runs.values())


def _current_release(published: Path, private: Path) -> list[Promised]:
    """Return the release at a place and the history in its private folder.

    A release without its own private folder counts, too. If the private folder cannot be read, the
    history has an unknown release.
    """
    found = []
    with suppress(OSError):  # there is none, or it was moved away
        found.append(_promised_at(published, FileEntry.of(published / MANIFEST).sha256))
    try:
        content = json.loads(read_whole(private / PRIVATE_MANIFEST).decode())
        found.extend(describe_history(content, published))
    except FileNotFoundError:
        pass
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        found.append(Promised(""))
    return found


def _promised(entry: Mapping[str, Any]) -> Promised:
    """Read what `keep_history` wrote."""
    promised = Promised(**{**entry, "earlier": tuple(entry.get("earlier", ()))})
    if promised.kind is not None:
        claim_kind(promised.kind)
    mu, delta, threshold = promised.mu, promised.delta, promised.threshold_delta
    if mu is not None and not (0 < mu < math.inf and 0 < (delta or 0) < 0.5):
        raise ValueError(f"mu {mu!r:.20}, delta {delta!r:.20}")
    if mu is not None and not 0 <= float(-1 if threshold is None else threshold) < 0.5:
        raise ValueError(f"threshold_delta {threshold!r:.20}")
    if not all(map(is_sha256, promised.earlier)):
        raise ValueError(f"earlier {promised.earlier!r:.20}")
    return promised


def _promised_at(published: Path, sha256: str) -> Promised:
    """Read what a published folder promises, if it is the one that is meant."""
    with suppress(OSError, RecveilError):
        if FileEntry.of(published / MANIFEST).sha256 == sha256:
            return Promised.of(sha256, read_manifest(published / MANIFEST)[0].claim)
    return Promised(sha256)
