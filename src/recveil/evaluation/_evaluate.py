"""Evaluation of the utility and disclosure of a release, from files."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack, get_args

from recveil.attacks import AttackTarget
from recveil.evaluation.evaluator import Evaluator, NominalEvaluator
from recveil.evaluation.fidelity_metrics import NullRule
from recveil.evaluation.nominal import liked_values, require_liked
from recveil.evaluation.results import Evaluated
from recveil.evaluation.split import (
    HeldOut,
    Matched,
    Split,
    TrainingTable,
    match_held_out,
    split_by_time,
    split_ratings,
)
from recveil.io import Reading, understand
from recveil.io.columns.feedback import option_of
from recveil.io.ingestion import reject_unknown_keywords, warn_of_notes, warn_of_reading
from recveil.io.options import ReadingOptions, naming_two_tables
from recveil.io.pipes import reject_two_standard_inputs, require_path
from recveil.io.side_tables import check_attributes, read_users
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.registry import same_again
from recveil.methods.riskiest_users import ratings_left
from recveil.methods.synthetic.options import of_cohort
from recveil.publish.release import PublishedRows
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.ratings import PREDICTED, reject_likes
from recveil.release.coverage import Coverage
from recveil.release.dates import Cohort, cohort_of, period_of, reject_order
from recveil.release.manifest import MANIFEST, Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.private_folder import is_made_of
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError, unknown
from recveil.runtime.progress import THE_REST, parts
from recveil.runtime.safe_repr import brief

# The usual share of ratings that is held out.
_SPLIT = 0.2
SplitBy: TypeAlias = Literal["user", "time"]
_READING, _MAKING = "Reading ratings", "Making a release"


@brief
@dataclass(frozen=True, kw_only=True)
class EvaluateRequest:
    """Options of `evaluate`, validated; see there.

    >>> EvaluateRequest(source="ratings.csv", release="out", split=0.2).targets
    1000
    """

    release: PublishedRows | str | PathLike[str] | Any | None = None
    source: Any = None
    train: Any = None
    test: Any = None
    split: float | None = None
    null_rule: NullRule = "zero"
    targets: int = 1_000
    seed: int = 0
    with_membership: bool = True
    liked: str | Sequence[str] | None = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    split_by: SplitBy = "user"
    users: str | PathLike[str] | None = None
    attribute: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Reject anything but two tables, or one with the share to hold out."""
        if not isinstance(self.release, PublishedRows):
            require_path("a release folder", release=self.release)
        tables = self.source, self.split, self.train, self.test
        is_set = tuple(part is not None for part in tables)
        if is_set not in ((False, False, True, True), (True, True, False, False)):
            raise RecveilError(
                "expected either the file that the release was made from and one of test ratings "
                "(train and test), or one file and the share to hold out of it (source and split)",
                code="option.conflict",
            )
        if self.split_by not in get_args(SplitBy):
            raise unknown("split_by (--split-by)", self.split_by, get_args(SplitBy))
        if self.split_by == "time" and self.split is None:
            raise RecveilError(
                "split_by (--split-by) is time, but train and test are already split; give one "
                "table (source) and the share to hold out (split), or leave split_by out",
                code="option.conflict",
            )
        reject_two_standard_inputs(source=self.source, train=self.train, test=self.test)
        check_attributes(self.users, self.attribute)

    def evaluator(
        self, divided: "_Divided", scale: RatingScale, liked: tuple[str, ...]
    ) -> Evaluator | NominalEvaluator:
        """Return the evaluator of a release on this scale."""
        attributes = None
        if self.users is not None and self.attribute:
            if not scale.ordered:
                require_liked(liked)
            users = divided.split.train.users
            attributes = read_users(self.users, users, self.attribute).columns
        if scale.ordered:
            return Evaluator(
                *(divided.split, self.null_rule, self.targets, self.seed),
                with_membership=self.with_membership,
                next_cells=divided.next_cells,
                attributes=attributes,
            )
        return NominalEvaluator(
            *(divided.split, self.targets, self.seed),
            with_membership=self.with_membership,
            liked=liked,
            attributes=attributes,
        )


