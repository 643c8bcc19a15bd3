"""Turn ratings into a verified release in one call, or estimate it without making it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading, file_at, understand
from recveil.io.columns.ids import reject_personal_ids
from recveil.io.ingestion import (
    REASONS,
    how_to_date,
    reject_unknown_keywords,
    warn_of_reading,
    without_dates,
)
from recveil.io.inputs import files_at, is_log_of, would_be_read
from recveil.io.item_features import ItemTable
from recveil.io.options import ReadingOptions
from recveil.io.pipes import reject_two_standard_inputs, require_path
from recveil.methods.base import anonymize_hidden, check_k, check_seed, seed_or_random, with_private
from recveil.methods.earlier_releases import (
    Earlier,
    find_earlier,
    find_linkage,
    history_of,
    others,
    reject_branch,
    without,
)
from recveil.methods.previous_release import PreviousRelease, read_previous
from recveil.methods.published_items import read_published_items
from recveil.methods.published_users import add_attributes, reject_attributes
from recveil.methods.registry import Maker, is_rule, maker_of, summarize
from recveil.methods.release_summary import ReleaseSummary
from recveil.methods.riskiest_users import check_protection, protect_riskiest_users
from recveil.methods.synthetic.options import check_n_users, of_cohort, reject_dropped_rows
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.publish.folder import check_form, naming_cost, naming_spending, reject_sparse
from recveil.publish.privacy_ledger import PrivacyTotal, ledger_path, reject_ledger_in
from recveil.publish.release import Release
from recveil.publish.size_estimate import (
    FEWER_USERS,
    Expected,
    expect_synthetic,
    reject_beyond_disk,
    reject_too_large,
)
from recveil.publish.staging import check_target
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.ratings import PUBLISHED, reject_likes, reject_unordered
from recveil.release.coverage import CoverageWarning
from recveil.release.dates import Cohort
from recveil.release.method import OF_COUNTS, Method, Option
from recveil.release.private_folder import digest_of
from recveil.release.registry import DEFAULT, all_methods
from recveil.release.sides import Anonymizer, FileFormat, Layout, Protection, Sides
from recveil.release.synthetic_form import step_of_drawn
from recveil.runtime.errors import (
    WARNING,
    LinkageWarning,
    RecveilError,
    describe_count,
    listed,
    quoted,
    shortened,
)
from recveil.runtime.progress import parts
from recveil.runtime.reportable import Described, reporter_of
from recveil.runtime.safe_repr import brief
from recveil.verification import Verification


class MethodOptions(TypedDict, total=False):
    """Options of the built-in methods; a registered method may have others."""

    homogenize: Literal["padded", "simple", "commonest", "shares"] | None
    grouping: str | None
    predictor: str | None
    distance: Literal["euclidean", "weighted-squared"] | None
    centers: Literal["virtual", "users"] | None
    assignment: Literal["rounds", "pairwise"] | None
    round_values: str | float | None
    values: Literal["rated", "predicted"] | None
    padding: float | None
    privacy_levels: str | PathLike[str] | None
    b: int
    l: int  # noqa: E741
    fill: str | None
    trust: str | PathLike[str] | None
    workloads: int
    direct_weights: Literal["trust", "similarity"]
    trust_steps: int
    neighbours: int | None
    round_fills: bool | None
    protect: Literal["none", "mean", "shuffle"] | None
    diversity: int | None
    closeness: float | None
    cluster_size: int | None
    dates: Literal["year", "quarter", "month", "week", "order"] | None
    epsilon: str | float | None
    delta: float | None
    n_users: int | None
    item_catalog: Any
    max_ratings: int | None
    item_features: Any
    rating_grid: Literal["tenths", "whole"] | None
    date_range: str | None
    cohort: str | None
    releases: int | None
    reuse: str | PathLike[str] | None
    publish_answers: bool | None
    ledger: str | PathLike[str] | None


class ReleaseOptions(MethodOptions, ReadingOptions, total=False):
    """Keywords of `anonymize`: options of the method and of reading."""


class AnonymizeOptions(ReleaseOptions, total=False):
    """All keywords of `anonymize` that describe the release; see there."""

    k: int | None
    method: str | None
    layout: Layout
    file_format: FileFormat
    seed: int | None
    hide_items: bool
    force: bool
    allow_large: bool
    allow_sparse_coverage: bool
    earlier_release: str | PathLike[str] | None
    previous: str | PathLike[str] | None
    protect_riskiest: float | None
    truncate_to: int | None
    risk: str | PathLike[str] | None
    item_table: str | PathLike[str] | None
    users: str | PathLike[str] | None
    attribute: Sequence[str] | None
    sensitive_attribute: str | None
    attribute_l: int | None


@brief
@dataclass(frozen=True, kw_only=True)
class AnonymizeRequest:
    """What `anonymize` is asked to do; see there for the fields."""

    source: Any
    # None for a release in memory
    output: str | PathLike[str] | None = None
    k: int | None = None
    method: str | None = None
    layout: Layout = "auto"
    file_format: FileFormat = "parquet"
    seed: int | None = None
    hide_items: bool = False
    force: bool = False
    allow_large: bool = False
    allow_sparse_coverage: bool = False
    earlier_release: str | PathLike[str] | None = None
    previous: str | PathLike[str] | None = None
    protect_riskiest: float | None = None
    truncate_to: int | None = None
    risk: str | PathLike[str] | None = None
    item_table: str | PathLike[str] | None = None
    users: str | PathLike[str] | None = None
    attribute: Sequence[str] | None = None
    sensitive_attribute: str | None = None
    attribute_l: int | None = None
    # Options of the method that were given, by name
    options: Mapping[str, Any] = field(default_factory=dict)
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    @classmethod
    def of(
        cls, source: Any, output: str | PathLike[str] | None, **keywords: Unpack[AnonymizeOptions]
    ) -> Self:
        """Sort the keywords of `anonymize` into options of the release, the method and reading.

        Examples
        --------
        >>> request = AnonymizeRequest.of("ratings.csv", "out", k=5, fill="random", user="1")
        >>> request.k, request.options, request.reading
        (5, {'fill': 'random'}, {'user': '1'})
        """
        if isinstance(output, int | float):
            raise RecveilError(
                f"output is {quoted(output)}; expected the path of a folder; name k: k=5",
                code="argument.type",
            )
        if keywords.get("k") is not None:
            check_k(keywords["k"])
        own = {each.name for each in fields(cls)} - {"options", "reading"}
        of_methods = {option.name for method in all_methods() for option in method.options}
        sorted_: dict[str, dict[str, Any]] = {"own": {}, "options": {}, "reading": {}}
        for name, value in keywords.items():
            kind = "own" if name in own else "options" if name in of_methods else "reading"
            sorted_[kind][name] = value
        return cls(
            source=source,
            output=output,
            options=sorted_["options"],
            reading=ReadingOptions(**sorted_["reading"]),  # type: ignore[typeddict-item]
            **sorted_["own"],
        )


def check_options(method: Method, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were set, or raise for those that the method does not have.

    None and the default of another method's option count as not set.
    """
    chosen: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or (method.option(name) is None and _is_default(name, value)):
            continue
        chosen[name] = value
    _reject_unexpected(method, chosen)
    for name, value in chosen.items():
        _reject_option_of_another(method, name, value)
    return chosen


