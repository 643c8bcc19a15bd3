"""Re-identification of targets in a release, and inference from the records found."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses
from recveil.attacks.inference.fill_detection import find_strikes, strike_out
from recveil.attacks.knowledge import Knowledge, draw_knowledge, without_dates
from recveil.attacks.registry import attacks_on_release
from recveil.attacks.reidentification.clusters import ClusterLikelihood
from recveil.attacks.reidentification.likelihood import (
    DateDifferences,
    Likelihood,
    LikelyRated,
    Nearest,
)
from recveil.attacks.reidentification.residuals import ResidualAttack
from recveil.attacks.statistics import (
    GroupRate,
    Interval,
    Mean,
    mean_interval,
    quarters,
    share_interval,
    wilson_interval,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.number_format import estimate, percent
from recveil.runtime.safe_repr import brief


class RatingErrors(NamedTuple):
    """Errors of found rows on ratings that the adversary did not know, in rating points.

    Attributes
    ----------
    rmse, mae : float
        Of the row's values, clipped to the scale, over all ratings with a value; nan if there are
        none.
    item_mean_rmse, item_mean_mae : float
        Of the released table's item means, over the same ratings.
    gain : Mean
        Absolute error of the item mean minus that of the row: each target's mean, averaged over
        targets. The row reveals personal information only if it is above 0.
    ratings : int
        Number of the found targets' ratings that the adversary did not know.
    with_value : int
        Number of them for which the row has a value.
    """

    rmse: float
    mae: float
    item_mean_rmse: float
    item_mean_mae: float
    gain: Mean
    ratings: int
    with_value: int


@brief
class InferenceGain(NamedTuple):
    """What the row of one found target reveals beyond what the adversary knew."""

    truth: NDArray[np.float32]  # the target's ratings for which the row has a value
    values: NDArray[np.float64]
    means: NDArray[np.float64]  # the released item means of the same items
    links: int  # items of the row
    popularity: float  # the mean share of users who rated them
    n_unknown: int  # the target's ratings

    @property
    def n_exact(self) -> int:
        """Number of values equal to the rating, at single precision."""
        apart = np.abs(self.values - self.truth)
        return int((apart <= 1e-9 + np.spacing(np.abs(self.truth))).sum())


def learn_rows(
    ratings: Ratings, table: AttackTarget, known: Knowledge, found: NDArray[np.int64]
) -> list[InferenceGain]:
    """Compare the rows of found targets (positions in the knowledge) with their ratings."""
    means, popularity = table.item_means(), ratings.support / ratings.n_users
    row_gains = []
    for place in found.tolist():
        target = known.targets[place]
        known_items = known.items[known.indptr[place] : known.indptr[place + 1]]
        items, values = _without(known_items, table.row(table.record_of[target]))
        rated, truth = _without(known_items, ratings.row(target))
        common, in_row, in_truth = np.intersect1d(
            items, rated, assume_unique=True, return_indices=True
        )
        row_gains.append(
            InferenceGain(
                truth=truth[in_truth],
                values=values[in_row],
                means=means[common],
                links=items.size,
                popularity=float(popularity[items].mean()) if items.size else math.nan,
                n_unknown=rated.size,
            )
        )
    return row_gains


def _without(
    known_items: NDArray[np.int32], row: tuple[NDArray[np.int32], NDArray[Any]]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return a row's items and values without the items that the adversary knows."""
    items, values = row
    kept = ~np.isin(items, known_items)
    return items[kept], values[kept]


def sum_up_errors(row_gains: list[InferenceGain], scale: RatingScale) -> RatingErrors:
    """Compute the errors of found rows and of item means; implicit feedback has none."""
    valued = [row_gain for row_gain in row_gains if row_gain.truth.size and not scale.unary]
    off = [np.abs(clip_values(row_gain.values, scale) - row_gain.truth) for row_gain in valued]
    mean_off = [np.abs(clip_values(row_gain.means, scale) - row_gain.truth) for row_gain in valued]
    gains = [float((far - near).mean()) for near, far in zip(off, mean_off, strict=True)]
    return RatingErrors(
        rmse=_rmse(off),
        mae=_mae(off),
        item_mean_rmse=_rmse(mean_off),
        item_mean_mae=_mae(mean_off),
        gain=mean_interval(gains),
        ratings=sum(row_gain.n_unknown for row_gain in row_gains),
        with_value=sum(row_gain.truth.size for row_gain in valued),
    )


