"""Attribute inference from releases of synthetic users, none of whose records belongs to a user.

Both attacks also work for users outside the data, who are the control: the risk is the difference.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.knowledge import Knowledge, draw_knowledge
from recveil.attacks.membership.inference import MembershipTargets
from recveil.attacks.registry import Attack, attacks_on_release
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.attacks.statistics import Mean, difference_of_means, share_interval
from recveil.ratings import Ratings

# A target of whom the record reveals nothing counts one half.
_COIN = 0.5
# Most users on either side of the attacks on synthetic users; each may need a regression.
_MOST = 300
# Ridge penalties, in units of one user's mean squared deviation.
_DAMPING = (3.0, 30.0)

_Shares = NDArray[np.float64]


class Attributes(NamedTuple):
    """Share of correct inferences about members and nonmembers of a release.

    Attributes
    ----------
    members, nonmembers : Mean
        Share of correct inferences per user; mean over users. Nonmembers are the control.
    excess : Mean
        Members minus nonmembers: what being in the data reveals.
    attack : str
        The strongest attack or variant; every other user selects it, the rest give the figures.
    has_guessed : bool
        Whether any attack made a guess. If not, the shares are no measurement.
    """

    members: Mean
    nonmembers: Mean
    excess: Mean
    attack: str
    has_guessed: bool = True


def infer_attributes(
    ratings: Ratings, held_out: MembershipTargets, adversary: Adversary, seed: int = 0
) -> Attributes | None:
    """Infer unknown ratings of members and nonmembers from the best-fitting record.

    A share is that of a user's unknown ratings whose side of the item's mean is inferred correctly.

    Every other user selects the strongest attack; the rest give the figures.

    Parameters
    ----------
    ratings : Ratings
    held_out : MembershipTargets
        A release without some of the users.
    adversary : Adversary
    seed : int
        Fixes what the adversary knows.

    Returns
    -------
    Attributes or None
        None if too few users have enough ratings to be known.

    Notes
    -----
    Source: Giomi et al. 2023 (Anonymeter). What is also inferred of users outside the release
    follows from the population; the risk is the excess of members. Ratings equal to the item's
    mean, and users of whom the record reveals nothing, count one half.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.attacks.membership.inference import hold_out
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=60, n_ratings=4000, seed=1)
    >>> held_out = hold_out(ratings, PredictiveAnonymizer(k=3, seed=1))
    >>> inferred = infer_attributes(ratings, held_out, Adversary(known=8))
    >>> inferred.members.mean - inferred.nonmembers.mean == inferred.excess.mean
    True
    """
    adversary = without_unpublished(ratings, adversary)
    known = _known(ratings, held_out, adversary, seed)
    if known is None:
        return None
    means = held_out.table.item_means()
    tried = [
        (name, [_guess(ratings, held_out.table, attack, about, means) for about in known])
        for name, attack in attacks_on_release(adversary, ratings.scale)
    ]
    return _most_informative(tried, _COIN)


def _guess(
    ratings: Ratings,
    table: AttackTarget,
    attack: Attack,
    known: Knowledge,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each target's share of correct guesses, nan where the record reveals nothing."""
    no_records = np.full(ratings.n_users, -1)  # the guesses must not depend on whose record it is
    best = attack.attack(table.candidates, known, no_records).best
    right = np.full(best.size, np.nan)
    for place in np.flatnonzero(best >= 0).tolist():
        entries = slice(known.indptr[place], known.indptr[place + 1])
        rated, values = ratings.row(int(known.targets[place]))
        unknown = ~np.isin(rated, known.items[entries])
        items, values_in_row = table.row(int(best[place]))
        common, in_row, in_rated = np.intersect1d(
            items, rated[unknown], assume_unique=True, return_indices=True
        )
        guessed = np.sign(values_in_row[in_row] - means[common])
        if guessed.any():
            truth = np.sign(values[unknown][in_rated] - means[common])
            right[place] = float(((guessed * truth) / 2 + 0.5).mean())
    return right


def score_nearest(
    ratings: Ratings, held_out: MembershipTargets, adversary: Adversary, seed: int = 0
) -> Attributes | None:
    """Measure how many items of the best-fitting synthetic record the target rated."""
    known = _known(ratings, held_out, adversary, seed, _MOST)
    if known is None:
        return None
    tried = [
        (name, [_rated(ratings, held_out.table, attack, about) for about in known])
        for name, attack in attacks_on_release(adversary, ratings.scale)
    ]
    return _most_informative(tried, 0.0)