def choose_method(method: str | None, k: int | None, options: Mapping[str, Any]) -> str:
    """Return the method that follows from k, or from the option of another guarantee.

    >>> choose_method(None, 5, {}), choose_method("k-corating", 5, {})
    ('sparse', 'k-corating')
    """
    # The guarantee of one class is requested by k; every other one by its own option.
    given = {name for name, value in options.items() if value is not None and value is not False}
    requested = [each for each in all_methods() if each.selector in given]
    if k is not None and requested:
        flag = requested[0].selector
        raise RecveilError(
            f"k (--k) and {flag} (--{flag}): no release has both guarantees; {_guarantees()}; give "
            f"one",
            code="option.conflict",
        )
    if method is not None:
        named = next((each for each in all_methods() if each.name == method), None)
        is_requested = named is None or (named in requested if named.selector else k is not None)
        if not is_requested:
            flag = "k" if named is None else named.selector or "k"
            raise RecveilError(
                f"the method {method} needs {flag} (--{flag}); give it, or choose another method "
                f"(--method)",
                code="option.required",
            )
        return method
    if k is None and not requested:
        raise RecveilError(
            f"expected a guarantee, got none; give one of: {_guarantees()}", code="option.required"
        )
    return requested[0].name if requested else DEFAULT.name


def _guarantees() -> str:
    """Format the guarantees that can be requested, one per line."""
    lines = ["k (--k K): at least k users share each published row"]
    lines += [
        f"{each.selector} (--{each.selector} E): {each.promise_in_short}"
        for each in all_methods()
        if each.selector
    ]
    return "".join(f"\n  {line}" for line in lines)


def _is_default(name: str, value: Any) -> bool:
    options = (known.option(name) for known in all_methods())
    return any(
        option is not None and type(option.default) is type(value) and option.default == value
        for option in options
    )


