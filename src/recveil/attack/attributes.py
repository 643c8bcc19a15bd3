"""Attributes: what a release tells about somebody because they are in it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.adversary import Adversary
from recveil.attack.attacks import attacks_on_release
from recveil.attack.held_out import PartialRelease
from recveil.attack.knowledge import Knowledge, draw_knowledge
from recveil.attack.on_release import without_unpublished
from recveil.attack.protocol import Attack
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import (
    FEWEST,
    NO_ATTACK,
    Mean,
    difference_of_means,
    mean_interval,
    plain_means,
)
from recveil.errors import describe_count
from recveil.ratings import Ratings

# Somebody of whom the record tells nothing counts one half.
_COIN = 0.5


class Attributes(NamedTuple):
    """How often it is guessed rightly whether somebody liked an item, better than most or not.

    Attributes
    ----------
    members, strangers : Mean
        Share of the unknown ratings of a person that are guessed rightly to be above, or below, the
        item's mean; the mean over people. Strangers are not in the release: the control.
    excess : Mean
        Members less strangers: what is told because somebody is in the data.
    attack : str
        Which of the registered attacks looked for the record that told it.
    has_guessed : bool
        Whether any attack guessed anything of anybody; if not, the shares are no measurement.
    """

    members: Mean
    strangers: Mean
    excess: Mean
    attack: str
    has_guessed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        plain = plain_means(self.members, self.strangers, self.excess, guessed=self.has_guessed)
        return {**plain, "attack": self.attack if self.has_guessed else NO_ATTACK}


def tell_attributes(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int = 0
) -> Attributes | None:
    """Guess from the record that fits best what else somebody liked, of members and of strangers.

    Every other person decides which attack tells most; the figures are those of the rest.

    Parameters
    ----------
    ratings : Ratings
    held_out : PartialRelease
        A release without some of the people.
    adversary : Adversary
    seed : int
        Fixes what is known.

    Returns
    -------
    Attributes or None
        None if the adversary cannot know enough of two people on either side.

    Notes
    -----
    Source: Giomi et al. 2023 (Anonymeter): what is also guessed of people outside the release is
    told by the world, and not by their being in it; the risk is what members have beyond it.
    Ratings that equal the item's mean, and people of whom the record tells nothing, count one half.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.attack.held_out import hold_out
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=60, n_ratings=4000, seed=1)
    >>> held_out = hold_out(ratings, PredictiveAnonymizer(k=3, seed=1))
    >>> told = tell_attributes(ratings, held_out, Adversary(known=8))
    >>> told.members.mean - told.strangers.mean == told.excess.mean
    True
    """
    adversary = without_unpublished(ratings, adversary)
    known = [
        draw_knowledge(ratings, adversary, users, seed)
        for users in (held_out.inside, held_out.outside)
    ]
    if min(about.targets.size for about in known) < 4:
        return None
    means = held_out.table.item_means()
    tried = [
        (name, [_guess(ratings, held_out.table, attack, about, means) for about in known])
        for name, attack in attacks_on_release(adversary, ratings.scale)
    ]
    # An attack that does not apply to the release guesses nothing, and must not be the strongest.
    applied = [way for way in tried if not all(np.isnan(side).all() for side in way[1])]
    filled = [
        (name, [np.nan_to_num(side, nan=_COIN) for side in sides])
        for name, sides in applied or tried
    ]
    name, (inside, outside) = max(filled, key=lambda way: _lead(*way[1]))
    members, strangers = mean_interval(inside[1::2]), mean_interval(outside[1::2])
    excess = difference_of_means(members, strangers)
    return Attributes(members, strangers, excess, name, has_guessed=bool(applied))


def describe_attributes(told: Attributes) -> str:
    """Say what is told of members, with what is told of strangers beside it.

    Examples
    --------
    >>> some = Mean(0.6, 0.55, 0.65, 90)
    >>> describe_attributes(Attributes(some, some, Mean(0.0, -0.07, 0.07, 180), "nearest"))[-57:]
    '(-7.0 to 7.0), which is no evidence that nothing is told.'
    """
    excess, (members, strangers) = told.excess, (told.members, told.strangers)
    if min(members.trials, strangers.trials) < FEWEST:
        return (
            f"Whether likings are guessed better of members than of strangers is not told: too few "
            f"people to tell ({members.trials:,} and {strangers.trials:,}; it takes {FEWEST} of "
            f"each), which reassures nobody."
        )
    if not told.has_guessed:
        return (
            f"Whether somebody liked another item more than most: {NO_ATTACK}, as no record told "
            f"it of any of {describe_count(members.trials, 'member')} "
            f"and {describe_count(strangers.trials, 'person', 'people')} who are not "
            f"in the data, which is no evidence that nothing is told."
        )
    sentence = (
        f"Whether somebody liked another item more than most is guessed rightly in "
        f"{members.mean:.1%} of cases for "
        f"{describe_count(members.trials, 'member')} and in {strangers.mean:.1%} for "
        f"{describe_count(strangers.trials, 'person', 'people')} who are not in the data: being "
        f"in it tells "
        f"{100 * excess.mean:.1f} points "
        f"({100 * excess.low:.1f} to {100 * excess.high:.1f})"
    )
    return (
        f"{sentence}."
        if excess.low > 0
        else f"{sentence}, which is no evidence that nothing is told."
    )


def _lead(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Return by how much members are ahead, among the people who decide."""
    return float(inside[::2].mean() - outside[::2].mean())


def _guess(
    ratings: Ratings,
    table: ReleasedTable,
    attack: Attack,
    known: Knowledge,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return for each target the share of the unknown ratings that are guessed rightly.

    It is nan where the record tells nothing of them.
    """
    nobodys = np.full(ratings.n_users, -1)  # the guesses must not depend on whose a record is
    best = attack.attack(table.candidates, known, nobodys).best
    right = np.full(best.size, np.nan)
    for place in np.flatnonzero(best >= 0).tolist():
        own = slice(known.indptr[place], known.indptr[place + 1])
        rated, values = ratings.row(int(known.targets[place]))
        unknown = ~np.isin(rated, known.items[own])
        items, labels = table.row(int(best[place]))
        common, in_row, in_rated = np.intersect1d(
            items, rated[unknown], assume_unique=True, return_indices=True
        )
        guessed = np.sign(labels[in_row] - means[common])
        if guessed.any():
            truth = np.sign(values[unknown][in_rated] - means[common])
            right[place] = float(((guessed * truth) / 2 + 0.5).mean())
    return right
