"""Attacks on a release: who is found, and what is learned about them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses
from recveil.attacks.inference.strikes import find_strikes, strike_out
from recveil.attacks.knowledge import Knowledge, draw_knowledge, without_dates
from recveil.attacks.registry import attacks_on_release
from recveil.attacks.reidentification.likelihood import LikelyRated
from recveil.attacks.release_target import ReleasedTable
from recveil.attacks.statistics import Interval, Mean, mean_interval, wilson_interval
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief


class RatingErrors(NamedTuple):
    """How far a found row is off the ratings that the adversary did not know, in rating points.

    Attributes
    ----------
    rmse, mae : float
        Of the row's labels, those beyond the scale moved to its ends, over all ratings that have
        one; nan if none has.
    item_mean_rmse, item_mean_mae : float
        Of the released table's item means, over the same ratings.
    gain : Mean
        By how much the row is nearer than the item mean in absolute error: each target's mean,
        averaged over targets. Only if it is above 0, the row tells something personal.
    ratings : int
        The found targets' ratings that the adversary did not know.
    labelled : int
        How many of them the row has a label for.
    """

    rmse: float
    mae: float
    item_mean_rmse: float
    item_mean_mae: float
    gain: Mean
    ratings: int
    labelled: int


@brief
class InferenceGain(NamedTuple):
    """What the row of one found target tells, beside what the adversary knew."""

    truth: NDArray[np.float32]  # the target's ratings that the row has a label for
    labels: NDArray[np.float64]
    means: NDArray[np.float64]  # the released item means of the same items
    links: int  # items of the row
    popularity: float  # the mean share of users who rated them
    n_unknown: int  # the target's ratings

    @property
    def n_exact(self) -> int:
        """How many labels are the rating itself; ratings are held in single precision."""
        apart = np.abs(self.labels - self.truth)
        return int((apart <= 1e-9 + np.spacing(np.abs(self.truth))).sum())


def learn_rows(
    ratings: Ratings, table: ReleasedTable, known: Knowledge, found: NDArray[np.int64]
) -> list[InferenceGain]:
    """Compare the rows of found targets (positions in the knowledge) with their ratings."""
    means, popularity = table.item_means(), ratings.support / ratings.n_users
    lessons = []
    for place in found.tolist():
        target = known.targets[place]
        named = known.items[known.indptr[place] : known.indptr[place + 1]]
        items, labels = _without(named, table.row(table.record_of[target]))
        rated, truth = _without(named, ratings.row(target))
        common, in_row, in_truth = np.intersect1d(
            items, rated, assume_unique=True, return_indices=True
        )
        lessons.append(
            InferenceGain(
                truth=truth[in_truth],
                labels=labels[in_row],
                means=means[common],
                links=items.size,
                popularity=float(popularity[items].mean()) if items.size else math.nan,
                n_unknown=rated.size,
            )
        )
    return lessons


def _without(
    named: NDArray[np.int32], row: tuple[NDArray[np.int32], NDArray[Any]]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Leave out of a row's items and values those that the adversary named."""
    items, values = row
    kept = ~np.isin(items, named)
    return items[kept], values[kept]


def sum_up_errors(lessons: list[InferenceGain], scale: RatingScale) -> RatingErrors:
    """Compare the labels of found rows, and the items' means, with the ratings they stand for.

    Likes have no ratings that a label could be off.
    """
    told = [lesson for lesson in lessons if lesson.truth.size and not scale.unary]
    off = [np.abs(clip_labels(lesson.labels, scale) - lesson.truth) for lesson in told]
    mean_off = [np.abs(clip_labels(lesson.means, scale) - lesson.truth) for lesson in told]
    gains = [float((far - near).mean()) for near, far in zip(off, mean_off, strict=True)]
    return RatingErrors(
        rmse=_rmse(off),
        mae=_mae(off),
        item_mean_rmse=_rmse(mean_off),
        item_mean_mae=_mae(mean_off),
        gain=mean_interval(gains),
        ratings=sum(lesson.n_unknown for lesson in lessons),
        labelled=sum(lesson.truth.size for lesson in told),
    )