def _reject_unexpected(method: Method, chosen: Mapping[str, Any]) -> None:
    """Raise a RecveilError for options that the method does not have."""
    unexpected = {name: value for name, value in chosen.items() if method.option(name) is None}
    if not unexpected:
        return

    def fit(other: Method) -> tuple[int, int]:
        options = [(other.option(name), value) for name, value in unexpected.items()]
        had = [(option, value) for option, value in options if option is not None]
        return sum(_is_choice(option, value) for option, value in had), len(had)

    closest = max(all_methods(), key=fit)
    named = [option for option in closest.options if option.name in unexpected]
    names = [
        other.name
        for other in all_methods()
        if fit(other) == fit(closest) and all(other.option(option.name) for option in named)
    ]
    spelled = ", ".join(f"{option.name} ({_spelled(option)})" for option in named)
    raise RecveilError(
        f"{spelled}: only for the method{'s' * (len(names) > 1)} {', '.join(names)}, but the "
        f"method is {_named(method)}; drop it, or choose another method "
        f"(--method {', --method '.join(names)})",
        code="option.unsupported",
    )


def _is_choice(option: Option, value: Any) -> bool:
    return not option.choices or not isinstance(value, str) or value in option.choices


def _reject_option_of_another(method: Method, name: str, value: Any) -> None:
    """Raise a RecveilError for an invalid choice, naming the method that knows it."""
    option = method.option(name)
    if option is None or _is_choice(option, value):
        return
    spelled = f"{name} ({_spelled(option)})"
    for other in all_methods():
        of_other = other.option(name)
        if of_other is None or value not in of_other.choices:
            continue
        needed = other.option(of_other.needs.get(value, ""))
        if needed is not None and method.option(needed.name) is None:
            raise RecveilError(
                f"{spelled} is {value!r}: only for {needed.name} ({_spelled(needed)}), which the "
                f"method {method.name} does not have; choose another {name}, or the method "
                f"{other.name} (--method {other.name}) with it",
                code="option.unsupported",
            )
        if needed is None:
            raise RecveilError(
                f"{spelled} is {value!r}: only for the method {other.name}, but the method is "
                f"{_named(method)}; choose another {name}, or the method {other.name} (--method "
                f"{other.name})",
                code="option.unsupported",
            )
    raise RecveilError(
        f"{spelled} is {value!r}; expected one of {', '.join(option.choices)}", code="option.value"
    )


def _spelled(option: Option) -> str:
    """Return all flags of an option, as in "--round-fills, --no-round"."""
    return option.spelled.replace("/", ", ")


def _named(method: Method) -> str:
    return f"{method.name}, the default" if method is DEFAULT else method.name


# The stages; which one takes longest depends on the method and the table.
_READING, _MAKING, _WRITING = "Reading ratings", "Making a release", "Writing and verifying"


@brief
@dataclass(frozen=True)
class Anonymized(Described):
    """The ratings, the release, its verification, and its figures for the publisher.

    `earlier` has earlier releases of the same users, and `total` what all recorded runs spent on
    them; None without an epsilon.
    """

    output: Path
    ratings: Ratings
    release: Release
    verification: Verification
    reading: Reading
    summary: ReleaseSummary
    earlier: tuple[Earlier, ...] = ()
    total: PrivacyTotal | None = None

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


@brief
@dataclass(frozen=True)
class Released(Described):
    """A release by an engine that keeps the table to itself: sizes, and what was verified.

    Attributes
    ----------
    output : Path
    n_users, n_items, n_ratings : int
        Of the table.
    scale : RatingScale
    release : Sides
        The published and the private side; ids of users are in the private parts alone.
    summary : ReleaseSummary
        The figures of the release for its publisher.
    verification : Verification
    earlier : tuple of Earlier
        Earlier releases of the same users.
    notes : tuple of str
        Remarks on how the table was read.
    total : PrivacyTotal or None
        What all recorded runs spent on these users; None without an epsilon.
    """

    output: Path
    n_users: int
    n_items: int
    n_ratings: int
    scale: RatingScale
    release: Sides
    summary: ReleaseSummary
    verification: Verification
    earlier: tuple[Earlier, ...] = ()
    notes: tuple[str, ...] = ()
    total: PrivacyTotal | None = None

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


@overload
def anonymize(
    source: str | PathLike[str] | Ratings | Any,
    output: None = None,
    *,
    on_estimate: Callable[[Expected], object] | None = None,
    on_total: Callable[[PrivacyTotal], object] | None = None,
    **options: Unpack[AnonymizeOptions],
) -> Release: ...


@overload
def anonymize(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str],
    *,
    on_estimate: Callable[[Expected], object] | None = None,
    on_total: Callable[[PrivacyTotal], object] | None = None,
    **options: Unpack[AnonymizeOptions],
) -> Anonymized: ...


