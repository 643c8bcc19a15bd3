"""anonymize: from a file of ratings to a verified release, in one call."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.k_corating import KCoRater, Protect
from recveil.anonymize.parts import LEVEL_GROUPINGS
from recveil.anonymize.predictive import Homogenize, PredictiveAnonymizer, label_step
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.io import Reading, read_levels, read_trust, understand
from recveil.io.keywords import refuse_unknown_keywords
from recveil.io.pipes import refuse_no_path, refuse_two_standard_inputs
from recveil.publish.expected import Expected, expect_padded, refuse_too_large
from recveil.publish.folder import check_form, check_target
from recveil.publish.release import Release
from recveil.ratings import Ratings
from recveil.ratings.level_rules import levels_by_rule
from recveil.ratings.likes import PUBLISHED, refuse_likes
from recveil.release.sides import FileFormat, Layout

if TYPE_CHECKING:
    from recveil.verify import Verification

Method = Literal["predictive", "k-corating"]
_DEFAULT = "predictive"
# How the command line spells what has another name there.
_OPTIONS = {"round_labels": "--round", "round_fills": "--round-fills, --no-round"}
# Groupings of k-coRating alone.
_BY_SUPPORTS = ("gecom", "supports")


@brief
class Anonymized(NamedTuple):
    """What was read, what was made of it, and what the checker says of the written files."""

    ratings: Ratings
    release: Release
    verification: "Verification"
    reading: Reading

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


def anonymize(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str],
    *,
    k: int,
    method: Method = "predictive",
    homogenize: Homogenize | None = None,
    predictor: str | None = None,
    grouping: str | None = None,
    round_labels: str | float | None = None,
    fill: str | None = None,
    trust: str | PathLike[str] | None = None,
    round_fills: bool | None = None,
    protect: Protect | None = None,
    privacy_levels: str | PathLike[str] | None = None,
    b: int = 1,
    l: int = 1,  # noqa: E741
    layout: Layout = "auto",
    file_format: FileFormat = "parquet",
    seed: int | None = None,
    force: bool = False,
    allow_large: bool = False,
    tell: Callable[[Expected], object] | None = None,
    **reading: Any,
) -> Anonymized:
    r"""Read a file of ratings and write a release of it that is verified to keep its claim.

    Parameters
    ----------
    source : path, Ratings, or data frame
        The ratings, in any format that `recveil.io` reads. In a file without a header, whose
        format does not fix their order, `user` and `item` must say which column is which.
    output : path
        The folder to be published; its private twin is `output` + ".private".
    method : {"predictive", "k-corating"}
        `PredictiveAnonymizer` or `KCoRater`.
    k, homogenize, predictor, grouping, round_labels, b, l, seed
        See `PredictiveAnonymizer`, where the defaults stand, too. `homogenize`, `predictor`,
        `round_labels`, `b` and `l` are of that method alone.
    fill, round_fills, protect
        See `KCoRater`; of that method alone.
    trust : path, optional
        For `KCoRater`'s fill "trust": a file of whom people say they trust, for `read_trust`.
    privacy_levels : path or str, optional
        A file with the columns user_id and k, in which users who are missing have the level `k`;
        or a rule for `levels_by_rule`.
    layout, file_format, force, allow_large
        See `Release.write`.
    tell : callable, optional
        Is told what the release will take, as soon as it is known: before the work for padded
        rows, before the writing for others, whose groups say how many labels there are.
    **reading
        Passed to `understand`: format, scale, duplicates, drop_off_scale, and names or places of
        columns.

    Raises
    ------
    RecveilError
        If the source cannot be read, a setting makes no sense or is of the other method, or the
        output cannot be written or would be too large. Nothing is written then.
    UnknownOrderError
        If nothing tells which column holds the users.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.ratings import RatingScale
    >>> with TemporaryDirectory() as folder:
    ...     source, output = Path(folder, "ratings.csv"), Path(folder, "release")
    ...     rows = "1,8,5 1,9,4 2,8,5 3,9,1 4,9,1 4,8,2 5,8,4 6,9,2".split()
    ...     _ = source.write_text("\n".join(["user,item,rating", *rows]))
    ...     made = anonymize(source, output, k=3, seed=1, scale=RatingScale(1, 5, 1))
    ...     made.verification.k_achieved
    3
    """
    refuse_unknown_keywords("anonymize", reading, "k", "people_in", "times")
    predictive: dict[str, Any] = {
        "homogenize": homogenize,
        "predictor": predictor,
        "round_labels": round_labels,
        "privacy_levels": privacy_levels,
        "b": b if b != 1 else None,
        "l": l if l != 1 else None,
    }
    co_rating: dict[str, Any] = {
        "fill": fill,
        "trust": trust,
        "round_fills": round_fills,
        "protect": protect,
    }
    _check_method(method, {"predictive": predictive, "k-corating": co_rating})
    _check_grouping(method, grouping)
    _check_diversity(b, l)
    check_form(layout, file_format)
    refuse_no_path("a release", is_output=True, output=output)
    if trust is not None:
        refuse_no_path("a file of who trusts whom", trust=trust)
    refuse_two_standard_inputs(source=source, trust=trust, privacy_levels=privacy_levels)
    check_target(output, force=force)  # a mistyped output should not cost the work
    if (
        isinstance(source, str | PathLike)
        and Path(output).resolve() in Path(source).resolve().parents
    ):
        raise RecveilError(f"{source} stands in the output {output}; choose another output")
    # The published rows carry no times, so that bad ones need not stop anybody.
    people_in = _files_of_people(privacy_levels, trust)
    found = understand(source, times=False, k=k, people_in=people_in, **reading)
    ratings = found.ratings
    refuse_likes(ratings, PUBLISHED)
    given = {"grouping": grouping}
    anonymizer: PredictiveAnonymizer | KCoRater
    if method == "k-corating":
        if trust is not None:
            co_rating["trust"] = read_trust(trust, ratings.users)
        anonymizer = KCoRater(k, seed=seed, **_without_none(given | co_rating))
    else:
        if privacy_levels is not None:
            predictive["privacy_levels"] = _levels(ratings, privacy_levels, k)
        anonymizer = PredictiveAnonymizer(k, seed=seed, **_without_none(given | predictive))
    size = _Size(Path(output), layout, file_format, allow_large, tell)
    is_padded = method == "predictive" and homogenize in (None, "padded")
    if is_padded and isinstance(k, int) and 1 <= k <= ratings.n_users:
        levels, step = predictive["privacy_levels"], _step(round_labels, ratings)
        size.check(expect_padded(ratings, k, levels, layout, file_format, step))
    release = _telling(anonymizer.anonymize(ratings), found.duplicates_dropped)
    if not is_padded and release.published.expect is not None:
        size.check(release.published.expect(layout, file_format))
    verification = release.write(
        output, layout=layout, file_format=file_format, force=force, allow_large=allow_large
    )
    return Anonymized(ratings, release, verification, found)


def _step(round_labels: str | float | None, ratings: Ratings) -> float | None:
    return label_step("tenth" if round_labels is None else round_labels, ratings.scale)


def _telling(release: Release, duplicates_dropped: int) -> Release:
    """Let the card say how many rows of the input are not in the release."""
    published = replace(release.published, duplicates_dropped=duplicates_dropped)
    return replace(release, published=published)


@brief
class _Size(NamedTuple):
    """Where the release goes, and how large it may be."""

    output: Path
    layout: Layout
    file_format: FileFormat
    allow_large: bool
    tell: Callable[[Expected], object] | None

    def check(self, expected: Expected) -> None:
        """Tell what is expected, and refuse what is too large."""
        parent = self.output.absolute().parent
        refuse_too_large(expected, parent, self.layout, allow_large=self.allow_large)
        if self.tell is not None:
            self.tell(expected)


def _levels(ratings: Ratings, given: str | PathLike[str], default: int) -> NDArray[np.int64]:
    """Read levels from a file, or work a rule out; a name with a colon or of digits is a rule."""
    if _is_rule(given):
        return levels_by_rule(ratings, str(given))
    return read_levels(given, ratings.users, default)


def _is_rule(given: str | PathLike[str]) -> bool:
    looks = isinstance(given, str) and (":" in given or given.strip().isdigit())
    return looks and not Path(given).is_file()


def _files_of_people(
    levels: str | PathLike[str] | None, trust: str | PathLike[str] | None
) -> list[tuple[str, str | PathLike[str]]]:
    """Return the files that name users, which may help to tell them from items."""
    files = [] if levels is None or _is_rule(levels) else [("levels", levels)]
    return files + ([] if trust is None else [("trust", trust)])


def _check_method(method: str, options: dict[str, dict[str, Any]]) -> None:
    """Refuse options that the method would not look at, before the work begins."""
    if method not in get_args(Method):
        raise RecveilError(f"method {method!r}: expected one of {', '.join(get_args(Method))}")
    for other, given in options.items():
        strange = [name for name, value in given.items() if value is not None]
        if other != method and strange:
            named = ", ".join(
                f"{name} ({_OPTIONS.get(name, '--' + name.replace('_', '-'))})" for name in strange
            )
            default = ", the default" if method == _DEFAULT else ""
            raise RecveilError(
                f"{named}: only for the method {other}, but the method is {method}{default}; leave "
                f"that out, or take the method {other} (--method {other})"
            )


def _check_grouping(method: str, grouping: str | None) -> None:
    """Refuse a grouping of the other method by name, as it is not unknown."""
    if method == "predictive" and grouping in _BY_SUPPORTS:
        raise RecveilError(
            f"grouping {grouping!r}: only for the method k-corating, but the method is "
            f"predictive, the default; take another grouping, or the method k-corating "
            f"(--method k-corating)"
        )
    if method == "k-corating" and grouping in LEVEL_GROUPINGS:
        raise RecveilError(
            f"grouping {grouping!r}: only for privacy_levels (--privacy-levels), which the method "
            f"k-corating does not know; take another grouping, or the method predictive (--method "
            f"predictive) with privacy levels"
        )


def _check_diversity(b: int, l: int) -> None:  # noqa: E741
    """Refuse a b that says nothing, as every set of items stands in one row anyway."""
    if b != 1 and l == 1:
        raise RecveilError(
            f"b (--b) is {b}, but without l (--l) it does nothing: every set of items stands in "
            f"l = 1 row; give l, at least 2, or leave b out"
        )


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