def evaluate(
    source: str | PathLike[str] | Ratings | Any | None = None,
    release: str | PathLike[str] | PublishedRows | Any | None = None,
    *,
    train: str | PathLike[str] | Ratings | Any | None = None,
    test: str | PathLike[str] | Ratings | Any | None = None,
    split: float | None = None,
    null_rule: NullRule = "zero",
    targets: int = 1_000,
    seed: int = 0,
    with_membership: bool = True,
    liked: str | Sequence[str] | None = None,
    split_by: SplitBy = "user",
    users: str | PathLike[str] | None = None,
    attribute: str | Sequence[str] | None = None,
    **reading: Unpack[ReadingOptions],
) -> Evaluated:
    r"""Evaluate a release on held-out ratings.

    Give `train` and `test`, or `source`. The release and `source` may come in either order.

    Parameters
    ----------
    source : path, data frame, matrix or Ratings, optional
        A table of ratings to split. A release of all of it includes the held-out ratings and cannot
        be evaluated on them, so another release is made in memory from the rest with the public
        settings of `release`, and evaluated instead.
    release : path or Release
        The published folder, or a release in memory. With `train`, a private folder next to it maps
        users to rows.
    train, test : path, data frame, matrix or Ratings, optional
        The table that the release was made from, and one with other ratings of the same users.
    split : float, optional
        The share of the ratings that is held out of `source`; 0.2 by default.
    null_rule
        See `target_deviation`.
    targets : int
        Number of targets per adversary.
    seed : int
        Fixes every random choice.
    with_membership
        See `Evaluator`.
    liked : str or sequence of str, optional
        Nominal labels that mean that a user liked the item, such as "up,love". Then lists are
        evaluated, too, on held-out items with such a label.
    split_by : {"user", "time"}
        Hold out a random share of each user's ratings, or the last ratings of the whole table (see
        `split_by_time`). The latter also evaluates lists of each user's next items.
    users, attribute : optional
        A file of users, and its columns by which utility is divided as well; see `audit`.
    **reading
        Passed to `understand`, for all tables. The scale defaults to the release's own.

    Raises
    ------
    RecveilError
        If there are too many or too few files, or they cannot be read or do not belong together; if
        all training ratings are equal; if the release was made from more than the training ratings,
        where this can be detected; or, with `split`, if its settings do not suffice to make another
        release.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.methods import anonymize
    >>> from recveil.datasets import generate
    >>> with TemporaryDirectory() as folder:
    ...     file, output = Path(folder, "ratings.csv"), Path(folder, "release")
    ...     _ = generate(file, users=80, items=40, ratings=900)
    ...     _ = anonymize(file, output, k=5, seed=1)
    ...     result = evaluate(file, output, targets=20, with_membership=False)
    >>> result.to_dict()["recipient"]["release"]["rmse"] > 0
    True
    """
    reject_unknown_keywords(evaluate, reading, "k", "user_files", "times")
    if not _is_release(release) and not _is_table(source):
        release, source = source, release
    if train is None and test is None and source is not None and split is None:
        split = _SPLIT
    request = EvaluateRequest(
        release=release,
        source=source,
        train=train,
        test=test,
        split=split,
        null_rule=null_rule,
        targets=targets,
        seed=seed,
        with_membership=with_membership,
        liked=liked,
        reading=reading,
        split_by=split_by,
        users=users,
        attribute=(attribute,) if isinstance(attribute, str) else attribute,
    )
    with _opened(request.release) as folder:
        return _perform(request, folder)