def anonymize(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str] | None = None,
    *,
    k: int | None = None,
    method: str | None = None,
    layout: Layout = "auto",
    file_format: FileFormat = "parquet",
    seed: int | None = None,
    hide_items: bool = False,
    force: bool = False,
    allow_large: bool = False,
    allow_sparse_coverage: bool = False,
    earlier_release: str | PathLike[str] | None = None,
    previous: str | PathLike[str] | None = None,
    protect_riskiest: float | None = None,
    truncate_to: int | None = None,
    risk: str | PathLike[str] | None = None,
    item_table: str | PathLike[str] | None = None,
    users: str | PathLike[str] | None = None,
    attribute: Sequence[str] | None = None,
    sensitive_attribute: str | None = None,
    attribute_l: int | None = None,
    on_estimate: Callable[[Expected], object] | None = None,
    on_total: Callable[[PrivacyTotal], object] | None = None,
    **options: Unpack[ReleaseOptions],
) -> Release | Anonymized:
    r"""Read ratings and make a release of them, in memory or verified and written.

    Parameters
    ----------
    source : path, data frame, matrix or Ratings
        The ratings, in any format that `recveil.read` reads. In a file without a header, whose
        format does not fix their order, `user` and `item` must say which column is which.
    output : path, optional
        The folder to publish; its private folder is `output` + ".private". Without it, nothing is
        written: `Release.write` publishes the result.
    k : int, optional
        Minimum number of users who share each published row (or, with "k-corating", its items).
        Give either k or the option of another guarantee, such as epsilon.
    method : str, optional
        "sparse" (`SparseRows`), the default with k; "predictive" (`PredictiveAnonymizer`),
        "k-corating" (`KCoRater`), or another one that was registered; see
        `recveil.methods.registry`.
    layout, file_format, force, allow_large
        See `Release.write`.
    earlier_release : path, optional
        An earlier release; `earlier` of the result reports whether it has some of the same users.
        Releases next to the output are checked automatically.
    previous : path, optional
        The private folder of the release that this one follows, for "sparse". The table has the
        ratings of all users until today. Users keep their classes, and newcomers form others, so
        that at least k users share all their rows in any releases of the series; see
        `recveil.methods.previous_release`.
    protect_riskiest, truncate_to, risk : optional
        Remove this share of the users, those with the highest membership risk in the file `risk`
        of an audit with shadows; with truncate_to, keep so many random ratings of each.
    item_table : path, optional
        A public table of items (ids, title, genres, year, ...). Its rows of the published items
        are published as items.csv; no guarantee covers what they say.
    users : path, optional
        A file of users and their attributes; those named are published as users.csv.
    attribute : str or sequence of str, optional
        Columns of `users`, equal within each class; rare combinations lose the last ones. With an
        epsilon, columns with their public values, such as "gender=F,M".
    sensitive_attribute, attribute_l : optional
        A column of which no value has more than 1 / attribute_l (2) of a class.
    seed : int, optional
        Fixes every random choice; drawn from the system by default.
    allow_sparse_coverage : bool
        See `Release.write`.
    hide_items : bool
        Publish a pseudonym instead of each item's id, in random order; only the private folder has
        the mapping. Attacks often infer it: audit the release.
    on_estimate : callable, optional
        Called with the size and time estimate: before the work for sparse and padded rows, and
        before writing for others, whose size depends on their groups.
    on_total : callable, optional
        With epsilon, called before the first query with what all recorded runs on these users and
        this one spend; see `recveil.budget`.
    **options
        Options of the method, documented with their defaults in its class: cluster_size for
        "sparse"; homogenize, predictor, grouping, round_values, b and l for "predictive", and
        `privacy_levels` as a file with the columns user_id and k, in which users who are missing
        have the level `k`, or as a rule for `levels_by_rule`; fill, grouping, round_fills and
        protect for "k-corating", and `trust` as a file of users' trust statements. And options of
        reading, passed to `understand`: format, scale, duplicates, drop_off_scale,
        drop_missing_ids, and names or places of columns.

    Returns
    -------
    Release or Anonymized
        The release; with `output`, what was read, made and verified, with the release as its
        `release`.

    Raises
    ------
    RecveilError
        If the source cannot be read, an option is invalid or of another method, or the output
        cannot be written or would be too large. Nothing is written then.
    UnknownOrderError
        If the user column cannot be determined.

    Warns
    -----
    ReadingWarning
        As `recveil.read`, and of times, which a release has only with `dates`.
    CoverageWarning
        If few items, ratings or attributes of users are in the release.
    LinkageWarning
        If an earlier release has some of the same users.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import generate
    >>> with TemporaryDirectory() as folder:
    ...     source, output = Path(folder, "ratings.csv"), Path(folder, "release")
    ...     _ = generate(source, users=80, items=40, ratings=900)
    ...     release = anonymize(source, k=5, seed=1)
    ...     made = anonymize(source, output, k=5, seed=1)
    >>> release.k, made.verification.k_achieved
    (5, 5)
    """
    request = AnonymizeRequest.of(
        source,
        output,
        k=k,
        method=method,
        layout=layout,
        file_format=file_format,
        seed=seed,
        hide_items=hide_items,
        force=force,
        allow_large=allow_large,
        allow_sparse_coverage=allow_sparse_coverage,
        earlier_release=earlier_release,
        previous=previous,
        protect_riskiest=protect_riskiest,
        truncate_to=truncate_to,
        risk=risk,
        item_table=item_table,
        users=users,
        attribute=(attribute,) if isinstance(attribute, str) else attribute,
        sensitive_attribute=sensitive_attribute,
        attribute_l=attribute_l,
        **options,
    )
    with (
        naming_spending(),
        parts("Anonymizing", {_READING: 1, _MAKING: 1, _WRITING: 1}) as begin,
    ):
        begin(_READING)
        ready = prepare(request, on_estimate)
        if on_total is not None and ready.total is not None:
            on_total(ready.total)
        begin(_MAKING)
        release = _make(ready, hide_items=hide_items)
        summary = summarize(release, ready.ratings)
        coverage = summary.coverage
        if layout == "model" and coverage is not None:
            summary = summary._replace(coverage=coverage.of_model())
        release = with_private(
            release,
            coverage=coverage,
            dropped=ready.reading.dropped,
            summary=_summary_sentences(summary, ready.reading),
        )
        if output is None:
            if not allow_sparse_coverage:
                reject_sparse(release)
            warn_of_coverage(summary)
            return release
        with naming_cost(release.published.claim):
            if ready.expected is None and release.published.expect is not None:
                expected = release.published.expect(layout, file_format)
                if expected is not None:
                    check_size(request, expected, on_estimate)
            begin(_WRITING)
            verification = with_private(release, find_linkage=None).write(
                output,
                layout=layout,
                file_format=file_format,
                force=force,
                allow_large=allow_large,
                allow_sparse_coverage=allow_sparse_coverage,
            )
    warn_of_coverage(summary)
    earlier = tuple(others(list(ready.earlier), Path(output)))
    result = Anonymized(
        Path(output),
        ready.ratings,
        release,
        verification,
        ready.reading,
        summary,
        earlier,
        ready.total,
    )
    warn_of_linkage(result)
    return result


