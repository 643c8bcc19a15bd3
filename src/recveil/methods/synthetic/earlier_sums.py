"""Noisy sums of the earlier releases of a plan, which later ones average with their own."""

import hashlib
import io
import json
import secrets
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.io.pipes import require_path
from recveil.methods.earlier_releases import count_here
from recveil.publish.privacy_ledger import Plan
from recveil.release.manifest import NOISY_SUMS, PRIVATE_MANIFEST
from recveil.release.private_folder import assignment_files
from recveil.runtime.errors import RecveilError, named_twice, quoted, reason_of
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]
_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile)


@brief
class Means(NamedTuple):
    """Noisy means over users, each with the variance of its noise, by position of the items."""

    # Per item and kind of item sums, shape (n_items, n_kinds), and a variance of each kind
    of_items: Numbers
    variances: Numbers
    # The items with moments, these, and the variance of each off the diagonal
    chosen: NDArray[np.int64]
    moments: Numbers
    moment_variances: Numbers

    def at(self, places: NDArray[np.int64]) -> Self:
        """Return the means of other items, by their positions here; -1 for an unknown one."""
        # An item that was not in the list may be rated as soon as it is.
        of_items = np.where(places[:, None] >= 0, self.of_items[places], np.nan)
        new_place = np.full(len(self.of_items), -1)
        new_place[places[places >= 0]] = np.flatnonzero(places >= 0)
        chosen = new_place[self.chosen]
        kept = np.flatnonzero(chosen >= 0)
        cells = np.ix_(kept, kept)
        return self._replace(
            of_items=of_items,
            chosen=chosen[kept],
            moments=self.moments[cells],
            moment_variances=self.moment_variances[cells],
        )


def averaged(new: Any, variance: Any, earlier: Any, earlier_variance: Any) -> tuple[Any, Any]:
    """Return the mean of two noisy numbers with the least noise, and the variance of its noise."""
    total = 1 / variance + 1 / earlier_variance
    return (new / variance + earlier / earlier_variance) / total, 1 / total


def average_items(new: Numbers, variances: Numbers, earlier: Means | None) -> tuple[Any, Any]:
    """Return the noisy means of items, averaged with earlier ones, and their variances."""
    if earlier is None:
        return new, variances
    means, variances = averaged(new, variances, earlier.of_items, earlier.variances)
    # New items have the new number alone, and thus more noise than the variance of all says.
    return np.where(np.isnan(means), new, means), variances


def average_moments(
    new: Numbers, variance: float, chosen: NDArray[np.int64], earlier: Means | None
) -> tuple[Numbers, Numbers]:
    """Return noisy moments, those of pairs that earlier releases have averaged, and variances."""
    variances = np.full(new.shape, variance)
    if earlier is None:
        return new, variances
    place = np.full(len(earlier.of_items), -1)
    place[earlier.chosen] = np.arange(earlier.chosen.size)
    known = np.flatnonzero(place[chosen] >= 0)
    here, there = np.ix_(known, known), np.ix_(place[chosen[known]], place[chosen[known]])
    moments = new.copy()
    moments[here], variances[here] = averaged(
        new[here], variance, earlier.moments[there], earlier.moment_variances[there]
    )
    return moments, variances


def require_users(private: str | PathLike[str], users: NDArray[Any]) -> None:
    """Raise a RecveilError if a private folder has none of these users."""
    folder = Path(private)
    try:
        manifest = json.loads((folder / PRIVATE_MANIFEST).read_text("utf-8"))
        n_users = count_here(users)(folder, assignment_files(manifest))
    except (*_UNREADABLE, pa.ArrowException) as error:
        raise RecveilError(
            f"{folder}: its users cannot be read ({reason_of(error)}); restore it from a backup",
            code="private.damaged",
        ) from error
    if not n_users:
        raise RecveilError(
            "reuse (--reuse): that release has none of the users of these ratings; expected the "
            "private folder of a release of the same table, as it was",
            code="release.mismatch",
        )