def infer_embeddings(
    ratings: Ratings, held_out: MembershipTargets, adversary: Adversary, seed: int = 0
) -> Attributes | None:
    """Infer unknown ratings from the correlations of items in the whole release.

    A ridge regression on the known items, with each value's deviation from its item's mean in all
    records, as in an item-based recommender. At most 300 users on either side.
    """
    known = _known(ratings, held_out, adversary, seed, _MOST)
    if known is None:
        return None
    table = held_out.table
    means, apart = table.item_means(), _distances(table)
    tried = [
        (
            f"regression, damped by {damping:g}",
            [_guessed(ratings, apart, means, about, damping) for about in known],
        )
        for damping in _DAMPING
    ]
    return _most_informative(tried, _COIN)


def _known(
    ratings: Ratings,
    held_out: MembershipTargets,
    adversary: Adversary,
    seed: int,
    most: int | None = None,
) -> list[Knowledge] | None:
    """Return what is known of members and of nonmembers; None if too few can be known."""
    blunted = without_unpublished(ratings, adversary)
    sides = (held_out.members[:most], held_out.nonmembers[:most])
    known = [draw_knowledge(ratings, blunted, users, seed) for users in sides]
    return known if min(about.targets.size for about in known) >= 4 else None


def _most_informative(tried: list[tuple[str, list[_Shares]]], blank: float) -> Attributes:
    """Measure the attack in which members lead most; shares of nan count as `blank`."""
    # An attack that does not apply to the release guesses nothing, and must not be the strongest.
    applied = [way for way in tried if not all(np.isnan(side).all() for side in way[1])]
    filled = [
        (name, [np.nan_to_num(side, nan=blank) for side in sides])
        for name, sides in applied or tried
    ]
    name, sides = max(filled, key=lambda way: _lead_of_members(*way[1]))
    members, nonmembers = (share_interval(side[1::2]) for side in sides)
    excess = difference_of_means(members, nonmembers)
    return Attributes(members, nonmembers, excess, name, has_guessed=bool(applied))


def _lead_of_members(inside: _Shares, outside: _Shares) -> float:
    """Return the lead of members among the users who select the attack."""
    return float(inside[::2].mean() - outside[::2].mean())


def _rated(ratings: Ratings, table: AttackTarget, attack: Attack, known: Knowledge) -> _Shares:
    """Return the rated share of the nearest record's other items per target, nan on a tie."""
    no_records = np.full(ratings.n_users, -1)  # the guesses must not depend on whose record it is
    best = attack.attack(table.candidates, known, no_records).best
    shares = np.full(best.size, np.nan)
    for place in np.flatnonzero(best >= 0).tolist():
        entries = slice(known.indptr[place], known.indptr[place + 1])
        rated, _ = ratings.row(int(known.targets[place]))
        items, _ = table.row(int(best[place]))
        others = items[~np.isin(items, known.items[entries])]
        shares[place] = np.isin(others, rated).mean() if others.size else 0.0
    return shares


def _distances(table: AttackTarget) -> sparse.csc_array:
    """Return each value's deviation from its item's mean, weighted by the record's users."""
    n_items = table.n_items
    weights = np.sqrt(np.repeat(table.candidates.sizes, np.diff(table.indptr)))
    values = (table.values - table.item_means()[table.indices]) * weights
    shape = (table.indptr.size - 1, n_items)
    return sparse.csr_array((values, table.indices, table.indptr), shape=shape).tocsc()


def _guessed(
    ratings: Ratings, apart: sparse.csc_array, means: _Shares, known: Knowledge, damping: float
) -> _Shares:
    """Return each target's share of ratings whose side is correct, nan without a guess."""
    spread = float((apart.data**2).mean() or 1.0) if apart.nnz else 1.0
    right = np.full(known.targets.size, np.nan)
    for place, target in enumerate(known.targets.tolist()):
        entries = slice(known.indptr[place], known.indptr[place + 1])
        items = known.items[entries][np.isfinite(means[known.items[entries]])]
        rated, values = ratings.row(target)
        unknown = ~np.isin(rated, known.items[entries]) & np.isfinite(means[rated])
        if not items.size or not unknown.any() or known.values is None:
            continue
        deviations = known.values[entries][np.isfinite(means[known.items[entries]])] - means[items]
        columns = apart[:, items]
        gram = (columns.T @ columns).toarray() + damping * spread * np.eye(items.size)
        guesses = apart[:, rated[unknown]].T @ (columns @ np.linalg.solve(gram, deviations))
        if not guesses.any():
            continue
        truth = np.sign(values[unknown] - means[rated[unknown]])
        right[place] = float((np.sign(guesses) * truth / 2 + 0.5).mean())
    return right