def warn_of_linkage(result: Any) -> None:
    """Warn of earlier releases of the same users, except for losses that were warned of."""
    reporter, total = reporter_of(result), result.total
    reported = [] if total is None or total.n_unrecorded else reporter.total_warning(total)
    for each in reporter.warnings_of_linkage(result) if result.earlier else ():
        if each not in reported:
            warnings.warn(each, LinkageWarning, stacklevel=3)


def _summary_sentences(summary: ReleaseSummary, reading: Reading) -> tuple[str, ...]:
    """Return what was read, dropped and kept, for the publisher's private folder."""
    found = [*reading.alike_users]
    found += [f"Rows left out ({REASONS[why]}): {n:,}." for why, n in reading.dropped.items()]
    if (coverage := summary.coverage) is not None:
        likes = summary.published.scale.unary
        found.append(reporter_of(summary).describe_coverage(coverage, likes=likes))
    return tuple(found)


def warn_of_coverage(summary: ReleaseSummary) -> None:
    """Warn if less than half of the items or ratings are in a release, or next to none."""
    coverage = summary.coverage
    table = summary.published.user_table
    found = [] if table is None else table.warnings()
    if coverage is not None and (coverage.is_low or coverage.is_nearly_empty):
        likes = summary.published.scale.unary
        text: str = reporter_of(summary).describe_coverage(coverage, likes=likes)
        found.append(text.removeprefix(WARNING))
    for each in found:
        warnings.warn(each, CoverageWarning, stacklevel=3)


@brief
class Prepared(NamedTuple):
    """The input and settings of a release before the work."""

    reading: Reading
    maker: Maker
    # The options of the method that are set
    options: Mapping[str, Any]
    anonymizer: Anonymizer
    seed: int
    # None if the size depends on the finished groups
    expected: Expected | None
    earlier: tuple[Earlier, ...]
    # With this run; None without an epsilon
    total: PrivacyTotal | None
    protection: Protection | None
    item_table: ItemTable | None

    @property
    def ratings(self) -> Ratings:
        """The ratings."""
        return self.reading.ratings


def _make(ready: Prepared, *, hide_items: bool) -> Release:
    """Make a release; its card reports dropped rows of the input."""
    sides = (
        anonymize_hidden(ready.ratings, ready.anonymizer, ready.seed)
        if hide_items
        else ready.anonymizer.anonymize(ready.ratings)
    )
    dropped = ready.reading.duplicates_dropped
    published = replace(sides.published, duplicates_dropped=dropped, item_table=ready.item_table)
    if ready.reading.counted:
        counts = {OF_COUNTS.name: OF_COUNTS.allowed[0]}
        published = replace(published, settings={**published.settings, **counts})
    if ready.protection is not None:
        settings = {**published.settings, **ready.protection.settings}
        published = replace(published, settings=settings)
    table = published.user_table
    is_first = table is not None and not table.about.values and published.predecessor is None
    if table is not None and is_first and "attributes" in ready.options:
        ready.options["attributes"].check_published(table.columns)
    private = replace(sides.private, protection=ready.protection, find_linkage=find_linkage)
    return Release(published, private)