def _perform(request: EvaluateRequest, folder: Path) -> Evaluated:
    """Read the tables, make another release if they are to be split, and evaluate it."""
    split, seed = request.split, request.seed
    manifest = known_manifest(folder)
    liked = liked_values(request.liked, manifest.scale)
    if request.null_rule != "zero" and not manifest.scale.ordered:
        raise RecveilError(
            f"null_rule (--null-rule) is {request.null_rule}, but nominal labels have no error: a "
            f"cell without a label counts as wrong; leave it out",
            code="option.unsupported",
        )
    if request.split_by == "time":
        reject_order(manifest.settings)
    # A release that cannot be made again is refused before any work.
    anonymizer = None if split is None else _made_like(manifest, folder, seed)
    with parts(
        "Evaluating", {_READING: 1, _MAKING: 0 if split is None else 3, THE_REST: 25}
    ) as begin:
        begin(_READING)
        tables = (request.train, request.test) if split is None else (request.source,)
        # Adversaries who know dates compare those of a release that has some.
        cohort = cohort_of(manifest.settings)
        times = request.split_by == "time" or period_of(manifest.settings) is not None
        with naming_two_tables("train and test") if split is None else nullcontext():
            readings = tuple(
                _read(table, manifest.scale, request.reading, times=times or cohort is not None)
                for table in tables
            )
        if split is not None and cohort is not None:  # another release is made of the same users
            users = of_cohort(readings[0].require_times().ratings, cohort)
            readings = (replace(readings[0], ratings=users),)
        is_original = split is not None and not _warn_of_other_ratings(folder, readings[0].ratings)
        divided = _divide(request, readings)
        if split is None:
            _reject_other_ratings(folder, readings[0].ratings, cohort)
        train = divided.split.train
        if not train.is_unary:
            reject_likes(train, PREDICTED)
        begin(_MAKING)
        evaluator = request.evaluator(divided, manifest.scale, liked)
        about = manifest.user_columns
        if anonymizer is not None and about is not None and not about.values:
            anonymizer = _with_attributes(request, manifest, train) or anonymizer
        evaluated = folder if anonymizer is None else anonymizer.anonymize(train)
        begin(THE_REST)
        evaluation = evaluator.evaluate(evaluated, anonymizer=anonymizer)
        disclosure = evaluation.disclosure
        if split is not None and disclosure is not None:
            disclosure = replace(disclosure, is_remade=True)
            evaluation = replace(evaluation, disclosure=disclosure)
        coverage = _coverage_of_folder(folder, readings[0].ratings) if is_original else None
    return Evaluated(
        *(evaluation, train, readings, folder.name, split, divided.matched, seed),
        *(manifest.sha256, divided.cut, coverage),
    )


def _with_attributes(
    request: EvaluateRequest, manifest: Manifest, train: Ratings
) -> Anonymizer | None:
    """Return an anonymizer that publishes the same attributes; None, with a warning, if unknown."""
    if request.users is None or manifest.user_columns is None:
        note = (
            "The release publishes attributes of users, but the one that is evaluated is made "
            "without them, which can make it more useful; give the file of users (--users)."
        )
        warn_of_notes([note])
        return None
    columns = read_users(request.users, train.users, manifest.user_columns.names).columns
    attributes = DeclaredAttributes.like(manifest, train.users, columns)
    return same_again(manifest, request.seed, attributes)


def _reject_other_ratings(folder: Path, ratings: Ratings, cohort: Cohort | None) -> None:
    """Raise if a release was made from other ratings than the training ratings, test ones, say."""
    if cohort is not None:
        if ratings.days is None:  # its users are unknown
            return
        ratings = of_cohort(ratings, cohort)
    if is_made_of(folder, ratings_left(ratings, folder)) is False:
        raise RecveilError(
            f"train (--train): {folder.name} was not made from these ratings, as its private "
            f"folder shows; if it was made from the test ratings, too, every figure would be too "
            f"good. Make a release of the training ratings alone, or give one table and split "
            f"(--split)",
            code="release.mismatch",
        )


def _warn_of_other_ratings(folder: Path, ratings: Ratings) -> bool:
    is_of_others = is_made_of(folder, ratings_left(ratings, folder)) is False
    if is_of_others:
        note = (
            f"{folder.name} was not made from these ratings, as its private folder shows: the "
            f"figures describe another release, made of these ratings with the same settings."
        )
        warn_of_notes([note])
    return is_of_others


