"""Telling: what the owner of a release is told of it when it is made."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings
from recveil.ratings.ratings import in_likes
from recveil.release.as_given import ExactRatings
from recveil.release.claim import LOUD_DELTA, Claim, of_large_delta, of_large_epsilon
from recveil.release.registry import method_of
from recveil.release.sides import Sides
from recveil.release.specs.predictive import SPARSE_KEEPS_MORE
from recveil.release.specs.sparse import LEAST_CROWD
from recveil.runtime.errors import describe_count

# Of delta times the number of people.
_LARGE_DELTA = 0.1
# At epsilon 1, MovieLens 100K has two tastes, some 70 % of a person's ratings are left out, and
# lists keep 45 % of what raw ratings give, about as the popular items; at epsilon 3 it has four
# tastes, 37 % are left out, and 68 % kept.
_FEW_TASTES, _MUCH_LEFT_OUT = 3, 0.4


def describe_of_predictive(release: Sides, ratings: Ratings) -> list[str]:
    """Say how many ratings the rows show, what can be worked out where they show few, and the cost.

    Parameters
    ----------
    release : Sides
    ratings : Ratings
        What it was made of.
    """
    return rows_as_json(release, ratings.n_users, int(ratings.support.max()))


def rows_as_json(release: Sides, n_users: int, most_raters: int) -> list[str]:
    """Say it without a look at the ratings: of so many people, so many rated one item at most."""
    given, cost = release.private.lone_ratings, release.private.diversity_cost
    told = []
    if given is not None:
        told.append(
            f"Published {_how_near(given)}. {given.rating_share:.1%}, from "
            f"{given.user_share:.1%} of the people, because nobody else in the group rated the "
            f"item; the others because all who rated it agree, or their rounded mean is the "
            f"rating. With a larger k they are fewer."
        )
        if given.is_rounded_off:
            told.append(
                f"Whoever takes a label for the rating of everybody in the group who rated the "
                f"item is right, to within {given.within:g}, in {given.near_label_share:.1%} of "
                f"cases."
            )
        elif given.label_share is not None:
            told.append(
                f"Whoever takes a label that is a value of the scale for the rating of everybody "
                f"in the group who rated the item is right in {given.label_share:.1%} of cases."
            )
    settings = release.published.settings
    told += method_of(settings).undone_by(settings)
    if _could_be_sparse(release, n_users, most_raters):
        told.append(SPARSE_KEEPS_MORE)
    if cost is not None:
        told.append(
            f"Diversity added {cost.added:,} labels to {cost.labels:,}, on average "
            f"{cost.harm:.2f} points off their item's mean; RMSE of the items' means before "
            f"and after: {cost.rmse_before:.4f}, {cost.rmse_after:.4f}."
            + ("" if cost.pruned else " The table is too large to take back needless ones.")
        )
    return told


def _could_be_sparse(release: Sides, n_users: int, most_raters: int) -> bool:
    """Say whether these are padded rows of people whom sparse ones, too, could promise the same."""
    claim, settings = release.published.claim, release.published.settings
    return (
        settings["homogenize"] == "padded"
        and settings.get("labels") != "model"
        and not claim.levels
        and claim.l == 1
        and n_users >= LEAST_CROWD
        and most_raters >= claim.k
    )


def _how_near(given: ExactRatings) -> str:
    """Say how many ratings the rows show, and how exactly where labels are rounded off them."""
    if given.is_rounded_off:
        return (
            f"to within the rounding ({given.within:g}): {given.near_share:.1%} of the "
            f"ratings ({given.exact_share:.1%} exactly)"
        )
    return f"as they are: {given.exact_share:.1%} of the ratings"


def describe_of_k_corating(release: Sides, ratings: Ratings) -> list[str]:
    """Say what k-coRating did, and what it does not do.

    Parameters
    ----------
    release : Sides
    ratings : Ratings
        What it was made of.
    """
    return k_corating_as_json(release, ratings.n_ratings)


def k_corating_as_json(release: Sides, n_ratings: int) -> list[str]:
    """Say it without a look at the ratings, of which there are so many."""
    private, public = release.private.settings, release.published.settings
    if release.published.scale.unary:
        added = private["filled_cells"]
        return [
            f"Added {describe_count(added, 'like')} ({added / n_ratings:.1f} for each real one) to "
            f"{n_ratings:,} real ones, until the users of each group like the same items: what an "
            f"adversary learns about a group holds for each of its users.",
            *method_of(public).undone_by(public),
        ]
    # Of what somebody who knows ratings can do, the verdict has warned already.
    stay = (
        ", which stand as they are: to find a person by them is nearly as easy as before"
        if public["protect"] == "none"
        else ""
    )
    told = [
        f"Filled {describe_count(private['filled_cells'], 'cell')} "
        f"({private['filled_cells'] / n_ratings:.1f} for "
        f"each rating) next to {n_ratings:,} real ratings{stay}."
    ]
    if trust := private.get("trust"):
        told.append(
            f"Trust: {describe_count(trust['statements'], 'statement')} of one user about another; "
            f"{describe_count(trust['ignored_lines'], 'line')} about "
            f"{describe_count(trust['unknown_users'], 'user')} without ratings "
            f"{'was' if trust['ignored_lines'] == 1 else 'were'} ignored."
        )
    if public["protect"] == "shuffle":
        told.append(
            "The labels of each item were dealt anew within the groups. That is your word: no "
            "file can prove it. Where all of a group gave the same rating, it is known, and where "
            "fills can be worked out, as item means can, a real one stands out in its group."
        )
    if not public["round_fills"]:
        why = (
            "" if release.published.scale.step else f", as {release.published.scale} is continuous"
        )
        told.append(
            f"Warning: fills are not rounded to the scale{why}. They show which ratings are real."
        )
    return told


def describe_of_synthetic(release: Sides, ratings: Ratings) -> list[str]:
    """Say what was promised, what was left out, and what attacks undo.

    Parameters
    ----------
    release : Sides
    ratings : Ratings
        What it was made of.
    """
    del ratings
    return drawn_as_json(release)


def drawn_as_json(release: Sides) -> list[str]:
    """Say it without a look at the ratings, which nobody may have together."""
    public, claim = release.published, release.published.claim
    likes, told = public.scale.unary, []
    if claim.epsilon is not None and claim.delta is not None:
        told.append(
            f"Drawn from sums with noise for epsilon {claim.epsilon:g} and delta {claim.delta:g}: "
            f"nothing else was asked of anybody."
        )
        if claim.delta > LOUD_DELTA:
            told.append(f"Warning: {of_large_delta(claim.delta)}")
        elif claim.delta * public.n_users > _LARGE_DELTA:
            told.append(
                f"delta is more than a tenth of one over the {public.n_users:,} people; a smaller "
                f"one (--delta) promises more."
            )
        if large := of_large_epsilon(claim.epsilon):
            told.append(f"Warning: {large}")
    if public.settings["pooled_share"] > 0:
        told.append(_pooled(public.settings["pooled_share"], claim, likes=likes))
    tastes = release.private.settings["tastes"]
    told.append(
        f"{tastes:,} {'taste' if tastes == 1 else 'tastes'} of people (directions in which they "
        f"differ) stood out of the noise."
        if claim.epsilon is not None
        else f"{tastes:,} tastes of people (directions in which they differ) are kept."
    )
    is_hidden = tastes < _FEW_TASTES or public.settings["pooled_share"] > _MUCH_LEFT_OUT
    if claim.epsilon is not None and is_hidden:
        told.append(
            "Warning: little of what people like, and others do not, stands out of the noise, and "
            "recommenders may learn nothing but what is popular. If people do differ, more of "
            "them, or a larger epsilon, keep more; recveil evaluate measures it."
        )
    return told + list(method_of(public.settings).undone_by(public.settings))


def _pooled(share: float, claim: Claim, *, likes: bool) -> str:
    """Say how much of what people rated is of items that nobody drawn has."""
    of = f"Of a person's {'likes' if likes else 'ratings'}"
    if claim.epsilon is None:
        rated = "like" if likes else "rated"
        return (
            f"{of}, {share:.1%} on average are of items that are not told, as too few people "
            f"{rated} them."
        )
    return (
        f"{of}, about {share:.1%} on average (counted with noise) are of items that are not told, "
        f"as their counts did not stand out from the noise."
    )


def _left_out(n: int, share: float, k: int) -> list[str]:
    if not n:
        return []
    some = (
        "1 item that fewer than {k} people rated is"
        if n == 1
        else ("{n:,} items that fewer than {k} people rated are")
    )
    return [
        f"{some.format(n=n, k=k)} left out, with {100 * share:.1f} % of all there is: that such an "
        f"item stood in the release would say that somebody rated it."
    ]


def describe_of_sparse(release: Sides, ratings: Ratings) -> list[str]:
    """Say how far the release's counts of items are off, and what attacks are known to undo.

    Parameters
    ----------
    release : Sides
    ratings : Ratings
        What it was made of.
    """
    place_of = {item: place for place, item in enumerate(ratings.items.tolist())}
    at = np.array([place_of[item] for item in release.items.tolist()], np.int64)
    people = np.zeros(ratings.n_items)
    for block in release.published.blocks():
        behind = np.repeat(block.sizes, np.diff(block.indptr))
        # Hidden items stand in another order, and not all of them need to be published.
        people += np.bincount(at[block.indices], weights=behind, minlength=ratings.n_items)
    return sparse_as_json(release, people, ratings.support)


def sparse_as_json(release: Sides, people: NDArray[Any], support: NDArray[Any]) -> list[str]:
    """Say it without a look at the ratings.

    Parameters
    ----------
    release : Sides
    people : ndarray, shape (n_items,)
        How many people the release says rated each item.
    support : ndarray of int, shape (n_items,)
        How many did.
    """
    off = np.abs(people - support)[support > 0]
    k = release.published.claim.k
    left_out = (support > 0) & (support < k)
    share = support[left_out].sum() / support.sum()
    settings, is_unary = release.published.settings, release.published.scale.unary
    drawn = "No rating is published: items were drawn, and labels are predictions."
    if is_unary:
        drawn = "Nobody's likes are published: the items of a row were drawn."
    return [
        f"{drawn} The rows count each item {off.mean():.1f} people too often or too rarely "
        f"on average, and {off.max():.0f} at most.",
        *(in_likes(each, is_unary) for each in _left_out(int(left_out.sum()), share, k)),
        *method_of(settings).undone_by(settings),
    ]


def describe_of_undone(release: Sides, _: Ratings) -> list[str]:
    """Say what attacks are known to undo: of every method that has no more to say."""
    settings = release.published.settings
    return list(method_of(settings).undone_by(settings))