def prepare(
    request: AnonymizeRequest,
    on_estimate: Callable[[Expected], object] | None = None,
    *,
    is_dry: bool = False,
) -> Prepared:
    """Read and check the input, and write nothing; `is_dry` keeps files of interrupted runs."""
    source, k, hide_items = request.source, request.k, request.hide_items
    reject_unknown_keywords(anonymize, request.reading, "k", "user_files", "times")
    maker = maker_of(choose_method(request.method, k, request.options))
    options = check_options(maker.method, request.options)
    maker.check(options)
    _reject_idle(maker, options, request)
    check_form(request.layout, request.file_format)
    check_layout(maker.method, request.layout)
    _reject_dates_of_model(options, request.layout)
    check_n_users(options, request.layout, allow_large=request.allow_large)
    if request.previous is not None:
        options["previous"] = _read_previous(maker, request.previous)
    files = _files(maker, options)
    check_protection(
        *(request.protect_riskiest, request.risk, request.truncate_to),
        has_budget=maker.is_secret(options),
        conflicts={"previous": request.previous, **files},
    )
    output = _checked_output(request, is_dry=is_dry)  # before the work
    tables = {"item_table": request.item_table, "users": request.users}
    reject_two_standard_inputs(source=source, **tables, **files)
    user_files = [(maker.user_files[name], file) for name, file in files.items()]
    needs_dates = any(options.get(name) is not None for name in ("dates", "cohort"))
    reading = _read(request, user_files, times=needs_dates)
    every_user = reading.ratings.users
    if options.get("cohort") is not None:
        reading = _of_cohort(reading, request)
    reading = _note_dates(reading, maker, request)
    check_seed(request.seed)
    seed, protection = seed_or_random(request.seed), None
    if request.protect_riskiest is not None and request.risk is not None:
        reading, protection = protect_riskiest_users(
            reading, request.protect_riskiest, request.risk, request.truncate_to, seed
        )
    item_table, reading = read_published_items(request.item_table, reading, every_user)
    reading = add_attributes(maker.method, request, reading, every_user, options)
    warn_of_reading(reading)
    ratings = reading.ratings
    is_secret = maker.is_secret(options)
    if not (hide_items or is_secret):  # with noise, the method decides by public ids alone
        reject_personal_ids(ratings.items, can_hide=_can_hide(maker.method))
    _reject_feedback(maker, ratings, is_secret=is_secret)
    # Before the work, since a release in the same place is replaced.
    earlier = [] if output is None else find_earlier(ratings.users, output, request.earlier_release)
    if request.previous is not None:
        earlier = without(earlier, options["previous"].releases)
    for name, read in maker.read.items():
        if name in options:
            options[name] = read(options[name], ratings, k or 0)
    anonymizer = maker.anonymizer(k, None if is_secret else seed, options)
    expected = None
    if maker.expect is not None and isinstance(k, int):
        expected = maker.expect(ratings, k, options, request.layout, request.file_format)
    _reject_beyond_disk(request, options, ratings.scale)
    _check(anonymizer, ratings, every_user)  # an error should come before the estimate
    _reject_branch(options.get("previous"), output)
    if expected is not None:
        check_size(request, expected, on_estimate)
    total = _total_with_run(anonymizer, options, ratings, output, earlier)
    return Prepared(
        *(reading, maker, options, anonymizer, seed, expected, tuple(earlier), total),
        *(protection, item_table),
    )


def _read(request: AnonymizeRequest, user_files: list[tuple[str, Any]], *, times: bool) -> Reading:
    """Read the ratings, with times for a release with dates."""
    # Other releases have no dates, so that invalid times are no error; but an item table may have
    # times of ratings.
    has_cohort = request.options.get("cohort") is not None
    try:
        reading = understand(
            request.source,
            times=times or request.item_table is not None,
            k=request.k or 1,
            user_files=user_files,
            **request.reading,
        )
    except RecveilError as error:
        if error.code == "rating.duplicate" and has_cohort:
            found = str(error).partition(" one rating each: duplicates ")[0]
            raise RecveilError(f"{found} the first one", code=error.code) from error
        raise
    if times:
        name = "cohort (--cohort)" if has_cohort else "dates (--dates)"
        reading = reading.require_times(f"fix them, or leave out {name}")
        if reading.ratings.days is None and reading.unread:
            raise RecveilError(
                f"{name}: no column of {shortened(reading.name, 24)} was recognized as times, such "
                f"as 2005-12-31; not read: {listed(reading.unread, 80)}; name one with time "
                f"(--time), and its format with time_format (--time-format)",
                code="time.missing",
            )
    return reading


def _note_dates(reading: Reading, maker: Maker, request: AnonymizeRequest) -> Reading:
    if request.options.get("dates") is not None:
        return reading
    has_none = request.hide_items or request.layout == "model"
    options = [] if has_none else [option.name for option in maker.method.options]
    return without_dates(reading, request.reading.get("time"), how_to_date(options))