def clip_labels(labels: NDArray[np.float64], scale: RatingScale) -> NDArray[np.float64]:
    """Move labels beyond the scale to its ends, as everybody would who knows the scale."""
    return np.clip(labels, scale.low, scale.high)


def _rmse(errors: list[NDArray[np.float64]]) -> float:
    return math.sqrt(float((np.concatenate(errors) ** 2).mean())) if errors else math.nan


def _mae(errors: list[NDArray[np.float64]]) -> float:
    return float(np.concatenate(errors).mean()) if errors else math.nan


@brief
class ReleaseAttack(NamedTuple):
    """What an adversary gets out of a release.

    A target is *found* if the record with the single highest score is that of their class. Of every
    target asked for it is known whether they were found; the rest looks at the found ones only, and
    leaves out the items that the adversary named.

    Attributes
    ----------
    attack : str
        Which of the registered attacks ("scoreboard-rh", "nearest", "likelihood", ...) found most
        people; the rest is about it. If it struck out labels before, that is added: "likelihood,
        without labels off the scale".
    requested, skipped : int
        Targets asked for, and those among them whom this adversary could not attack, because they
        have too few ratings. They count as not found, although nobody looked for them.
    group_found : Interval
        Share of the targets who were found.
    person_found : Interval
        Expected share of the targets whom a pick among the people with the highest score hits.
    baseline : float
        The same for a pick among all people: 1 / people in the release.
    group_baseline : float
        Share of the people who are behind the record with most of them: a guess that always names
        it finds their group.
    bound : float
        1 / k, which `person_found` cannot exceed if the release keeps its claim; with privacy
        levels, the mean over the targets of 1 / what their records promise.
    link_precision : Mean
        Share of the found row's items that the target rated; the mean over targets.
    link_baseline : Mean
        What popularity alone gives: the share of all users who rated these items.
    rating_errors : RatingErrors
    exact : Interval
        Share of the target's ratings whose label in the row is exactly that rating; the mean over
        targets, who are the trials.
    by_attack : dict of str to Interval
        `person_found` for each registered attack, by its name, in the way in which it found most.
    not_run : tuple of str
        Those of them that do not apply to the release, and so guess blindly.
    """

    attack: str
    requested: int
    skipped: int
    group_found: Interval
    person_found: Interval
    baseline: float
    group_baseline: float
    bound: float
    link_precision: Mean
    link_baseline: Mean
    rating_errors: RatingErrors
    exact: Interval
    by_attack: dict[str, Interval]
    not_run: tuple[str, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {
            "": self.attack,
            "looked for": self.requested,
            "skipped": self.skipped,
            "group found": f"{self.group_found.rate:.1%}",
            "person found": f"{self.person_found.rate:.1%}",
            "baseline": f"{self.baseline:.1%}",
        }


def attack_release(
    ratings: Ratings,
    table: ReleasedTable,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    strikes: Mapping[str, NDArray[np.bool_]] | None = None,
    likely: NDArray[np.float64] | None = None,
    known: Knowledge | None = None,
) -> ReleaseAttack:
    """Look for the targets in a release, in several ways, and judge what the best one learns.

    Parameters
    ----------
    ratings : Ratings
        The truth: the ratings that the release was made from.
    table : ReleasedTable
    adversary : Adversary
        Their dates and their idea of the number of ratings are of no use here: homogenized records
        carry no dates, and have as many labels as the whole group.
    targets : ndarray of int64
        User positions in `ratings`. Those with too few ratings, or not in the release, count as
        not found.
    seed : int
        Fixes what the adversary knows.
    strikes : dict of str to ndarray of bool, optional
        What `find_strikes` says of `table`, for whoever attacks it several times; worked out, if
        not given. Only in a co-rated release labels are struck out.
    likely : ndarray of float64, shape (n_labels,), optional
        How probably each label is a real rating, for an adversary who learned what fills look
        like; see `recveil.attacks.inference.fills`. Then `LikelyRated`, which goes by items and
        asks for no
        ratings, is tried beside the others.
    known : Knowledge, optional
        What the adversary knows of the targets; drawn, if not given.

    Raises
    ------
    RecveilError
        If the table belongs to other ratings, or the adversary knows nothing that can be wrong.

    Notes
    -----
    Readings: the highest score is believed, however small its lead (no eccentricity threshold).
    Items weigh by their support in the *released* table; in padded records all weigh the same, as
    every record carries every item.

    `bound` holds for every adversary, the rest for this one only. Which attack finds most depends
    on the release: padded rows all carry everything, so that only closeness tells; simple rows are
    long if many people rated much, which `Likelihood` takes into account. It is tried with three
    ideas of how far the ratings behind a label spread: not at all, an eighth and a quarter of the
    scale. Where labels go beyond the scale, as with noise, all are tried twice: with the labels as
    they are, and moved to its ends. In a co-rated release, all are tried again without the labels
    that may have been filled in, in each of the ways of `find_strikes`; records that then tell the
    same share their score. The best of all is reported, which favours the adversary slightly.

    Two baselines favour the release. The item mean is taken over the whole table, the target's
    own class included; of an item that this class alone carries it is the label itself, so look
    at `exact` beside `rating_errors`. And the target's known items, which they rated, are left out
    of `link_precision`; where a row carries all items, it thereby falls below `link_baseline`.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> result = attack_release(ratings, table, Adversary(known=4), np.arange(60))
    >>> result.person_found.rate <= result.bound, result.group_found.trials
    (True, 60)
    """
    known, ways = _look_for(ratings, table, adversary, targets, seed, strikes, known)
    if likely is not None:
        guessed = LikelyRated(likely).attack(table.candidates, known, table.record_of)
        ways.append(_Way(LikelyRated.name, "", guessed))
    best = _most_informative(ways)
    guesses = best.guesses
    found = guesses.own_is_top & (guesses.best >= 0)
    lessons = learn_rows(ratings, table, known, np.flatnonzero(found))
    links = [lesson for lesson in lessons if lesson.links]
    exact = [lesson.n_exact / lesson.n_unknown for lesson in lessons if lesson.n_unknown]
    return ReleaseAttack(
        attack=best.attack + best.read_as,
        requested=known.requested,
        skipped=known.skipped,
        group_found=wilson_interval(int(found.sum()), known.requested),
        person_found=wilson_interval(best.hits, known.requested),
        baseline=1 / table.candidates.n_people,
        group_baseline=float(table.candidates.sizes.max(initial=0)) / table.candidates.n_people,
        bound=_bound(table, targets),
        link_precision=mean_interval([lesson.truth.size / lesson.links for lesson in links]),
        link_baseline=mean_interval([lesson.popularity for lesson in links]),
        rating_errors=sum_up_errors(lessons, ratings.scale),
        exact=wilson_interval(math.fsum(exact), len(exact)),
        by_attack=_by_attack(ways, known.requested),
        not_run=_not_run(ways, table.candidates.n_people),
    )


def best_guesses(
    ratings: Ratings,
    table: ReleasedTable,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> tuple[Knowledge, Guesses]:
    """Return what an adversary knows, and what the attack that finds most says about each target.

    Parameters
    ----------
    ratings, table, adversary, targets, seed
        As in `attack_release`; with the same ones it is the same attack.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> known, guesses = best_guesses(ratings, table, Adversary(known=4), np.arange(9))
    >>> known.targets.size + known.skipped, guesses.best.size == known.targets.size
    (9, True)
    """
    known, ways = _look_for(ratings, table, adversary, targets, seed, None)
    return known, _most_informative(ways).guesses


def _look_for(
    ratings: Ratings,
    table: ReleasedTable,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int,
    strikes: Mapping[str, NDArray[np.bool_]] | None,
    known: Knowledge | None = None,
) -> tuple[Knowledge, list["_Way"]]:
    """Return what the adversary knows, and what they guess in each way."""
    _check(ratings, table)
    adversary = without_unpublished(ratings, adversary)
    known = draw_knowledge(ratings, adversary, targets, seed) if known is None else known
    struck = find_co_rated_strikes(table, ratings.scale) if strikes is None else strikes
    return known, _attack_in_all_ways(table, known, adversary, ratings.scale, struck)


def _most_informative(ways: list["_Way"]) -> "_Way":
    """Return the attack that works: an adversary takes it, and so must whoever judges a release."""
    return max(ways, key=lambda way: way.hits)


def _bound(table: ReleasedTable, targets: NDArray[np.int64]) -> float:
    records = table.record_of[targets]
    bounds = 1 / table.promised[records[records >= 0]]
    return math.fsum(bounds) / max(targets.size, 1)


def find_co_rated_strikes(table: ReleasedTable, scale: RatingScale) -> dict[str, NDArray[np.bool_]]:
    """Return what may be struck out of a release; nothing, if no labels were filled in."""
    return find_strikes(table.candidates, scale) if table.co_rated else {}


class _Way(NamedTuple):
    """What one attack guessed, with the release read in one way."""

    attack: str  # its name in the registry
    read_as: str  # what was struck out before, as the name's end
    guesses: Guesses

    @property
    def hits(self) -> float:
        """Expected number of targets who are found."""
        return float(self.guesses.chance.sum())


def _attack_in_all_ways(
    table: ReleasedTable,
    known: Knowledge,
    adversary: Adversary,
    scale: RatingScale,
    strikes: Mapping[str, NDArray[np.bool_]],
) -> list[_Way]:
    return [
        _Way(name, read_as, attack.attack(candidates, known, table.record_of))
        for read_as, candidates in _as_read(table, scale, strikes)
        for name, attack in attacks_on_release(adversary, scale)
    ]


def _by_attack(ways: list[_Way], requested: int) -> dict[str, Interval]:
    """Return the most people that each attack finds, whatever way the release is read."""
    names = dict.fromkeys(way.attack for way in ways)
    most = {name: max(way.hits for way in ways if way.attack == name) for name in names}
    return {name: wilson_interval(hits, requested) for name, hits in most.items()}


def _not_run(ways: list[_Way], n_people: int) -> tuple[str, ...]:
    """Name the attacks that tell nobody from anybody, as they do where they do not apply."""
    names = dict.fromkeys(way.attack for way in ways)
    ran = {way.attack for way in ways if not _is_blind(way.guesses, n_people)}
    return tuple(name for name in names if name not in ran)


def _is_blind(guesses: Guesses, n_people: int) -> bool:
    """Whether no record is named for anybody, if anybody was asked for, and all fit equally."""
    return bool((guesses.best < 0).all() and (guesses.tied_people == n_people).all())


def _as_read(
    table: ReleasedTable, scale: RatingScale, strikes: Mapping[str, NDArray[np.bool_]]
) -> Iterator[tuple[str, Candidates]]:
    """Yield the candidates, and once more with the labels that are beyond the scale at its ends.

    Either may find more: a label beyond an end most likely stands for that end, but one that was
    moved there agrees by chance with more that is known. Then without what is struck out.
    """
    yield "", table.candidates
    clipped = clip_labels(table.values, scale)
    if not np.array_equal(clipped, table.values):
        records = Records(table.candidates.sizes, table.indptr, table.indices, clipped)
        n_items = table.candidates.indptr.size - 1
        yield "", Candidates.from_records([records], n_items, scale)
    for name, struck in strikes.items():
        yield f", without {name}", strike_out(table.candidates, struck, scale)


def _check(ratings: Ratings, table: ReleasedTable) -> None:
    n_users, n_items = table.record_of.size, table.candidates.indptr.size - 1
    if (n_users, n_items) != (ratings.n_users, ratings.n_items):
        raise RecveilError(
            f"the released table is about {describe_count(n_users, 'user')} "
            f"and {describe_count(n_items, 'item')}, the ratings have "
            f"{ratings.n_users} and {ratings.n_items}; give the ratings it was built with",
            code="release.mismatch",
        )


def without_unpublished(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Leave out what homogenized records do not show: dates, and numbers of ratings."""
    blunted = without_dates(ratings, adversary, "homogenized records carry none")
    return replace(blunted, activity_error=None)
