"""Audits of what a recommender publishes: lists of items, its model, or similar items."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.inference.similar_items import SimilarItems, infer_new_items
from recveil.attacks.knowledge import choose_targets
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.recommenders import (
    Lists,
    RecommenderInference,
    Targets,
    infer_from_lists,
    infer_from_model,
    score_factors,
    score_pairs,
    score_similarities,
    score_span,
)
from recveil.attacks.membership.shadow_models import (
    Flags,
    Numbers,
    Rows,
    check_shadows,
    shuffle_membership,
)
from recveil.attacks.statistics import FEWEST
from recveil.evaluation.audited_recommender import AuditedRecommender, digests_of, options_of
from recveil.evaluation.rankers import (
    ItemCosine,
    Spectrum,
    liked,
    serve_ease,
    spectrum_of,
    valued,
)
from recveil.evaluation.ranking_metrics import list_items
from recveil.evaluation.split import TrainingTable, UserRows
from recveil.io import Reading, understand
from recveil.io.columns.frames import frame_of
from recveil.io.ingestion import reject_unknown_keywords, warn_of_reading
from recveil.io.options import ReadingOptions, naming_two_tables
from recveil.ratings import Ratings, RatingScale
from recveil.release.private_folder import digest_of
from recveil.runtime.errors import RecveilError, describe_count, first_line_of, named_twice, quoted
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# Maximum number of scored members, and of scored nonmembers.
MOST_SCORED = 1_000
# Directions of the items' vectors.
_DIMENSIONS = 50
# A model of more items would not fit in memory with its shadows.
_MOST_MODELLED = 5_000

# Scores computed at a time: 256 MiB.
_BLOCK_CELLS = 1 << 25

Predict: TypeAlias = Callable[[TrainingTable, UserRows], Numbers]
# Learns from the first table, and returns lists of item ids for the users of the second.
Recommend: TypeAlias = Callable[[Ratings, Ratings, int], Sequence[Sequence[Any]]]


def _ease(strength: float, form: Any) -> Predict:
    return lambda table, rows: serve_ease(spectrum_of(table, form), rows, strength)


def _factorize(rank: int, form: Any) -> Predict:
    def predict(table: TrainingTable, rows: UserRows) -> Numbers:
        spectrum = spectrum_of(table, form)
        longest = spectrum.vectors[:, :rank]
        return spectrum.spread(np.asarray(spectrum.of_users(rows) @ longest) @ longest.T)

    return predict


def _neighbours(kept: int) -> Predict:
    return lambda table, rows: ItemCosine(kept).fit(table, ()).predict(rows)


def _popularity(table: TrainingTable, rows: UserRows) -> Numbers:
    return np.tile(table.support, (rows.n_users, 1))


# Recommenders with a name; their first variants are those of --recommender.
RECOMMENDERS: dict[str, dict[str, Predict]] = {
    "item-knn": {f"item-knn, {kept} neighbours": _neighbours(kept) for kept in (100, 20)},
    "ease": {
        f"ease on {form.__name__}, strength {strength:g}": _ease(strength, form)
        for strength in (200.0, 5.0, 20.0, 80.0, 500.0, 2_000.0)
        for form in (liked, valued)
    },
    "svd": {
        f"svd on {form.__name__}, {rank} factors": _factorize(rank, form)
        for rank in (20, 50, 10)
        for form in (valued, liked)
    },
    "popular": {"popular": _popularity},
}
_VARIANTS = {name: make for variants in RECOMMENDERS.values() for name, make in variants.items()}


@brief
@dataclass(frozen=True, kw_only=True)
class ListsRequest:
    """Options of `audit_lists`, validated; see there.

    >>> ListsRequest(recommender="ease").shadows
    16
    """

    lists: Any = None
    nonmembers: Any = None
    recommender: str | Recommend | None = None
    model: str | PathLike[str] | Mapping[str, Any] | None = None
    similar_before: Any = None
    similar_after: Any = None
    since: str | date | None = None
    known: int = 8
    length: int = 10
    shadows: int = 16
    seed: int = 0
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def __post_init__(self) -> None:
        """Reject anything but one publication, with what it needs."""
        check_shadows(self.shadows)
        publications = {
            "lists (--lists)": self.lists,
            "recommender (--recommender)": self.recommender,
            "model (--model)": self.model,
            "similar_before (--similar-before)": self.similar_before,
        }
        names = [name for name, value in publications.items() if value is not None]
        if len(names) != 1:
            raise RecveilError(
                f"expected one of {', '.join(publications)}, got "
                f"{', '.join(names) or 'none'}; name what is published",
                code="option.conflict" if names else "option.required",
            )
        is_file = self.lists is not None or self.model is not None
        if is_file and self.nonmembers is None:
            raise RecveilError(
                f"{names[0]}: without users whom the recommender did not learn from, inference "
                f"cannot be measured; give their ratings as nonmembers (--nonmembers), or the "
                f"recommender (--recommender)",
                code="option.required",
            )
        if not is_file and self.nonmembers is not None:
            raise RecveilError(
                f"nonmembers (--nonmembers): not with {names[0]}; leave it out",
                code="option.conflict",
            )
        is_similar = self.similar_before is not None
        if {self.similar_after is not None, self.since is not None} != {is_similar}:
            raise RecveilError(
                "similar_before, similar_after, since (--similar-before, --similar-after, "
                "--since): expected all three or none; give the lists of both days, and the first "
                "day after the earlier ones",
                code="option.required",
            )
        for name, value in {"length": self.length, "known": self.known}.items():
            if value < 1:
                raise RecveilError(
                    f"{name} (--{name}) is {value}; expected at least 1", code="option.value"
                )


def audit_lists(
    source: str | PathLike[str] | Ratings | Any,
    *,
    lists: str | PathLike[str] | Any | None = None,
    nonmembers: str | PathLike[str] | Ratings | Any | None = None,
    recommender: str | Recommend | None = None,
    model: str | PathLike[str] | Mapping[str, Any] | None = None,
    similar_before: str | PathLike[str] | Any | None = None,
    similar_after: str | PathLike[str] | Any | None = None,
    since: str | date | None = None,
    known: int = 8,
    length: int = 10,
    shadows: int = 16,
    seed: int = 0,
    **reading: Unpack[ReadingOptions],
) -> AuditedRecommender:
    """Infer from what a recommender publishes whose ratings it learned from.

    Parameters
    ----------
    source : path, data frame, matrix or Ratings
        The table that the recommender learned from: its users are the members.
    lists : path or data frame, optional
        Published lists: user, item, and rank (1 is the first) or score, for members and others.
    nonmembers : path, data frame, matrix or Ratings, optional
        Ratings of users whom the recommender did not learn from, for `lists` and `model`.
    recommender : str or callable, optional
        "item-knn", "ease", "svd" or "popular"; or a function, or its "module:function", of the
        ratings to learn from, the ratings of the users to serve, and the length of a list. It
        returns the item ids of each list. A user without ratings is served, too.
    model : path or mapping, optional
        A file of `numpy.savez`: `items`, the ids, and `factors`, shape (n_items, rank), or
        `similarities`, an item-item matrix.
    similar_before, similar_after : path or data frame, optional
        Item, similar item and rank, on two days.
    since : str or date, optional
        The first day after `similar_before`. The adversary infers items rated since.
    known : int
        How many earlier items of a target the adversary knows.
    length : int
        Items per list, with `recommender`.
    shadows : int
        How many shadow recommenders are made, each from half of the users.
    seed : int
        Fixes every random choice.
    **reading
        Passed to `understand`, for both tables of ratings.

    Returns
    -------
    AuditedRecommender

    Raises
    ------
    RecveilError
        Unless exactly one publication is named, or if there are too few members or nonmembers.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(60, 40, 900, seed=1)
    >>> audited = audit_lists(ratings, recommender="svd", shadows=8)
    >>> audited.by_newcomers["popular"].inferred.auc.rate > 0.9
    True
    """
    reject_unknown_keywords(audit_lists, reading)
    request = ListsRequest(
        lists=lists,
        nonmembers=nonmembers,
        recommender=recommender,
        model=model,
        similar_before=similar_before,
        similar_after=similar_after,
        since=since,
        known=known,
        length=length,
        shadows=shadows,
        seed=seed,
        reading=reading,
    )
    both = partial(naming_two_tables, "source and nonmembers")
    with nullcontext() if nonmembers is None else both():
        table = _read(source, request.reading, times=since is not None)
    digests = {"ratings": digest_of(table.ratings)}
    if request.similar_before is not None:
        found = _audit_similar(request, table)
    elif request.recommender is not None:
        with one_thread():
            found = _audit_live(request, table.ratings)
    else:
        with both():
            others = _read(nonmembers, _like(table, reading), times=False)
        digests["nonmembers"] = digest_of(others.ratings)
        audit = _audit_published if request.model is None else _audit_model
        with one_thread():
            found = audit(request, *_together(table, others))
    return replace(
        found,
        users=table.ratings.users,
        source=table.name,
        digests={**digests, **digests_of(request)},
        options=options_of(request, found.recommender),
    )


def _read(source: Any, reading: ReadingOptions, *, times: bool) -> Reading:
    result = understand(source, times=times, **reading).settled()
    warn_of_reading(result)
    if not result.ratings.scale.ordered:
        raise RecveilError(
            f"{result.name}: nominal labels have no recommender here; give ratings or likes",
            code="option.unsupported",
        )
    return result


def _like(table: Reading, reading: ReadingOptions) -> ReadingOptions:
    """Return reading options for a second table on the scale of the first."""
    if reading.get("scale") is not None or table.ratings.is_unary:
        return reading
    return {**reading, "scale": table.ratings.scale}


def _together(table: Reading, others: Reading) -> tuple[Ratings, Flags]:
    """Return the ratings of both tables, and whether each user is in the first."""
    first, second = table.ratings, others.ratings
    if first.scale != second.scale:
        raise RecveilError(
            f"{others.name} is on the scale {second.scale}, {table.name} on {first.scale}; name "
            f"one scale for both with scale (--scale)",
            code="scale.invalid",
        )
    users = [_texts(each.users) for each in (first, second)]
    if both := set(users[0]) & set(users[1]):
        raise RecveilError(
            f"{others.name}: {describe_count(len(both), 'user')} of {table.name}, too; give users "
            f"whose ratings the recommender did not learn from",
            code="id.duplicate",
        )
    items = np.unique(np.concatenate([_texts(first.items), _texts(second.items)]))
    positions = [np.searchsorted(items, _texts(each.items)) for each in (first, second)]
    cells = [
        (place[each.indices], each.values)
        for place, each in zip(positions, (first, second), strict=True)
    ]
    lengths = np.concatenate([first.activity, second.activity])
    rows = np.repeat(np.arange(lengths.size), lengths)
    columns = np.concatenate([cell[0] for cell in cells])
    order = np.lexsort((columns, rows))
    ratings = Ratings(
        users=np.concatenate(users),
        items=items,
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=columns[order],
        values=np.concatenate([cell[1] for cell in cells])[order],
        scale=first.scale,
    )
    return ratings, np.arange(lengths.size) < first.n_users


def _texts(ids: NDArray[Any]) -> NDArray[Any]:
    return np.array([str(each) for each in ids.tolist()], dtype=object)


def _places(ids: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions of ids among the known ones; -1 for others."""
    places = {str(each): place for place, each in enumerate(known.tolist())}
    return np.array([places.get(str(each), -1) for each in ids.tolist()], np.int64)