def _check(anonymizer: Anonymizer, ratings: Ratings, every_user: NDArray[Any]) -> None:
    """Raise the errors of a method, also for item ids that contain users of other cohorts."""
    check = getattr(anonymizer, "check", None)  # custom methods may have none
    if check is not None:
        check(ratings)
    if isinstance(anonymizer, Synthesizer) and every_user.size > ratings.n_users:
        anonymizer.check_items(ratings.items, every_user)


def _of_cohort(reading: Reading, request: AnonymizeRequest) -> Reading:
    """Return what was read of the users of a cohort."""
    if request.reading.get("duplicates", "error") != "error":
        raise RecveilError(
            "duplicates (--duplicates): not with cohort (--cohort), since a later rating of a pair "
            "would change when its user joined; give one row per pair, with its first date",
            code="option.conflict",
        )
    reject_dropped_rows(reading)
    cohort = Cohort.of(request.options["cohort"])
    ratings = of_cohort(reading.ratings, cohort)
    n_users = f"{ratings.n_users:,} of {describe_count(reading.ratings.n_users, 'user')}"
    note = f"Cohort {cohort}: {n_users} joined then, by their first rating; others are left out."
    return replace(reading, ratings=ratings, notes=(*reading.notes, note))


def _read_previous(maker: Maker, path: str | PathLike[str]) -> PreviousRelease:
    """Return the release that a new one follows, for a method that has such releases."""
    method = maker.method
    if not method.takes_previous:
        names = ", ".join(each.name for each in all_methods() if each.takes_previous)
        raise RecveilError(
            f"previous (--previous): only for the method {names}, but the method is "
            f"{_named(method)}; drop it, or begin a series with --method {names} without previous",
            code="option.unsupported",
        )
    return read_previous(path)


def _reject_branch(previous: PreviousRelease | None, output: Path | None) -> None:
    if previous is not None and output is not None:
        reject_branch(previous.folder, previous.releases[-1], output)


def _checked_output(request: AnonymizeRequest, *, is_dry: bool) -> Path | None:
    """Return the folder to write; raise a RecveilError for one that cannot be written."""
    if request.earlier_release is not None:
        require_path("a release folder", earlier_release=request.earlier_release)
    if request.output is None:
        _reject_written(request)
        return None
    require_path("a release", is_output=True, output=request.output)
    output = Path(request.output)
    check_target(output, force=request.force, is_dry=is_dry)
    reject_within(request.source, output)
    return output


def _total_with_run(
    anonymizer: Anonymizer,
    options: Mapping[str, Any],
    ratings: Ratings,
    output: Path | None,
    earlier: list[Earlier],
) -> PrivacyTotal | None:
    """Return what all runs on the users and this one spend; None without an epsilon."""
    if not isinstance(anonymizer, Synthesizer):
        return None
    check_ledger(options, output)
    return anonymizer.privacy_total(ratings.users, digest_of(ratings), history_of(earlier))


def check_ledger(options: Mapping[str, Any], output: Path | None) -> None:
    """Raise a RecveilError for a ledger in the output."""
    path = ledger_path(options.get("ledger"))
    if path is not None and output is not None:
        reject_ledger_in(path, output)


def _reject_written(request: AnonymizeRequest) -> None:
    """Raise a RecveilError for options of writing without an output."""
    idle = {"layout": request.layout != "auto", "file_format": request.file_format != "parquet"}
    idle |= {"force": request.force, "allow_large": request.allow_large}
    idle |= {"earlier_release": request.earlier_release is not None}
    if names := [name for name, is_set in idle.items() if is_set]:
        raise RecveilError(
            f"{', '.join(names)}: given without an output, so nothing is written; give output, or "
            f"pass this to the write method of the release",
            code="option.required",
        )


def check_size(
    request: AnonymizeRequest,
    expected: Expected,
    on_estimate: Callable[[Expected], object] | None = None,
) -> None:
    """Pass the estimate to the callback; raise a RecveilError if the release is too large."""
    if request.output is not None:
        parent = Path(request.output).absolute().parent
        reject_too_large(expected, parent, request.layout, allow_large=request.allow_large)
    if on_estimate is not None:
        on_estimate(expected)


def _reject_beyond_disk(
    request: AnonymizeRequest, options: Mapping[str, Any], scale: RatingScale
) -> None:
    # Of one rating each, before a query is charged
    n_users = options.get("n_users")
    if n_users is not None and request.output is not None and request.layout != "model":
        step = step_of_drawn(scale, whole=options.get("rating_grid") == "whole")
        least = expect_synthetic(np.zeros(1), scale, n_users, 1.0, 1.0, request.file_format, step)
        reject_beyond_disk(least, Path(request.output).absolute().parent, FEWER_USERS)