def clip_values(values: NDArray[np.float64], scale: RatingScale) -> NDArray[np.float64]:
    """Clip values to the scale, which is public."""
    return np.clip(values, scale.low, scale.high)


def _rmse(errors: list[NDArray[np.float64]]) -> float:
    return math.sqrt(float((np.concatenate(errors) ** 2).mean())) if errors else math.nan


def _mae(errors: list[NDArray[np.float64]]) -> float:
    return float(np.concatenate(errors).mean()) if errors else math.nan


@brief
class ReleaseAttack(NamedTuple):
    """Results of an adversary against a release.

    A target's group is *found* if the record with the single highest score is the target's class.
    The figures on learning cover found targets only, without the items that the adversary already
    knew.

    Attributes
    ----------
    attack : str
        Registered attack ("scoreboard-rh", "nearest", "likelihood", ...) with the highest
        re-identification rate; the other figures are of this attack. Removed values are appended:
        "likelihood, without values off the scale".
    requested, skipped : int
        Targets requested, and those among them with too few ratings for this adversary, which count
        as not re-identified.
    class_reidentified : Interval
        Share of the targets whose group was found.
    reidentified : Interval
        Re-identification rate: expected hits of a random pick among the users with the highest
        score.
    baseline : float
        The same for a pick among all users: 1 / users in the release.
    class_baseline : float
        Share of the users in the largest record: a constant guess of it re-identifies their class.
    bound : float
        1 / k, which `reidentified` cannot exceed if the release keeps its claim; with privacy
        levels, the mean over the targets of 1 / what their records promise. Users who are not in
        the release count as 0.
    link_precision : Mean
        Share of the found row's items that the target rated; mean over targets.
    link_baseline : Mean
        The popularity baseline: share of all users who rated these items.
    rating_errors : RatingErrors
    exact : Interval
        Share of the target's ratings that equal the row's value; mean over targets, who are the
        trials.
    by_attack : dict of str to Interval
        `reidentified` of each registered attack, by name, in its best variant.
    not_run : tuple of str
        Attacks that do not apply to the release, and so guess at random.
    by_user_count : tuple of GroupRate
        `reidentified` by quarter of the table's users, by their number of ratings.
    """

    attack: str
    requested: int
    skipped: int
    class_reidentified: Interval
    reidentified: Interval
    baseline: float
    class_baseline: float
    bound: float
    link_precision: Mean
    link_baseline: Mean
    rating_errors: RatingErrors
    exact: Interval
    by_attack: dict[str, Interval]
    not_run: tuple[str, ...] = ()
    by_user_count: tuple[GroupRate, ...] = ()

    @property
    def attacked(self) -> int:
        """Targets with enough ratings."""
        return self.requested - self.skipped

    @property
    def is_blind(self) -> bool:
        """Whether no attack applies, so that the rate is that of a random guess."""
        return bool(self.attacked and self.not_run) and {*self.by_attack} == {*self.not_run}

    def _facts(self) -> dict[str, object]:
        return {
            "": self.attack,
            "targets": self.requested,
            "skipped": self.skipped,
            "class re-identified": estimate(self.class_reidentified),
            "re-identified": estimate(self.reidentified),
            "baseline": percent(self.baseline),
        }