@brief
class EarlierSums(NamedTuple):
    """The noisy means of a release of a plan, in which those before are averaged."""

    # The SHA-256 of the release.json of each release before, and its own or, unwritten, any
    earlier: tuple[str, ...]
    sha256: str
    plan: Plan
    # The scale of the ratings, or that of likes
    scale: str
    items: NDArray[Any]
    means: Means

    @classmethod
    def of(
        cls, earlier: Self | None, plan: Plan, scale: str, items: NDArray[Any], means: Means
    ) -> Self:
        """Return those of a release that is not written yet."""
        before = () if earlier is None else earlier.releases
        return cls(before, secrets.token_hex(32), plan, scale, items.astype(str), means)

    @property
    def releases(self) -> tuple[str, ...]:
        """The SHA-256 of the release.json of each release of which it has sums."""
        return (*self.earlier, self.sha256)

    def on(self, items: NDArray[Any]) -> Means:
        """Return the means of some items."""
        place_of = {item: place for place, item in enumerate(self.items.tolist())}
        places = [place_of.get(item, -1) for item in items.astype(str).tolist()]
        return self.means.at(np.array(places, np.int64))

    def write(self, file: Path) -> None:
        """Write the sums to the private folder."""
        columns: dict[str, Any] = {
            "earlier": np.array(self.earlier, str),
            "plan": np.array(self.plan, np.float64),
            "scale": np.array(self.scale),
            "items": self.items,
            **self.means._asdict(),
        }
        with file.open("wb") as stream:
            np.savez_compressed(stream, **columns)

    @classmethod
    def read(cls, private: str | PathLike[str]) -> Self:
        """Read the sums from the private folder of a release."""
        require_path("a private folder", reuse=private)
        folder = Path(private)
        if not (folder / NOISY_SUMS).is_file():
            raise RecveilError(
                f"reuse (--reuse) is {quoted(str(folder))}, which has no {NOISY_SUMS}; expected "
                f"the private folder of a release with releases (--releases) and a public "
                f"item_catalog (--item-catalog)",
                code="private.not-found",
            )
        try:
            manifest = json.loads((folder / PRIVATE_MANIFEST).read_text("utf-8"))
            digest, content = manifest["release"]["sha256"], (folder / NOISY_SUMS).read_bytes()
            if manifest["sums_sha256"] != hashlib.sha256(content).hexdigest():
                raise ValueError(f"it is not the file whose SHA-256 {PRIVATE_MANIFEST} has")
            with np.load(io.BytesIO(content), allow_pickle=False) as found:
                earlier = tuple(found["earlier"].tolist())
                if named_twice((*earlier, digest)):
                    raise ValueError("it has the sums of a release twice")
                means = Means(**{name: found[name] for name in Means._fields})
                epsilon, delta, releases = found["plan"].tolist()
                return cls(
                    earlier,
                    str(digest),
                    Plan(epsilon, delta, int(releases)),
                    str(found["scale"]),
                    found["items"],
                    means,
                )
        except _UNREADABLE as error:
            raise RecveilError(
                f"{folder / NOISY_SUMS}: cannot be read ({reason_of(error)}); restore it from a "
                f"backup",
                code="private.damaged",
            ) from error

    def require(self, plan: Plan, scale: str) -> None:
        """Raise a RecveilError unless it is of this plan and scale."""
        if (self.plan, self.scale) != (plan, scale):
            raise RecveilError(
                f"reuse (--reuse): that release has epsilon {self.plan.epsilon:g}, delta "
                f"{self.plan.delta:g}, {self.plan.releases} releases and scale {self.scale}; "
                f"expected the same plan and scale as here: epsilon {plan.epsilon:g}, delta "
                f"{plan.delta:g}, {plan.releases} and {scale}",
                code="release.mismatch",
            )

    def require_items(self, items: NDArray[Any]) -> None:
        """Raise a RecveilError if it has sums of none of these items."""
        if not np.isin(items.astype(str), self.items).any():
            raise RecveilError(
                "reuse (--reuse): that release has none of the items of these ratings; expected "
                "the private folder of a release of the same table, as it was",
                code="release.mismatch",
            )

    def _facts(self) -> dict[str, object]:
        return {"releases": len(self.releases), "items": self.items.size}