def reject_within(source: Any, output: str | PathLike[str]) -> None:
    """Raise a RecveilError if the input is in the output, or would be on the next run."""
    file = file_at(source)
    files = [] if file is None else [file, *files_at(file)]
    if any(Path(output).resolve() in each.resolve().parents for each in files):
        raise RecveilError(
            f"{file} is in the output {output}; choose another output", code="output.is-input"
        )
    if file is not None and (would_be_read(Path(output), file) or is_log_of(Path(output), file)):
        raise RecveilError(
            f"{output} would be among the files of {file}, which the next run reads; choose "
            f"another output",
            code="output.is-input",
        )


def _reject_idle(maker: Maker, options: Mapping[str, Any], request: AnonymizeRequest) -> None:
    """Raise a RecveilError for options that the method ignores or that would void its guarantee."""
    method = maker.method
    if request.k is not None and not method.takes_k:
        raise RecveilError(
            f"k (--k): not with the method {method.name}, whose rows are not shared; drop it",
            code="option.unsupported",
        )
    if request.seed is not None and maker.is_secret(options):
        raise RecveilError(
            f"seed (--seed): with {method.selector} (--{method.selector}) the noise must be "
            f"secret, since a known seed removes it; drop it",
            code="option.conflict",
        )
    if request.hide_items and options.get("dates") is not None:
        raise RecveilError(
            "hide_items (--hide-items): not with dates (--dates), since no audit matches hidden "
            "items by when they were rated; drop one of the two",
            code="option.conflict",
        )
    if request.hide_items and request.item_table is not None:
        raise RecveilError(
            "hide_items (--hide-items): not with item_table (--item-table), which names hidden "
            "items; drop one of the two",
            code="option.conflict",
        )
    reject_attributes(method, request)
    if not request.hide_items or _can_hide(method):
        return
    if method.takes_unordered:
        raise RecveilError(
            f"hide_items (--hide-items): not with the method {method.name}, since no audit attacks "
            f"hidden items by nominal labels; drop it",
            code="option.unsupported",
        )
    raise RecveilError(
        f"hide_items (--hide-items): not with the method {method.name}, since rows are synthetic "
        f"and counts reveal the items; drop it",
        code="option.unsupported",
    )


def _can_hide(method: Method) -> bool:
    return not (method.takes_unordered or method.selector)


def check_layout(method: Method, layout: Layout) -> None:
    """Raise a RecveilError for a layout that the method does not have, before any work."""
    if layout == "groups" and method.selector:
        raise RecveilError(
            f"layout (--layout) is groups, but the method {method.name} publishes synthetic users, "
            f"who have no groups; choose users or model",
            code="option.unsupported",
        )


def _reject_dates_of_model(options: Mapping[str, Any], layout: Layout) -> None:
    if layout == "model" and options.get("dates") is not None:
        raise RecveilError(
            "dates (--dates): not with layout (--layout) model, since a model states no dates; "
            "choose users, or drop dates",
            code="option.conflict",
        )


def _reject_feedback(maker: Maker, ratings: Ratings, *, is_secret: bool) -> None:
    """Reject unsupported feedback types, and inferred scales under a privacy budget."""
    if not maker.method.takes_unordered:
        reject_unordered(ratings, "this method")
    if ratings.is_unary and not maker.method.takes_likes:
        reject_likes(ratings, PUBLISHED)
    elif is_secret and ratings.is_unary:
        _reject_inferred_likes(maker, ratings)
    elif is_secret:
        _reject_inferred_scale(maker, ratings)
    elif not ratings.is_unary:
        reject_likes(ratings, PUBLISHED)


def _reject_inferred_scale(maker: Maker, ratings: Ratings) -> None:
    """Reject an inferred scale if every published statistic is charged to the budget."""
    if ratings.scale.inferred:
        raise RecveilError(
            f"scale (--scale): {ratings.scale} was inferred, and one user's rating may be an end "
            f"of it, which {maker.method.selector} must not reveal; name the scale, such as "
            f"--scale {ratings.scale}",
            code="scale.inferred",
        )


def _reject_inferred_likes(maker: Maker, likes: Ratings) -> None:
    """Reject inferred implicit feedback: one user with other ratings would change it."""
    if likes.scale.inferred:
        raise RecveilError(
            f"likes (--likes): all ratings are equal and were read as implicit feedback; one user "
            f"could change that, which {maker.method.selector} must not reveal; give likes "
            f"(--likes), or name the scale (--scale)",
            code="scale.inferred",
        )


# Name of each kind of file that lists users.
_FILES = {"levels": "a file of privacy levels", "trust": "a file of trust statements"}


def _files(maker: Maker, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are files of user ids, which help to identify the user column."""
    files = {
        name: options[name]
        for name in maker.user_files
        if name in options and not is_rule(options[name])
    }
    for name, file in files.items():
        require_path(_FILES[maker.user_files[name]], **{name: file})
    return files