def attack_release(
    ratings: Ratings,
    table: AttackTarget,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    strikes: Mapping[str, NDArray[np.bool_]] | None = None,
    likely: NDArray[np.float64] | None = None,
    known: Knowledge | None = None,
) -> ReleaseAttack:
    """Attack the targets in a release with every registered attack and report the strongest.

    Parameters
    ----------
    ratings : Ratings
        The truth: the ratings that the release was made from.
    table : AttackTarget
    adversary : Adversary
        The number of ratings is ignored, since homogenized records have as many values as the whole
        group; and dates are, unless the release has some.
    targets : ndarray of int64
        User positions in `ratings`. Targets with too few ratings, or outside the release, count as
        not found.
    seed : int
        Fixes what the adversary knows.
    strikes : dict of str to ndarray of bool, optional
        `find_strikes` of `table`, to reuse it; computed if not given. Values are removed from
        co-rated releases only.
    likely : ndarray of float64, shape (n_values,), optional
        Probability that each value is a real rating, for an adversary with a classifier of fills;
        see `recveil.attacks.inference.fills`. `LikelyRated`, which uses items without ratings, is
        then tried as well.
    known : Knowledge, optional
        What the adversary knows of the targets; drawn if not given.

    Raises
    ------
    RecveilError
        If the table belongs to other ratings, or the adversary knows nothing that can be wrong.

    Notes
    -----
    The highest score is accepted, however small its lead (no eccentricity threshold). Items are
    weighted by their count in the *released* table; in padded records all weigh the same, as every
    record has every item.

    `bound` holds for every adversary, the other figures for this one only. The strongest attack
    depends on the release: padded rows have all items, so that only closeness counts; simple rows
    are long if many users rated much, which `Likelihood` takes into account. It is tried with three
    spreads of the ratings around a value: zero, an eighth and a quarter of the scale. Where values
    exceed the scale, as with noise, all attacks are tried with the published and with the clipped
    values. If the adversary knows attributes that are published, all are also tried among the
    classes that agree. Where values have dates, the attacks are tried without them, and with
    two widths of the differences that agree; shifted ones by their differences, too. In a co-rated
    release, all are tried again without the possible fills, in each way of `find_strikes`; records
    that become identical share their score.
    Reporting the strongest variant favours the adversary slightly.

    Two baselines favour the release. The item mean includes the target's own class; for an item
    that only this class has, it is the value itself, so compare `exact` with `rating_errors`. And
    the target's known items, which they rated, are left out of `link_precision`; where a row has
    all items, it thereby falls below `link_baseline`.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    >>> table = AttackTarget.from_release(release, ratings)
    >>> result = attack_release(ratings, table, Adversary(known=4), np.arange(60))
    >>> result.reidentified.rate <= result.bound, result.class_reidentified.trials
    (True, 60)
    """
    known, ways = _try_attacks(ratings, table, adversary, targets, seed, strikes, known)
    if likely is not None:
        guessed = LikelyRated(likely).attack(table.candidates, known, table.record_of)
        ways.append(_Way(LikelyRated.name, "", guessed))
    best = _most_informative(ways)
    guesses = best.guesses
    found = guesses.target_is_top & (guesses.best >= 0)
    row_gains = learn_rows(ratings, table, known, np.flatnonzero(found))
    links = [row_gain for row_gain in row_gains if row_gain.links]
    exact = [row_gain.n_exact / row_gain.n_unknown for row_gain in row_gains if row_gain.n_unknown]
    records = table.record_of[targets]
    bounds = 1 / table.promised[records[records >= 0]]
    return ReleaseAttack(
        attack=best.attack + best.read_as,
        requested=known.requested,
        skipped=known.skipped,
        class_reidentified=known.rate(int(found.sum())),
        reidentified=known.rate(best.hits),
        baseline=1 / table.candidates.n_users,
        class_baseline=float(table.candidates.sizes.max(initial=0)) / table.candidates.n_users,
        bound=math.fsum(bounds) / max(targets.size, 1),
        link_precision=share_interval([row_gain.truth.size / row_gain.links for row_gain in links]),
        link_baseline=share_interval([row_gain.popularity for row_gain in links]),
        rating_errors=sum_up_errors(row_gains, ratings.scale),
        exact=wilson_interval(math.fsum(exact), len(exact)),
        by_attack=_by_attack(ways, known),
        not_run=_not_run(ways, table.candidates.n_users),
        by_user_count=_by_user_count(ratings, targets, known, guesses),
    )