def _coverage_of_folder(folder: Path, ratings: Ratings) -> Coverage | None:
    """Return the coverage of the release itself, not of the one made again; None if unknown."""
    try:
        target = AttackTarget.from_published(folder, ratings)
    except RecveilError:  # it has other items
        return None
    table = TrainingTable.from_released(target, ratings.scale)
    raw = TrainingTable.from_ratings(ratings)
    return raw.coverage_of(table, contains_users=target.contains_users)


class _Divided(NamedTuple):
    split: Split
    matched: Matched | None = None
    cut: int | None = None
    next_cells: HeldOut | None = None


def _divide(request: EvaluateRequest, readings: Sequence[Reading]) -> _Divided:
    """Split the one table, or match the training and test tables."""
    ratings = readings[0].ratings
    if request.split is None:
        matched = match_held_out(ratings, readings[1].ratings)
        return _Divided(Split(ratings, matched.test), matched)
    if request.split_by == "user":
        return _Divided(split_ratings(ratings, request.split, request.seed))
    readings[0].require_times()
    found = split_by_time(ratings, request.split)
    left_out = found.unknown_users, found.unknown_items, found.left_out
    matched = Matched(found.split.test, *left_out, also_in_training=0)
    return _Divided(found.split, matched, found.cut, found.next_cells)


def _is_table(source: object) -> bool:
    """Return whether this is no path of a folder: a table in memory, a file, or nothing."""
    is_path = isinstance(source, str | PathLike)
    return Path(str(source)).is_file() if is_path else not isinstance(source, PublishedRows)


def _is_release(source: object) -> bool:
    """Return whether this is a release in memory, or the path of one."""
    is_path = isinstance(source, str | PathLike)
    return isinstance(source, PublishedRows) or (is_path and Path(str(source), MANIFEST).is_file())


def _opened(release: PublishedRows | str | PathLike[str] | Any) -> AbstractContextManager[Path]:
    if isinstance(release, PublishedRows):
        return release.open_folder()
    return nullcontext(Path(release).resolve())


def _read(table: Any, scale: RatingScale, reading: Mapping[str, Any], *, times: bool) -> Reading:
    """Read a table on the release's scale, unless it has another one or one is requested."""
    # Ratings in memory already have a scale.
    scale_options: ReadingOptions = {}
    is_specified = any(reading.get(name) is not None for name in ("scale", "order", "words"))
    if not isinstance(table, Ratings) and not is_specified:
        scale_options = (
            {"likes": reading.get("counts") is None} if scale.unary else {"scale": scale}
        )
    result = understand(table, times=times, **{**reading, **scale_options}).settled()
    warn_of_reading(result)
    if scale.unary != result.ratings.is_unary and (scale.unary or scale.range):
        raise RecveilError(
            f"{result.name} has {'likes' if result.ratings.is_unary else 'ratings'}, but the "
            f"release has {'likes' if scale.unary else 'ratings'}; give what it was made from",
            code="release.mismatch",
        )
    table_scale = result.ratings.scale
    if (table_scale.labels or scale.labels) and table_scale != scale:
        raise RecveilError(
            f"{result.name}: read on the scale {table_scale}, but the release has {scale}; name "
            f"the same labels in the same order ({option_of(scale)}), or none",
            code="release.mismatch",
        )
    return result


def _made_like(manifest: Manifest, folder: Path, seed: int) -> Anonymizer:
    """Return an anonymizer with the public settings of a release."""
    anonymizer = same_again(manifest, seed)
    if anonymizer is None:
        raise RecveilError(
            f"{folder.name}: its settings do not suffice to make another such release (it follows "
            f"another one, users have different privacy levels, or item features or earlier noisy "
            f"sums are needed); split the ratings yourself, make a release of one part, and pass "
            f"both parts as train and test",
            code="release.unsupported",
        )
    return anonymizer