@brief
class _Shadows(NamedTuple):
    """Halves of the users: complementary ones are next to each other."""

    inside: Flags

    @classmethod
    def draw(cls, n_users: int, n: int, seed: int) -> "_Shadows":
        rng, inside = np.random.default_rng([seed, 5]), np.zeros((n_users, n), np.bool_)
        for first in range(0, n, 2):
            inside[rng.permutation(n_users)[: n_users // 2], first] = True
            inside[:, first + 1] = ~inside[:, first]
        return cls(inside)

    def first(self, ratings: Ratings) -> TrainingTable:
        return TrainingTable.from_ratings(only(ratings, np.flatnonzero(self.inside[:, 0])))

    def tables(self, ratings: Ratings) -> Generator[Ratings]:
        places = range(self.inside.shape[1])
        for place in track(places, "Making shadow recommenders", share=1):
            yield only(ratings, np.flatnonzero(self.inside[:, place]))


def _rows_of(ratings: Ratings, users: NDArray[np.int64]) -> UserRows:
    return UserRows.from_ratings(ratings).take(users)


def _targets(ratings: Ratings, rows: UserRows) -> Targets:
    spectrum = Spectrum.of(TrainingTable.from_ratings(ratings), valued)
    chosen = spectrum.vectors[:, :_DIMENSIONS] * np.sqrt(spectrum.squares[:_DIMENSIONS])
    embedding = np.zeros((ratings.n_items, chosen.shape[1]))
    embedding[spectrum.modelled] = chosen
    return Targets(_ones(rows, ratings.n_items), embedding, ratings.support.astype(np.float64))


def _ones(rows: UserRows, n_items: int) -> Rows:
    return Rows(rows.matrix(n_items, np.ones(rows.indices.size)))


_NEWCOMER = UserRows(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))


def _most_popular(support: NDArray[Any], n: int) -> Lists:
    return list_items(support[None, :].astype(np.float64), _NEWCOMER, n)[0]


def _lists(predict: Predict, table: TrainingTable, rows: UserRows, length: int) -> Lists:
    """Return the lists of users, a block at a time."""
    step = max(1, _BLOCK_CELLS // table.n_items)
    blocks = [
        rows.take(np.arange(first, min(first + step, rows.n_users)))
        for first in range(0, rows.n_users, step)
    ]
    return np.concatenate([list_items(predict(table, each), each, length) for each in blocks])


@brief
class _ShadowLists(NamedTuple):
    """Lists of shadow recommenders for all targets, for newcomers, and the popular items."""

    personal: Lists
    newcomers: Lists
    unrated: Lists
    popular: Lists

    def games(self, inside: Flags) -> dict[str, Lists]:
        """Return the lists that targets are shown, shape (n_shadows, n_targets, n)."""
        is_in = inside.T[:, :, None]
        return {
            "popular": np.where(is_in, self.personal, self.newcomers[:, None, :]),
            "unrated": np.where(is_in, self.personal, self.unrated),
            "history": self.personal,
        }


def _shadow_lists(
    ratings: Ratings,
    shadows: _Shadows,
    recommend: Callable[[Ratings], tuple[Lists, Lists]],
    rows: UserRows,
    length: int,
) -> _ShadowLists:
    made = []
    # After an error of the recommender, progress ends at once, not when its traceback is freed.
    with closing(shadows.tables(ratings)) as halves:
        for half in halves:
            unrated = _lists(_popularity, TrainingTable.from_ratings(half), rows, length)
            made.append((*recommend(half), unrated, _most_popular(half.support, length)))
    return _ShadowLists(*(np.stack([each[part] for each in made]) for part in range(4)))


def _served(
    predict: Predict, rows: UserRows, length: int
) -> Callable[[Ratings], tuple[Lists, Lists]]:
    """Return a function that serves targets, and newcomers with popular items."""

    def recommend(half: Ratings) -> tuple[Lists, Lists]:
        table = TrainingTable.from_ratings(half)
        lists = _lists(predict, table, rows, length)
        return lists, _most_popular(table.support, length)

    return recommend


def _called(
    name: str, function: Recommend, histories: Ratings, length: int
) -> Callable[[Ratings], tuple[Lists, Lists]]:
    """Return a function that serves targets and a newcomer by a recommender that was given."""
    newcomer = Ratings(
        users=histories.users[:1],
        items=histories.items,
        indptr=[0, 0],
        indices=[],
        values=[],
        scale=histories.scale,
    )

    def recommend(half: Ratings) -> tuple[Lists, Lists]:
        known, alone = (
            _positions(name, _ids_of(name, partial(function, half, served, length)), served, length)
            for served in (histories, newcomer)
        )
        return known, alone[0]

    return recommend


def _ids_of(name: str, call: Callable[[], Any]) -> list[NDArray[Any]]:
    """Call a user's function, and return the ids of each list."""
    try:
        returned = call()
        if not isinstance(returned, Iterable):
            return []
        return [np.array([*each, None], dtype=object)[:-1] for each in returned]
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise RecveilError(
            f"recommender (--recommender) {quoted(name)}: raised {_described(error)}; correct the "
            f"function, or its list of item ids per user",
            code="argument.result",
        ) from error


def _described(error: Exception | SystemExit) -> str:
    return f"{type(error).__name__}: {first_line_of(Exception(*error.args))}"


def _positions(name: str, ids: list[NDArray[Any]], served: Ratings, length: int) -> Lists:
    """Convert the lists of a function from ids to positions."""
    what = f"recommender (--recommender) {quoted(name)}"
    if len(ids) != served.n_users:
        raise RecveilError(
            f"{what}: returned {describe_count(len(ids), 'list')} for "
            f"{describe_count(served.n_users, 'user')}; return one list of item ids per user",
            code="argument.result",
        )
    if served.indices.size and not any(each.size for each in ids):
        raise RecveilError(
            f"{what}: returned no item for {describe_count(len(ids), 'user')}; return item ids",
            code="argument.result",
        )
    result = np.full((len(ids), length), -1, np.int64)
    for row, each in enumerate(ids):
        found = _places(each[:length], served.items)
        if (found < 0).any():
            raise RecveilError(
                f"{what}: returned {quoted(str(each[:length][found < 0][0]))}, which is no item "
                f"of the table; return item ids, as in ratings.items",
                code="argument.result",
            )
        if np.unique(found).size < found.size:
            raise RecveilError(
                f"{what}: returned an item twice in the list of user "
                f"{quoted(str(served.users[row]))}; return each item once",
                code="argument.result",
            )
        result[row, : found.size] = found
    return result


@contextmanager
def _here() -> Iterator[None]:
    """Let modules of the current folder be imported, as `python -m` does."""
    before = [*sys.path]
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before


def _find(name: str) -> Recommend:
    """Import a function by "module:function"."""
    module, _, function = name.partition(":")
    found, cause, why = None, None, "no such function"
    try:
        with _here():
            found = getattr(import_module(module), function) if function else None
    except (Exception, SystemExit) as error:
        cause, why = error, _described(error)
    if not callable(found):
        raise RecveilError(
            f"recommender (--recommender) {quoted(name)}: {why}; expected "
            f"{', '.join(RECOMMENDERS)}, or module:function of a module that can be imported",
            code="option.value",
        ) from cause
    result: Recommend = found
    return result


def _audit_live(request: ListsRequest, ratings: Ratings) -> AuditedRecommender:
    """Attack each shadow of the recommender with the others."""
    targets = choose_targets(ratings.n_users, MOST_SCORED, request.seed)
    _check_numbers(targets.size, targets.size)
    shadows = _Shadows.draw(ratings.n_users, request.shadows, request.seed)
    rows, length = _rows_of(ratings, targets), min(request.length, ratings.n_items)
    named = RECOMMENDERS.get(request.recommender) if isinstance(request.recommender, str) else None
    if named is not None:
        name, predict = next(iter(named.items()))
        recommend = _served(predict, rows, length)
    else:
        called = request.recommender
        function = _find(called) if isinstance(called, str) else called
        if not callable(function):
            raise RecveilError(
                "recommender: expected a name or a function; see audit_lists", code="argument.type"
            )
        name = called if isinstance(called, str) else getattr(called, "__name__", "the function")
        recommend = _called(name, function, only(ratings, targets), length)
    lists = _shadow_lists(ratings, shadows, recommend, rows, length)
    inside, about = shadows.inside[targets], _targets(ratings, rows)
    control = shuffle_membership(inside, request.seed), None
    found = infer_from_lists(lists.games(inside), inside, about, lists.popular, control)
    return _result(request, "lists", name, ratings, targets, found, length=length)


def _audit_published(
    request: ListsRequest, ratings: Ratings, is_member: Flags
) -> AuditedRecommender:
    """Attack published lists with shadows of the recommender whose lists are most like them."""
    read = _read_lists(request.lists, ratings)
    published = read.lists
    targets, members = _choose(published[:, 0] >= 0, is_member, request.seed)
    rows, observed = _rows_of(ratings, targets), published[targets]
    length = observed.shape[1]
    shadows = _Shadows.draw(ratings.n_users, request.shadows, request.seed)
    half = shadows.first(ratings)
    # Some users may get popular items: it counts how alike the lists of the others are.
    plain = np.maximum(
        _overlaps(_lists(_popularity, half, rows, length), observed),
        _overlaps(np.tile(_most_popular(half.support, length), (targets.size, 1)), observed),
    )
    nearness = {
        name: np.maximum(plain, _overlaps(_lists(predict, half, rows, length), observed)).mean()
        for name, predict in _VARIANTS.items()
    }
    name = max(nearness, key=lambda each: nearness[each])
    lists = _shadow_lists(ratings, shadows, _served(_VARIANTS[name], rows, length), rows, length)
    inside, about = shadows.inside[targets], _targets(ratings, rows)
    control = _control(inside, members, request.seed)
    found = infer_from_lists(
        *(lists.games(inside), inside, about, lists.popular, control), (observed, members)
    )
    return replace(
        _result(request, "lists", name, ratings, targets, found, members=members),
        length=length,
        n_unlisted=int((published[:, 0] < 0).sum()),
        n_unknown=read.n_unknown,
        order=read.order,
    )


def _overlaps(lists: Lists, others: Lists) -> Numbers:
    """Return the number of items that two lists of each user share."""
    shared = (lists[:, :, None] == others[:, None, :]) & (others[:, None, :] >= 0)
    return np.asarray(shared.any(axis=1).sum(axis=1), np.float64)


def _control(inside: Flags, members: Flags, seed: int) -> tuple[Flags, Flags]:
    """Assign membership at random, with as many members."""
    shuffled = np.random.default_rng([seed, 6]).permutation(members)
    return shuffle_membership(inside, seed), shuffled


def _choose(able: Flags, is_member: Flags, seed: int) -> tuple[NDArray[np.int64], Flags]:
    """Draw targets among the members and the others, and return who is a member."""
    chosen = []
    for group in (is_member, ~is_member):
        users = np.flatnonzero(able & group)
        chosen.append(users[choose_targets(users.size, MOST_SCORED, seed)])
    _check_numbers(*(users.size for users in chosen))
    targets = np.sort(np.concatenate(chosen))
    return targets, is_member[targets]


def _check_numbers(members: int, others: int) -> None:
    if min(members, others) < FEWEST:
        raise RecveilError(
            f"got {describe_count(members, 'member')} and {describe_count(others, 'nonmember')} "
            f"to score; expected at least {FEWEST} of both, with published lists if lists are "
            f"audited",
            code="table.too-few-users",
        )


@contextmanager
def _remedied(columns: str) -> Iterator[None]:
    """Replace remedies that are options of the ratings: none of them applies to lists."""
    try:
        yield
    except RecveilError as error:
        text = str(error)
        if "(--" not in text and "--duplicates" not in text:
            raise
        remedy = {
            "rating.duplicate": "leave one row of each pair in the file",
            "column.missing": f"name the columns {columns} in the file",
            "column.ambiguous": f"name the columns {columns} in the file",
        }.get(error.code, "correct or delete such rows in the file")
        what = text.partition("; ")[0].partition(". Keep")[0]
        what = what.replace("a user rates an item once", "a list has an item once")
        raise RecveilError(f"{what}; {remedy}", code=error.code) from error


@brief
class _PublishedLists(NamedTuple):
    """The list of each user, empty without one."""

    lists: Lists
    # Listed items that are in no table
    n_unknown: int
    order: Literal["rank", "score"]


def _read_lists(source: Any, ratings: Ratings) -> _PublishedLists:
    """Read the list of each user."""
    with _remedied("user, item, and rank or score"):
        try:
            read = understand(source, times=False, rating="rank")
        except RecveilError as error:
            if error.code != "column.missing":
                raise
            read = understand(source, times=False)
    found = read.ratings
    users, items = _places(found.users, ratings.users), _places(found.items, ratings.items)
    if not (users >= 0).any() or (items >= 0).mean() < 0.5:
        raise RecveilError(
            f"{read.name}: has {describe_count(int((users >= 0).sum()), 'user')} and "
            f"{describe_count(int((items >= 0).sum()), 'item')} of the tables; expected their ids "
            f"in lists (--lists), in columns user, item and rank",
            code="release.mismatch",
        )
    names = [column.name for column in read.columns if column.role == "rating"]
    order, is_ranked = _ranked(found, names[0] if names else None)
    length = int(found.activity.max())
    lists = np.full((ratings.n_users, length), -1, np.int64)
    for row, user in enumerate(users):
        if user >= 0:
            listed = items[found.indices[order[found.indptr[row] : found.indptr[row + 1]]]]
            listed = listed[listed >= 0]
            lists[user, : listed.size] = listed
    return _PublishedLists(lists, int((items < 0).sum()), "rank" if is_ranked else "score")


def _ranked(found: Ratings, name: str | int | None = None) -> tuple[NDArray[np.int64], bool]:
    """Order cells by user and rank, and return whether numbers are ranks, not scores."""
    # A column that is not named has ranks if they are 1, 2, ...
    rows, values = found.user_positions(), found.values.astype(np.float64)
    order = np.lexsort((values, rows))
    ranks = np.arange(values.size) - np.repeat(found.indptr[:-1], found.activity) + 1
    is_ranked = found.is_unary or name == "rank"
    if not is_ranked and not isinstance(name, str):
        is_ranked = bool((values[order] == ranks).all())
    return order if is_ranked else np.lexsort((-values, rows)), is_ranked


def _load_arrays(model: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    try:
        with Path(model).open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.ndarray):
                return dict(archive)
        cause: Exception | None = None
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        cause = error
    raise RecveilError(
        f"model (--model) {Path(model).name}: not a file of numpy.savez with plain arrays; "
        f"save items, as numbers or text, and factors or similarities",
        code="input.not-found" if isinstance(cause, FileNotFoundError) else "input.unknown-format",
    ) from cause


def _read_model(model: Any, items: NDArray[Any]) -> tuple[str, Numbers, NDArray[np.int64]]:
    """Return the kind of a model, its numbers, and the positions of its items in the table."""
    arrays = dict(model) if isinstance(model, Mapping) else _load_arrays(model)
    kinds = [name for name in ("factors", "similarities") if name in arrays]
    if "items" not in arrays or len(kinds) != 1:
        raise RecveilError(
            f"model (--model): got {', '.join(sorted(arrays)) or 'no arrays'}; expected items and "
            f"either factors or similarities",
            code="argument.value",
        )
    numbers, ids = np.asarray(arrays[kinds[0]], np.float64), np.asarray(arrays["items"])
    is_square = kinds[0] == "factors" or numbers.shape == (ids.size, ids.size)
    if numbers.ndim != 2 or len(numbers) != ids.size or not is_square:
        raise RecveilError(
            f"model (--model): {kinds[0]} of shape {numbers.shape} for "
            f"{describe_count(ids.size, 'item')}; expected a row per item",
            code="argument.shape",
        )
    if twice := named_twice(map(str, ids.tolist())):
        raise RecveilError(
            f"model (--model): item {quoted(twice[0])} has more than one row; leave one",
            code="id.duplicate",
        )
    if not numbers.any():
        raise RecveilError(
            f"model (--model): {kinds[0]} are all zero; save those of the trained recommender",
            code="argument.value",
        )
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        row = int(np.argmin(is_finite.all(axis=1)))
        bad = numbers[row][~is_finite[row]][0]
        raise RecveilError(
            f"model (--model): {kinds[0]} of item {quoted(str(ids[row]))} have {bad:g}; expected "
            f"finite numbers; correct or leave out such items",
            code="argument.value",
        )
    places = _places(ids, items)
    if (places >= 0).sum() < 2:
        raise RecveilError(
            f"model (--model): {int((places >= 0).sum())} of its {ids.size} items are in the "
            f"tables; expected the tables' item ids",
            code="release.mismatch",
        )
    if ids.size > _MOST_MODELLED:
        raise RecveilError(
            f"model (--model) has {ids.size:,} items; expected at most {_MOST_MODELLED:,}; give "
            f"the most popular ones",
            code="input.too-large",
        )
    return kinds[0], numbers, places


def _audit_model(request: ListsRequest, ratings: Ratings, is_member: Flags) -> AuditedRecommender:
    """Attack a model with shadows of the model that is most like it."""
    kind, numbers, places = _read_model(request.model, ratings.items)
    kept = np.flatnonzero(places >= 0)
    n_unknown = places.size - kept.size
    numbers, places = numbers[kept], places[kept]
    numbers = numbers[:, kept] if kind == "similarities" else numbers
    targets, members = _choose(ratings.activity > 0, is_member, request.seed)
    rows = _rows_of(ratings, targets)
    histories = {
        name: Rows(rows.matrix(ratings.n_items, values)[:, places])
        for name, values in {
            "rated": np.ones(rows.indices.size),
            "liked": liked(rows, ratings.scale),
            "valued": valued(rows, ratings.scale),
        }.items()
    }
    makers = _model_makers(kind, numbers.shape[1])
    shadows = _Shadows.draw(ratings.n_users, request.shadows, request.seed)
    half = shadows.first(ratings)
    nearness = {name: _likeness(kind, make(half, places), numbers) for name, make in makers.items()}
    name = max(nearness, key=lambda each: nearness[each])
    is_square = kind == "similarities"
    score = score_similarities if is_square else score_factors
    direct = (
        score_pairs(numbers, histories["rated"]) if is_square else score_span(numbers, histories)
    )
    by_shadow = [
        score(makers[name](TrainingTable.from_ratings(table), places), histories)
        for table in shadows.tables(ratings)
    ]
    scores = {each: np.stack([one[each] for one in by_shadow], axis=1) for each in by_shadow[0]}
    inside = shadows.inside[targets]
    found = infer_from_model(
        *(scores, inside, _control(inside, members, request.seed)),
        (score(numbers, histories), members),
        direct,
        np.diff(histories["rated"].indptr),
    )
    result = _result(
        *(request, "model", name, ratings, targets, {"history": found}), members=members
    )
    return replace(result, n_unknown=n_unknown)


ModelMaker: TypeAlias = Callable[[TrainingTable, NDArray[np.int64]], Numbers]


def _model_makers(kind: str, rank: int) -> dict[str, ModelMaker]:
    """Return makers of models of one kind, restricted to some items."""
    if kind == "factors":
        return {
            f"svd on {form.__name__}, {rank} factors": _factors_maker(rank, form)
            for form in (valued, liked)
        }
    linear = RECOMMENDERS["item-knn"] | RECOMMENDERS["ease"]
    makers = {name: _similarities_maker(predict) for name, predict in linear.items()}
    for form in (_rated, liked, valued):
        makers[f"cosines of {form.__name__.strip('_')}"] = _products_maker(form, cosines=True)
        makers[f"products of {form.__name__.strip('_')}"] = _products_maker(form, cosines=False)
    return makers


def _rated(rows: UserRows, _scale: RatingScale) -> Numbers:
    return np.ones(rows.indices.size)


def _products_maker(form: Any, *, cosines: bool) -> ModelMaker:
    def make(table: TrainingTable, places: NDArray[np.int64]) -> Numbers:
        weighted = form(table.rows, table.scale) * np.sqrt(table.weights)
        matrix = table.rows.matrix(table.n_items, weighted)[:, places]
        products = np.asarray((matrix.T @ matrix).toarray(), np.float64)
        if cosines:
            lengths = np.maximum(np.sqrt(np.diag(products)), 1e-9)
            products /= lengths * lengths[:, None]
        np.fill_diagonal(products, 0.0)
        return products

    return make


def _factors_maker(rank: int, form: Any) -> ModelMaker:
    def make(table: TrainingTable, places: NDArray[np.int64]) -> Numbers:
        spectrum = spectrum_of(table, form)
        vectors = np.zeros((table.n_items, min(rank, spectrum.squares.size)))
        vectors[spectrum.modelled] = spectrum.vectors[:, : vectors.shape[1]]
        return vectors[places]

    return make


def _similarities_maker(predict: Predict) -> ModelMaker:
    """Return the maker of a linear recommender's matrix: its scores for users of one item each."""

    def make(table: TrainingTable, places: NDArray[np.int64]) -> Numbers:
        n = places.size
        highest = np.full(n, table.scale.high)
        order = np.argsort(places)
        alone = UserRows(np.arange(n + 1), places.astype(np.int32), highest)
        result = predict(table, alone)[:, places]
        result[order, order] = 0.0
        return result

    return make


def _likeness(kind: str, model: Numbers, other: Numbers) -> float:
    """Return how alike two models are: the overlap of spaces, or the nearness of sorted weights."""
    # Weights of other users differ, but those of the same settings have the same distribution.
    if kind == "factors":
        bases = [np.linalg.qr(each)[0] for each in (model, other)]
        return float(((bases[0].T @ bases[1]) ** 2).sum())
    return -float(np.abs(np.sort(model, axis=None) - np.sort(other, axis=None)).mean())


def _result(
    request: ListsRequest,
    published: Literal["lists", "model"],
    name: str,
    ratings: Ratings,
    targets: NDArray[np.int64],
    found: dict[str, RecommenderInference],
    *,
    members: Flags | None = None,
    length: int = 0,
) -> AuditedRecommender:
    return AuditedRecommender(
        published=published,
        recommender=name,
        is_observed=members is not None,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        n_targets=targets.size,
        n_members=0 if members is None else int(members.sum()),
        length=length,
        shadows=request.shadows,
        by_newcomers=found,
        new_items=None,
        n_unlisted=0,
        n_unknown=0,
        order="",
        seed=request.seed,
        users=ratings.users,
        targets=targets,
    )


def _audit_similar(request: ListsRequest, table: Reading) -> AuditedRecommender:
    """Infer what users rated between two days from the similar items of both."""
    table.require_times()
    ratings = table.ratings
    similar = [
        _read_similar(source, ratings.items)
        for source in (request.similar_before, request.similar_after)
    ]
    found = infer_new_items(
        ratings, similar[0], similar[1], _day(request.since), request.known, request.seed
    )
    return AuditedRecommender(
        published="similar items",
        recommender="",
        is_observed=True,
        n_users=ratings.n_users,
        n_items=ratings.n_items,
        n_targets=found.n_targets,
        n_members=0,
        length=max(each.length for each in similar),
        shadows=0,
        by_newcomers={},
        new_items=found,
        n_unlisted=0,
        n_unknown=0,
        order="",
        seed=request.seed,
        users=ratings.users,
        targets=np.zeros(0, np.int64),
    )


def _day(since: str | date | None) -> int:
    try:
        day = since if isinstance(since, date) else date.fromisoformat(str(since))
    except ValueError as error:
        raise RecveilError(
            f"since (--since) {quoted(str(since))}: expected a date such as 1998-03-01",
            code="option.value",
        ) from error
    return (day - date(1970, 1, 1)).days


def _read_similar(source: Any, items: NDArray[Any]) -> SimilarItems:
    """Read lists of similar items: item, similar item and rank, in this order."""
    names: Sequence[str] = ("1", "2", "3")
    if not isinstance(source, str | PathLike):
        source = frame_of(source).table
        names = [*source.column_names, *names][:3]
    with _remedied("item, similar and rank"):
        read = understand(source, times=False, user=names[0], item=names[1], rating=names[2])
    found = read.ratings
    rows, columns = _places(found.users, items), _places(found.items, items)
    order, _ = _ranked(found)
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size) - np.repeat(found.indptr[:-1], found.activity) + 1
    of_rows, of_columns = rows[found.user_positions()], columns[found.indices]
    kept = (of_rows >= 0) & (of_columns >= 0)
    if not kept.any():
        raise RecveilError(
            f"{read.name}: none of its items is in the table; expected item, similar item and "
            f"rank, in this order",
            code="release.mismatch",
        )
    return SimilarItems.of(of_rows[kept], of_columns[kept], ranks[kept], items.size)


__all__ = ["RECOMMENDERS", "ListsRequest", "audit_lists"]
