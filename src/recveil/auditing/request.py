"""Options of an audit, validated before any work."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from recveil.attacks import Adversary
from recveil.attacks.adversary import DAY_WIDTH, RATING_WIDTH
from recveil.attacks.membership.shadow_models import check_shadows
from recveil.io.columns.frames import is_frame
from recveil.io.options import ReadingOptions
from recveil.io.pipes import reject_two_standard_inputs, require_path
from recveil.io.side_tables import UserAttributes, check_attributes
from recveil.runtime.errors import RecveilError, option_named, quoted
from recveil.runtime.safe_repr import brief

# A table has fewer users than this, and more draws would take too long.
_MAX_COUNT = 1_000_000_000
# Fields that Spark supports.
_BY_SPARK = {"source", "adversaries", "targets", "draws", "seed", "curves", "reading"}


class MatchOptions(NamedTuple):
    """How items of an auxiliary file are matched with those of the table."""

    item_titles: str | PathLike[str] | None = None
    auxiliary_titles: str | PathLike[str] | None = None
    item_matches: str | PathLike[str] | None = None
    match_certainty: float | None = None

    def options(self) -> dict[str, Any]:
        """Return the options that are not None, by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def files(self) -> dict[str, Any]:
        """Return the files among them, by option."""
        return {name: value for name, value in self.options().items() if name != "match_certainty"}


@brief
@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Options of `audit`, validated; see there."""

    source: Any
    adversaries: Sequence[Adversary]
    release: str | PathLike[str] | None = None
    second_release: str | PathLike[str] | None = None
    # None for all users
    targets: int | None = 1_000
    draws: int = 1
    seed: int = 0
    curves: bool = True
    auxiliary: str | PathLike[str] | Any | None = None
    item_catalog: str | PathLike[str] | Any | None = None
    shadows: int | None = None
    tune: bool = False
    sensitive: str | PathLike[str] | None = None
    users: str | PathLike[str] | None = None
    attribute: Sequence[str] | None = None
    match_by: MatchOptions = field(default_factory=MatchOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def __post_init__(self) -> None:
        """Reject what is wrong whatever the files contain."""
        for name, number in (("targets", self.targets), ("draws", self.draws)):
            if number is not None and not 1 <= number <= _MAX_COUNT:
                raise RecveilError(
                    f"{option_named(name)} is {quoted(number)}; expected from 1 to {_MAX_COUNT:,}",
                    code="option.value",
                )
        self._check_releases()
        self._check_matches()
        self._check_widths()
        if self.auxiliary is not None and not is_frame(self.auxiliary):
            require_path("a file of auxiliary information", auxiliary=self.auxiliary)
        if self.sensitive is not None:
            require_path("a file of sensitive items", sensitive=self.sensitive)
        # A release may have attributes of users, which adversaries know.
        if self.users is None or self.attribute or self.release is None:
            check_attributes(self.users, self.attribute)
        if self.item_catalog is not None and not is_frame(self.item_catalog):
            require_path("a public table of ratings", item_catalog=self.item_catalog)
        reject_two_standard_inputs(
            source=self.source,
            auxiliary=self.auxiliary,
            item_catalog=self.item_catalog,
            sensitive=self.sensitive,
            users=self.users,
            **self.match_by.files(),
        )

    def repeated_by(self, declared: UserAttributes | None = None) -> dict[str, Any]:
        """Return the options that repeat the audit, with a digest of declared attributes."""
        options = {"seed": self.seed, "targets": self.targets, "shadows": self.shadows}
        if declared is None:
            return options
        return {
            **options,
            "attributes": list(declared.columns),
            "attributes_sha256": declared.digest(),
        }

    def _check_releases(self) -> None:
        """Reject options of a release without one, and a second release that is the first."""
        if self.release is not None:
            require_path("a release folder", release=self.release)
        if self.second_release is not None:
            require_path("a release folder", second_release=self.second_release)
        if self.shadows is not None:
            check_shadows(self.shadows)
        for name, purpose in (
            ("second_release", "to link it with"),
            ("shadows", "to make shadow releases of"),
            ("item_catalog", "whose hidden items it could re-identify"),
        ):
            if getattr(self, name) is not None and self.release is None:
                raise RecveilError(
                    f"{option_named(name)}: there is no release {purpose}; name the release "
                    f"(--release), or leave it out",
                    code="option.required",
                )
        if self.release is None or self.second_release is None:
            return
        if Path(self.release).resolve() == Path(self.second_release).resolve():
            raise RecveilError(
                f"second_release (--second-release) is the release {self.release} itself; name "
                f"another one of the same users",
                code="option.conflict",
            )

    def _check_widths(self) -> None:
        """Reject widths that would be chosen, too."""
        for name, usual in (("rating_width", RATING_WIDTH), ("day_width", DAY_WIDTH)):
            widths = {getattr(each, name) for each in self.adversaries} - {usual}
            if self.tune and widths:
                raise RecveilError(
                    f"tune (--tune) chooses the widths, but {option_named(name)} is "
                    f"{min(widths):g}; leave out one of the two",
                    code="option.conflict",
                )

    def _check_matches(self) -> None:
        """Reject options of matches that would have no effect."""
        options = self.match_by.options()
        for name, value in self.match_by.files().items():
            require_path("a file of titles or matches", **{name: value})
        for name in options:
            if self.auxiliary is None:
                raise RecveilError(
                    f"{option_named(name)}: there is no auxiliary information to match; name the "
                    f"file (--auxiliary)",
                    code="option.required",
                )
            if "item_matches" in options and len(options) > 1:
                raise RecveilError(
                    f"{option_named(name)}: item_matches (--item-matches) decides what is matched; "
                    f"leave out the others, or item_matches",
                    code="option.conflict",
                )
        if [*options] == ["match_certainty"]:
            raise RecveilError(
                "match_certainty (--match-certainty): there are no titles to match; name their "
                "file with item_titles (--item-titles) or auxiliary_titles (--auxiliary-titles)",
                code="option.required",
            )

    @classmethod
    def unsupported_by_spark(cls) -> list[str]:
        """Return the keywords of `audit` that only an audit on one machine supports.

        >>> AuditRequest.unsupported_by_spark()[:2]
        ['release', 'second_release']
        """
        names = [each.name for each in fields(cls) if each.name not in {*_BY_SPARK, "match_by"}]
        return [*names, *MatchOptions._fields]
