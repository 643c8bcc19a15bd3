"""Resumable comparison of every method with every k on the same data."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from recveil.attacks.membership.inference import only
from recveil.attacks.membership.shadow_models import check_shadows
from recveil.comparison.cells import (
    AnyEvaluator,
    Cell,
    Ground,
    Setting,
    is_outdated,
    lacks_shadows,
    load_cell,
    open_folder,
    run_cell,
    save_cell,
    with_shadows,
)
from recveil.comparison.choice import (
    ATTRIBUTE,
    REIDENTIFICATION,
    SHADOWS,
    choose_setting,
    usual_axis,
)
from recveil.comparison.results import Comparison, Reference
from recveil.comparison.rows import Purpose, to_row
from recveil.comparison.settings import (
    Estimate,
    check_ks,
    estimate_settings,
    kind_of,
    list_settings,
    reject_unknown,
)
from recveil.evaluation.evaluator import MOST_JUDGED, WIDTH, Evaluator, NominalEvaluator
from recveil.evaluation.nominal import liked_values, require_liked
from recveil.evaluation.split import Split, split_ratings
from recveil.io import Reading, understand
from recveil.io.ingestion import reject_unknown_keywords, warn_of_reading, without_dates
from recveil.io.options import ReadingOptions
from recveil.io.pipes import require_path, temporary_folder
from recveil.io.side_tables import UserAttributes, check_attributes, read_users
from recveil.ratings import Ratings
from recveil.ratings.ratings import PREDICTED, reject_likes
from recveil.release.specs.baselines import DATED
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.progress import THE_REST, expect, parts
from recveil.runtime.safe_repr import brief

_READING = "Reading ratings"
_NO_DATES = "Compared releases have no dates"
_DATING = "; anonymize publishes them by period with dates (--dates)"
# A setting of so many pairs of a user and an item takes about ten minutes.
_MOST_PAIRS = 200_000_000


@brief
@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """Options of `compare`, validated; see there.

    >>> CompareRequest(source="ratings.csv", ks=[5, 20]).utility
    'both'
    """

    source: Any
    # None for the usual ones
    methods: Sequence[str] | None = None
    ks: Sequence[int] | None = None
    split: float = 0.2
    seed: int = 0
    targets: int = 1_000
    max_risk: float | None = None
    min_k: int | None = None
    utility: Purpose = "both"
    risk: str | None = None
    shadows: int | None = None
    allow_large: bool = False
    liked: str | Sequence[str] | None = None
    users: str | PathLike[str] | None = None
    attribute: Sequence[str] | None = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def __post_init__(self) -> None:
        """Validate the options before any work."""
        check_attributes(self.users, self.attribute)
        if self.methods is not None:
            reject_unknown(self.methods)
        check_ks(self.ks)
        choose_setting(
            [], self.max_risk, self.min_k, self.utility, self.risk or REIDENTIFICATION.name
        )
        if self.shadows is not None:
            check_shadows(self.shadows)
        elif self.risk == SHADOWS.name:
            raise RecveilError(
                f"risk (--risk) is {self.risk}, which needs shadow releases; set shadows "
                f"(--shadows 32), their number per setting: finished ones are kept",
                code="option.required",
            )
        if self.risk == ATTRIBUTE.name and self.users is None:
            raise RecveilError(
                f"risk (--risk) is {self.risk}, which needs declared attributes; name their file "
                f"users (--users) and columns attribute (--attribute)",
                code="option.required",
            )
        if self.targets < 1:
            raise RecveilError(
                f"targets is {self.targets}; expected at least 1", code="option.value"
            )
        if self.seed < 0:
            raise RecveilError(
                f"seed is {self.seed}; expected a whole number of at least 0", code="option.value"
            )


def compare(
    source: str | PathLike[str] | Ratings | Any,
    output: str | PathLike[str] | None = None,
    *,
    methods: str | Sequence[str] | None = None,
    k: int | Sequence[int] | None = None,
    split: float = 0.2,
    seed: int = 0,
    targets: int = 1_000,
    max_risk: float | None = None,
    min_k: int | None = None,
    utility: Purpose = "both",
    risk: str | None = None,
    shadows: int | None = None,
    allow_large: bool = False,
    liked: str | Sequence[str] | None = None,
    users: str | PathLike[str] | None = None,
    attribute: str | Sequence[str] | None = None,
    on_estimate: Callable[[Estimate], object] | None = None,
    on_interrupt: Callable[[Comparison], object] | None = None,
    on_progress: Callable[[Comparison], object] | None = None,
    **reading: Unpack[ReadingOptions],
) -> Comparison:
    """Make a release with every method and k, and measure its privacy and utility.

    All releases are made from the same training ratings with the same seed, verified from their
    files, attacked by the same adversaries with the same targets, and evaluated on the same
    held-out ratings. Each result is saved at once, so that an interrupted run can resume. (A
    KeyboardInterrupt states how many are finished.)

    Of a table with more than 200 million pairs of a user and an item, 9,604 users are compared.

    Parameters
    ----------
    source : path, data frame, matrix or Ratings
    output : path, optional
        A folder for the results, readable by its creator alone; new, or an earlier comparison's. It
        names no user, but do not publish it: it describes how to re-identify them. Without it, an
        interrupted run cannot resume.
    methods : str or sequence of str, optional
        Names of variants, such as "simple-mdav"; "all" selects one of each kind, "padding" all
        degrees of padding, and "today" what publishers do today next to the default settings. By
        default a few settings; see `list_settings`.
    k : int or sequence of int, optional
        For the methods that take a k; see `list_settings`.
    split : float
        Share of each user's ratings that is held out.
    seed : int
        Fixes every random choice.
    targets : int
        Number of targets per adversary; all users if there are fewer.
    max_risk, min_k : optional
        The limits; see `choose_setting`.
    utility : {"both", "ratings", "lists"}
        Utility to choose a setting by: the retained share of the gain in predicted ratings, of the
        lists, or the smaller of the two. It changes no measurement, so nothing is recomputed.
    risk : {"reidentification", "class", "membership", "links", "shadows", "attribute"}, optional
        Risk to choose a setting by: the share of users re-identified, of users whose equivalence
        class is re-identified, of members recognized, of user-item links inferred, each by the
        strongest adversary; of members recognized with shadow releases; or the AUC that rows add to
        attribute inference; see `AXES`. It changes no measurement. By default members recognized
        with shadow releases, if any were made, and otherwise the first.
    shadows : int, optional
        Number of shadow releases per setting, even and at least 8, such as 32, for the strongest
        membership inference, comparable across methods. Takes as long as that many releases; the
        results are kept.
    allow_large : bool
        Allow releases of more than 100 values per rating; see `Release.write`.
    liked : str or sequence of str, optional
        Nominal labels that mean that a user liked the item, such as "up,love". Without them lists
        are not evaluated, and predicted labels alone decide.
    users, attribute : optional
        A file of users, and its columns by which utility is divided as well, and which are
        inferred from each release; see `audit`.
    on_estimate : callable, optional
        Called with the `Estimate` of the work, before it begins.
    on_interrupt : callable, optional
        Called with the finished part if a KeyboardInterrupt ends the run; the table holds it, too.
    on_progress : callable, optional
        Called with the finished part after each setting, and at the start if an earlier run
        finished some.
    **reading
        Passed to `understand`: format, scale, duplicates, drop_off_scale, drop_missing_ids, and
        names or positions of columns.

    Raises
    ------
    RecveilError
        If the source cannot be read or all its ratings are equal, an option is out of range, or
        `output` has other content. A setting that fails by itself (such as a k above the number of
        users) does not raise: its row has the reason.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     out = Path(folder, "comparison")
    ...     result = compare(ratings, out, methods=["simple", "raw"], k=[5, 99], targets=20)
    ...     again = compare(ratings, out, methods=["simple", "raw"], k=[5, 99], targets=20)
    >>> [(row.title, row.verified_k) for row in result.rows], result.computed, again.computed
    ([('simple, k = 5', 5), ('simple, k = 99', None), ('raw', None)], 3, 0)
    >>> print(result.rows[1].problem)
    60 users cannot form a group of k = 99; lower k, or add users
    """
    reject_unknown_keywords(compare, reading, "user_files", "times")
    request = CompareRequest(
        source=source,
        methods=[methods] if isinstance(methods, str) else methods,
        ks=[k] if isinstance(k, int) else k,
        split=split,
        seed=seed,
        targets=targets,
        max_risk=max_risk,
        min_k=min_k,
        utility=utility,
        risk=risk,
        shadows=shadows,
        allow_large=allow_large,
        liked=liked,
        users=users,
        attribute=(attribute,) if isinstance(attribute, str) else attribute,
        reading=reading,
    )
    if output is not None:
        require_path("a comparison", is_output=True, output=output)
    with temporary_folder() if output is None else nullcontext(Path(output).absolute()) as folder:
        return _perform(request, folder, on_estimate, on_interrupt, on_progress)


def _perform(
    request: CompareRequest,
    folder: Path,
    on_estimate: Callable[[Estimate], object] | None,
    on_interrupt: Callable[[Comparison], object] | None,
    on_progress: Callable[[Comparison], object] | None,
) -> Comparison:
    """Compute the settings that a folder lacks, and write its table."""
    with parts("Comparing settings", {_READING: 1, THE_REST: 99}) as begin:
        begin(_READING)
        # Most released rows carry no times, so that invalid ones are no error.
        times = not {DATED, "today"}.isdisjoint(request.methods or ())
        read = understand(request.source, times=times, **request.reading).settled()
        if not times:
            read = without_dates(read, request.reading.get("time"), _DATING, _NO_DATES)
        read = _sample_of_large(read, request.seed)
        settings = list_settings(request.methods, request.ks, of=kind_of(read.ratings))
        if read.ratings.days is None and DATED not in (request.methods or ()):
            usable = [each for each in settings if each.method != DATED]
            if len(usable) < len(settings):
                note = f"The table has no times, so {DATED} is left out."
                settings, read = usable, replace(read, notes=(*read.notes, note))
        warn_of_reading(read)
        ratings = read.ratings
        liked = liked_values(request.liked, ratings.scale)
        declared = _read_attributes(request, ratings, liked)
        request = replace(request, utility=_utility_of_table(ratings, request.utility, liked))
        divided = split_ratings(ratings, request.split, request.seed)
        open_folder(folder)
        ground = Ground(
            ratings.digest().hex(),
            request.split,
            request.seed,
            request.targets,
            request.allow_large,
            liked,
            declared.digest() if declared.columns else "",
        )
        evaluator = _evaluator(divided, request.targets, request.seed, liked, declared)

        def write(cells: list[Cell], computed: int) -> Comparison:
            comparison = _result(request, read, cells, computed, len(settings))
            comparison.write_table(folder)
            return comparison

        def report(callback: Callable[[Comparison], object] | None, cells: list[Cell]) -> None:
            if callback is not None and cells:
                callback(write(cells, 0))

        begin(THE_REST)
        callbacks = on_estimate, partial(report, on_interrupt), partial(report, on_progress)
        return write(*_fill(folder, settings, ground, evaluator, request.shadows, *callbacks))


def _sample_of_large(read: Reading, seed: int) -> Reading:
    # Other tables than those that take hours are unchanged.
    ratings = read.ratings
    n_users = ratings.n_users
    if n_users <= MOST_JUDGED or n_users * ratings.n_items <= _MOST_PAIRS:
        return read
    drawn = np.random.default_rng(seed).choice(n_users, MOST_JUDGED, replace=False)
    note = (
        f"Settings are compared on {MOST_JUDGED:,} of {n_users:,} users, drawn at random by the "
        f"seed: the 95% interval of an nDCG is about {WIDTH} wide. A release of all users has more "
        f"candidates for each adversary, and more ratings to learn from."
    )
    return replace(read, ratings=only(ratings, np.sort(drawn)), notes=(*read.notes, note))


def _read_attributes(
    request: CompareRequest, ratings: Ratings, liked: tuple[str, ...]
) -> UserAttributes:
    """Read declared attributes, of which there may be none."""
    if request.users is None or not request.attribute:
        return UserAttributes({})
    if not ratings.scale.ordered:
        require_liked(liked)
    return read_users(request.users, ratings.users, request.attribute)


def _result(
    request: CompareRequest, read: Reading, cells: list[Cell], computed: int, n_settings: int
) -> Comparison:
    rows = [to_row(cell) for cell in cells]
    return Comparison(
        reading=read,
        split=request.split,
        seed=request.seed,
        targets=request.targets,
        rows=rows,
        computed=computed,
        reference=_reference(cells),
        divisions={
            cell.setting.title: cell.evaluation["divisions"]
            for cell in cells
            if cell.evaluation is not None and "divisions" in cell.evaluation
        },
        max_risk=request.max_risk,
        min_k=request.min_k,
        utility=request.utility,
        risk=request.risk or usual_axis(rows).name,
        unfinished=n_settings - len(cells),
    )


def _evaluator(
    parts: Split, targets: int, seed: int, liked: tuple[str, ...], declared: UserAttributes
) -> AnyEvaluator:
    attributes = declared.columns
    if parts.train.scale.ordered:
        return Evaluator(parts, n_targets=targets, seed=seed, attributes=attributes)
    return NominalEvaluator(parts, targets, seed, liked=liked, attributes=attributes)


def _utility_of_table(ratings: Ratings, utility: Purpose, liked: tuple[str, ...]) -> Purpose:
    """Return the utility that settings are chosen by, given what the table has."""
    if not ratings.scale.ordered and not liked:
        if utility == "lists":
            raise RecveilError(
                "utility (--utility) is lists, but the ratings are nominal labels, and none is "
                "declared as liked; name the liked ones (--liked up,love)",
                code="option.required",
            )
        reject_likes(ratings, PREDICTED)
        return "ratings"
    if not ratings.is_unary:
        reject_likes(ratings, PREDICTED)
        return utility
    if utility == "ratings":
        raise RecveilError(
            "utility (--utility) is ratings, but implicit feedback has no ratings to predict; "
            "choose "
            "by lists",
            code="option.unsupported",
        )
    return "lists"


def _fill(
    out: Path,
    settings: list[Setting],
    ground: Ground,
    evaluator: AnyEvaluator,
    shadows: int | None,
    announce: Callable[[Estimate], object] | None,
    stop_with: Callable[[list[Cell]], None],
    go_on_with: Callable[[list[Cell]], None],
) -> tuple[list[Cell], int]:
    """Return the cells of all settings, computing those that are not finished."""
    cells = {setting: load_cell(out, setting, ground.key(setting)) for setting in settings}
    open_settings = [
        setting for setting, cell in cells.items() if cell is None or lacks_shadows(cell, shadows)
    ]
    n_outdated = sum(
        cell is None and is_outdated(out, setting, ground.key(setting))
        for setting, cell in cells.items()
    )
    estimate = estimate_settings(
        open_settings, len(cells), evaluator.split.train, shadows, n_outdated
    )
    expect(estimate.total_seconds)
    if announce is not None:
        announce(estimate)

    def finished() -> list[Cell]:
        return [cell for cell in cells.values() if cell is not None]

    try:
        go_on_with(finished())
        with parts("Comparing settings", estimate.seconds) as begin:
            for setting in open_settings:
                begin(setting.title)
                cell = cells[setting] or run_cell(out, setting, ground, evaluator)
                save_cell(out, cell)  # before the shadows, which may take longest
                cells[setting] = cell
                if shadows is not None and lacks_shadows(cell, shadows):
                    cell = with_shadows(cell, shadows, ground, evaluator)
                    save_cell(out, cell)
                    cells[setting] = cell
                go_on_with(finished())
    except KeyboardInterrupt as stop:
        kept = f"{len(finished())} of {describe_count(len(cells), 'setting')} kept"
        for setting, done in cells.items():  # the first one without a result was under way
            if done is None:
                kept += f", and “{setting.title}” begins anew"
                break
            if lacks_shadows(done, shadows):
                kept += f", and the shadow releases of “{setting.title}” begin anew"
                break
        stop.args = (f"{kept}; run again to go on",)
        stop_with(finished())
        raise
    return finished(), len(open_settings)


# Metrics of the recommender that makes lists, not of the rating predictor.
_OF_LISTS = "ndcg@10", "recall@10", "coverage@10", "inner_ndcg"


def _reference(cells: Iterable[Cell]) -> Reference | None:
    """Return the utility of the raw ratings, which is equal in all cells."""
    for cell in cells:
        recipient = cell.figure("recipient")
        if recipient is not None:
            ranked = recipient["lists"]["best_raw"]
            lists = {name: ranked[name] for name in _OF_LISTS if name in ranked}
            return Reference(
                raw={**recipient["raw"], **lists, "ranker": ranked["recommender"]},
                averages=recipient["averages"],
                popularity=recipient["popularity"],
                raw_gain=recipient["raw_gain"],
                raw_lists=recipient["raw_lists"],
            )
    return None
