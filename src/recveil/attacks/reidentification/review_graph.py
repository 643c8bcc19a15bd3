"""The graph attacks of Chang et al.: count the review graphs that contain what is known."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import Knowledge, draw_knowledge
from recveil.attacks.reidentification.scoreboard import Scoreboard
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief


@brief
class Matches(NamedTuple):
    """Review graphs that contain what is known about each target.

    Attributes
    ----------
    records : ndarray of int64, shape (n_targets,)
        Number of compatible records.
    n_users : ndarray of int64, shape (n_targets,)
        Number of their users: the k of the paper.
    probability : ndarray of float64, shape (n_targets,)
        Probability of re-identification: 1 / users, or 0 if the target's record is not compatible.
    skipped : int
        Targets with fewer ratings than the adversary should know. They count as not re-identified.
    """

    records: NDArray[np.int64]
    n_users: NDArray[np.int64]
    probability: NDArray[np.float64]
    skipped: int

    @property
    def requested(self) -> int:
        """Number of requested targets: the denominator of every rate."""
        return self.n_users.size + self.skipped

    @property
    def unique_share(self) -> float:
        """Share of the requested targets that are re-identified with certainty."""
        found = int(np.count_nonzero(self.probability == 1))
        return found / self.requested if self.requested else 0.0


@brief
class Profiles(NamedTuple):
    """Distinct review graphs that contain what is known about each target.

    Attributes
    ----------
    profiles : ndarray of int64, shape (n_targets,)
        Number of distinct compatible review graphs.
    n_users : ndarray of int64, shape (n_targets,)
        Number of users of all of them.
    found : ndarray of bool, shape (n_targets,)
        Whether the target's review profile is revealed, even if their record is not: all compatible
        records are identical, and theirs is one of them.
    skipped : int
        Targets with fewer ratings than the adversary should know. They count as not re-identified.
    """

    profiles: NDArray[np.int64]
    n_users: NDArray[np.int64]
    found: NDArray[np.bool_]
    skipped: int

    @property
    def requested(self) -> int:
        """Number of requested targets: the denominator of every rate."""
        return self.n_users.size + self.skipped

    @property
    def found_share(self) -> float:
        """Share of the requested targets whose review profile is revealed."""
        found = int(np.count_nonzero(self.found))
        return found / self.requested if self.requested else 0.0


def structure_based(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    threads: int = 2,
) -> Matches:
    """Attack with known items alone.

    Parameters
    ----------
    candidates : Candidates
    knowledge : Knowledge
    record_of : ndarray of int64, shape (n_users,)
        The record of each user; -1 if they have none.
    threads : int
        Does not change the result.

    Notes
    -----
    Source: Chang et al., Definition 3.1.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 4, 5])
    >>> known = draw_knowledge(ratings, Adversary(known=2), np.arange(3))
    >>> structure_based(Candidates.from_ratings(ratings), known, np.arange(3)).probability
    array([0.5, 0.5])
    """
    return _match(Scoreboard(None, None, threads), candidates, knowledge, record_of)


def label_based(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    threads: int = 2,
) -> Matches:
    """Attack with known items and their exact ratings; dates are not compared.

    Parameters
    ----------
    candidates : Candidates
    knowledge : Knowledge
    record_of : ndarray of int64, shape (n_users,)
        The record of each user; -1 if they have none.
    threads : int
        Does not change the result.

    Raises
    ------
    RecveilError
        If the adversary knows no ratings.

    Notes
    -----
    Source: Chang et al., Definition 3.2.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 4, 5])
    >>> known = draw_knowledge(ratings, Adversary(known=2), np.arange(3))
    >>> found = label_based(Candidates.from_ratings(ratings), known, np.arange(3))
    >>> found.probability, found.unique_share  # of all three; the third has too few ratings
    (array([1., 1.]), 0.6666666666666666)
    """
    if knowledge.values is None:
        raise RecveilError(
            "the label-based attack needs known ratings, and the adversary knows none; "
            "give them a rating_error, or use structure_based",
            code="argument.value",
        )
    return _match(Scoreboard(0, None, threads), candidates, knowledge, record_of)


def homogeneity(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    class_of: NDArray[np.int64] | None = None,
    threads: int = 2,
) -> Profiles:
    """Test whether all compatible records are identical, which reveals the review profile.

    A group of k users hides who the target is, but not the content of the group's record.

    Parameters
    ----------
    candidates : Candidates
    knowledge : Knowledge
        Items and, if known, exact ratings.
    record_of : ndarray of int64, shape (n_users,)
        The record of each user; -1 if they have none.
    class_of : ndarray of int64, shape (n_records,), optional
        Records with the same number are identical; computed if not given.
    threads : int
        Does not change the result.

    Raises
    ------
    RecveilError
        If `class_of` is not one number for each record.

    Notes
    -----
    Source: Chang et al., Definition 5.1.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 3, 5])
    >>> known = draw_knowledge(ratings, Adversary(known=2), np.arange(2))
    >>> attacked = homogeneity(Candidates.from_ratings(ratings), known, np.arange(3))
    >>> attacked.n_users, attacked.profiles, attacked.found
    (array([2, 2]), array([1, 1]), array([ True,  True]))
    """
    if class_of is None:
        class_of = candidates.classes()
    if class_of.shape != (candidates.n_records,):
        raise RecveilError(
            f"class_of has shape {class_of.shape}; expected one number for each of "
            f"{describe_count(candidates.n_records, 'record')}",
            code="argument.shape",
        )
    merged, class_of = candidates.merged(class_of)
    # Users without a record (-1) index the appended -1.
    class_of_user = np.append(class_of, -1)[record_of]
    matches = _match(Scoreboard(0, None, threads), merged, knowledge, class_of_user)
    found = (matches.records == 1) & (matches.probability > 0)
    return Profiles(matches.records, matches.n_users, found, matches.skipped)


def match_known_ratings(ratings: Ratings, known: int = 8, seed: int = 0) -> Matches:
    """Attack every user with some of their own exact ratings, without dates.

    Parameters
    ----------
    ratings : Ratings
        The table to attack, as if it had been published with ids removed.
    known : int
        Number of ratings that the adversary knows, drawn at random from the target's own.
    seed : int
        Fixes the draw.

    Raises
    ------
    RecveilError
        If `known` is below 1.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2], ["a", "b", "a", "b"], [5, 3, 5, 4])
    >>> match_known_ratings(ratings, known=2).records  # the ratings of b distinguish the two
    array([1, 1])
    >>> match_known_ratings(ratings, known=3).skipped
    2
    """
    everyone = np.arange(ratings.n_users)
    knowledge = draw_knowledge(ratings, Adversary(known=known), everyone, seed)
    return label_based(Candidates.from_ratings(ratings), knowledge, everyone)


def _match(
    scoreboard: Scoreboard,
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
) -> Matches:
    """Match the known part of each target's graph, whatever the size of the graph."""
    graphs = replace(knowledge, activity=None)
    sets = scoreboard.attack(candidates, graphs, record_of)
    return Matches(sets.records, sets.tied_users, sets.chance, knowledge.skipped)