def _by_user_count(
    ratings: Ratings, targets: NDArray[np.int64], known: Knowledge, guesses: Guesses
) -> tuple[GroupRate, ...]:
    """Return the re-identification rate of each quarter; skipped targets count as not found."""
    found = quarters(ratings.activity.astype(np.float64))
    n_targets = np.bincount(found.codes[targets], minlength=len(found.names))
    hits = np.bincount(found.codes[known.targets], guesses.chance, len(found.names))
    return tuple(
        GroupRate(name, highest, wilson_interval(float(hits[group]), int(n_targets[group])))
        for group, (name, highest) in enumerate(zip(found.names, found.highest, strict=True))
    )


def best_guesses(
    ratings: Ratings,
    table: AttackTarget,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> tuple[Knowledge, Guesses]:
    """Return an adversary's knowledge and the guesses of the strongest attack."""
    known, ways = _try_attacks(ratings, table, adversary, targets, seed, None)
    return known, _most_informative(ways).guesses


def _try_attacks(
    ratings: Ratings,
    table: AttackTarget,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int,
    strikes: Mapping[str, NDArray[np.bool_]] | None,
    known: Knowledge | None = None,
) -> tuple[Knowledge, list["_Way"]]:
    _check(ratings, table)
    adversary = without_unpublished(ratings, adversary, table)
    known = draw_knowledge(ratings, adversary, targets, seed) if known is None else known
    struck = find_co_rated_strikes(table, ratings.scale) if strikes is None else strikes
    ways = [
        _Way(name, read_as + compared, attack.attack(candidates, about, table.record_of))
        for read_as, candidates in _as_read(table, ratings.scale, struck)
        for compared, fitted, about in with_dates(candidates, adversary, known)
        for name, attack in attacks_on_release(fitted, ratings.scale)
        if not compared or name not in _WITHOUT_DATES
    ]
    if table.date_shift and known.days is not None:
        differences = DateDifferences(Likelihood.of(adversary), table.date_shift)
        guessed = differences.attack(table.candidates, known, table.record_of)
        ways.append(_Way(DateDifferences.name, "", guessed))
    if table.known_attributes and table.attributes:
        ways += _with_attributes(table, ratings.scale, adversary, known, struck)
    return known, ways


def _with_attributes(
    table: AttackTarget,
    scale: RatingScale,
    adversary: Adversary,
    known: Knowledge,
    strikes: Mapping[str, NDArray[np.bool_]],
) -> Iterator["_Way"]:
    """Yield the attacks among the classes whose published attributes agree with a target's."""
    groups = [*table.agreeing(known.targets)]
    for read_as, candidates in _as_read(table, scale, strikes):
        found: dict[tuple[str, str, int, int], list[Guesses]] = {}
        for places, records in groups:
            number = np.full(candidates.n_records + 1, -1)  # the last one for users in none
            number[records] = np.arange(records.size)
            some = candidates.only(records)
            dated = with_dates(some, adversary, known.only(places))
            for width, (compared, fitted, about) in enumerate(dated):
                for at, (name, attack) in enumerate(attacks_on_release(fitted, scale)):
                    if name == ResidualAttack.name or (compared and name in _WITHOUT_DATES):
                        continue  # a fit of some of the rows is worse than one of all
                    key = (name, f"{read_as}{compared}, with attributes", at, width)
                    guesses = attack.attack(some, about, number[table.record_of])
                    found.setdefault(key, []).append(guesses.renumbered(records))
        order = np.concatenate([places for places, _ in groups]) if groups else np.empty(0, int)
        for (name, suffix, *_), parts in found.items():
            yield _Way(name, suffix, Guesses.joined(parts, np.argsort(order)))


# Attacks that do not compare dates.
_WITHOUT_DATES = (Nearest.name, ResidualAttack.name, ClusterLikelihood.name)
# Published dates are of other raters, and so may be this many days off beyond their period.
_DAYS_OFF = (0, 90)


def with_dates(
    candidates: Candidates, adversary: Adversary, known: Knowledge
) -> Iterator[tuple[str, Adversary, Knowledge]]:
    """Yield how an adversary may compare dates, with a suffix of the attack's name; first, not."""
    if known.days is None:
        yield "", adversary, known
        return
    yield "", replace(adversary, date_error=None), replace(known, days=None)
    if candidates.days is None:
        return
    for more in _DAYS_OFF:
        days = candidates.date_width // 2 + more
        fitted = replace(
            adversary,
            date_error=(adversary.date_error or 0) + days,
            day_width=adversary.day_width + more,
        )
        yield ", with dates", fitted, known


def _most_informative(ways: list["_Way"]) -> "_Way":
    return max(ways, key=lambda way: way.hits)


def find_co_rated_strikes(table: AttackTarget, scale: RatingScale) -> dict[str, NDArray[np.bool_]]:
    """Return the values to remove from a release; none unless it is co-rated."""
    return find_strikes(table.candidates, scale) if table.co_rated else {}


class _Way(NamedTuple):
    """The guesses of one attack on one reading of the release."""

    attack: str  # its name in the registry
    read_as: str  # what was removed, as a suffix of the name
    guesses: Guesses

    @property
    def hits(self) -> float:
        """Expected number of re-identified targets."""
        return float(self.guesses.chance.sum())


def _by_attack(ways: list[_Way], known: Knowledge) -> dict[str, Interval]:
    """Return the best re-identification rate of each attack over all readings."""
    names = dict.fromkeys(way.attack for way in ways)
    most = {name: max(way.hits for way in ways if way.attack == name) for name in names}
    return {name: known.rate(hits) for name, hits in most.items()}


def _not_run(ways: list[_Way], n_users: int) -> tuple[str, ...]:
    names = dict.fromkeys(way.attack for way in ways)
    ran = {way.attack for way in ways if not _is_blind(way.guesses, n_users)}
    return tuple(name for name in names if name not in ran)


def _is_blind(guesses: Guesses, n_users: int) -> bool:
    """Return whether all users fit equally for every target, so that no record is picked."""
    return bool((guesses.best < 0).all() and (guesses.tied_users == n_users).all())


def _as_read(
    table: AttackTarget, scale: RatingScale, strikes: Mapping[str, NDArray[np.bool_]]
) -> Iterator[tuple[str, Candidates]]:
    """Yield the candidates as published, clipped to the scale, and without possible fills."""
    # Either of the first two may be stronger: a value beyond the scale most likely means its
    # end, but a clipped value agrees by chance with more known ratings.
    yield "", table.candidates
    clipped = clip_values(table.values, scale)
    if not np.array_equal(clipped, table.values):
        records = Records(
            table.candidates.sizes, table.indptr, table.indices, clipped, days=table.days
        )
        n_items = table.n_items
        yield (
            "",
            Candidates.from_records(
                [records],
                n_items,
                scale,
                date_width=table.candidates.date_width,
                cluster_size=table.candidates.cluster_size,
            ),
        )
    for name, struck in strikes.items():
        yield f", without {name}", strike_out(table.candidates, struck, scale)


def _check(ratings: Ratings, table: AttackTarget) -> None:
    n_users, n_items = table.record_of.size, table.n_items
    if (n_users, n_items) != (ratings.n_users, ratings.n_items):
        raise RecveilError(
            f"the released table is about {describe_count(n_users, 'user')} "
            f"and {describe_count(n_items, 'item')}, the ratings have "
            f"{ratings.n_users} and {ratings.n_items}; give the ratings it was built with",
            code="release.mismatch",
        )


def without_unpublished(
    ratings: Ratings, adversary: Adversary, table: AttackTarget | None = None
) -> Adversary:
    """Return the adversary without numbers of ratings, and without dates if the table has none."""
    if table is not None and table.days is not None and ratings.days is not None:
        return replace(adversary, first_date_error=None, activity_error=None)
    blunted = without_dates(ratings, adversary, "releases have none")
    return replace(blunted, activity_error=None)
