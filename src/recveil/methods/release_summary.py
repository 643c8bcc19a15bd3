"""Summaries of a new release, printed for its publisher."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings
from recveil.ratings.ratings import in_likes
from recveil.release.claim import LOUD_DELTA, Claim, of_large_delta, of_large_epsilon
from recveil.release.exact_ratings import ExactRatings
from recveil.release.registry import method_of
from recveil.release.sides import Sides
from recveil.release.specs.predictive import SPARSE_KEEPS_MORE
from recveil.release.specs.sparse import MIN_CLUSTER
from recveil.runtime.errors import describe_count

# Threshold of delta times the number of users.
_LARGE_DELTA = 0.1
# At epsilon 1, MovieLens 100K has two directions, some 70 % of a user's ratings are dropped, and
# recommendations retain 45 % of the utility of raw ratings, about as the popularity baseline; at
# epsilon 3 it has four directions, 37 % are dropped, and 68 % is retained.
_FEW_FACTORS, _MUCH_LEFT_OUT = 3, 0.4


def describe_predictive(release: Sides, ratings: Ratings) -> list[str]:
    """Report the share of ratings that rows disclose, known attacks, and the diversity cost."""
    return rows_as_json(release, ratings.n_users, int(ratings.support.max()))


def rows_as_json(release: Sides, n_users: int, most_raters: int) -> list[str]:
    """Report the same from the number of users and the largest item count."""
    exact, cost = release.private.lone_ratings, release.private.diversity_cost
    lines = []
    if exact is not None:
        lines.append(
            f"Published {_how_near(exact)}. {exact.rating_share:.1%}, from "
            f"{exact.user_share:.1%} of the people, because nobody else in the group rated the "
            f"item; the others because all who rated it agree, or their rounded mean is the "
            f"rating. With a larger k they are fewer."
        )
        if exact.is_rounded_off:
            lines.append(
                f"Whoever takes a label for the rating of everybody in the group who rated the "
                f"item is right, to within {exact.within:g}, in {exact.near_label_share:.1%} of "
                f"cases."
            )
        elif exact.label_share is not None:
            lines.append(
                f"Whoever takes a label that is a value of the scale for the rating of everybody "
                f"in the group who rated the item is right in {exact.label_share:.1%} of cases."
            )
    settings = release.published.settings
    lines += method_of(settings).undone_by(settings)
    if _could_be_sparse(release, n_users, most_raters):
        lines.append(SPARSE_KEEPS_MORE)
    if cost is not None:
        lines.append(
            f"Diversity added {cost.added:,} labels to {cost.labels:,}, on average "
            f"{cost.harm:.2f} points off their item's mean; RMSE of the items' means before "
            f"and after: {cost.rmse_before:.4f}, {cost.rmse_after:.4f}."
            + ("" if cost.pruned else " The table is too large to take back needless ones.")
        )
    return lines


def _could_be_sparse(release: Sides, n_users: int, most_raters: int) -> bool:
    """Return whether the release has padded rows, and sparse rows could have the same claim."""
    claim, settings = release.published.claim, release.published.settings
    return (
        settings["homogenize"] == "padded"
        and settings.get("values") != "predicted"
        and not claim.levels
        and claim.l == 1
        and n_users >= MIN_CLUSTER
        and most_raters >= claim.k
    )


def _how_near(exact: ExactRatings) -> str:
    """Format the share of ratings that the rows disclose, and its precision."""
    if exact.is_rounded_off:
        return (
            f"to within the rounding ({exact.within:g}): {exact.near_share:.1%} of the "
            f"ratings ({exact.exact_share:.1%} exactly)"
        )
    return f"as they are: {exact.exact_share:.1%} of the ratings"


def describe_k_corating(release: Sides, ratings: Ratings) -> list[str]:
    """Report what k-coRating added, and what it does not protect."""
    return k_corating_as_json(release, ratings.n_ratings)


def k_corating_as_json(release: Sides, n_ratings: int) -> list[str]:
    """Report the same from the number of ratings."""
    private, public = release.private.settings, release.published.settings
    if release.published.scale.unary:
        added = private["filled_cells"]
        return [
            f"Added {describe_count(added, 'like')} ({added / n_ratings:.1f} for each real one) to "
            f"{n_ratings:,} real ones, until the users of each group like the same items: what an "
            f"adversary learns about a group holds for each of its users.",
            *method_of(public).undone_by(public),
        ]
    # The verdict already warns of an adversary who knows ratings.
    stay = (
        ", which stand as they are: to find a person by them is nearly as easy as before"
        if public["protect"] == "none"
        else ""
    )
    lines = [
        f"Filled {describe_count(private['filled_cells'], 'cell')} "
        f"({private['filled_cells'] / n_ratings:.1f} for "
        f"each rating) next to {n_ratings:,} real ratings{stay}."
    ]
    if trust := private.get("trust"):
        lines.append(
            f"Trust: {describe_count(trust['statements'], 'statement')} of one user about another; "
            f"{describe_count(trust['ignored_lines'], 'line')} about "
            f"{describe_count(trust['unknown_users'], 'user')} without ratings "
            f"{'was' if trust['ignored_lines'] == 1 else 'were'} ignored."
        )
    if public["protect"] == "shuffle":
        lines.append(
            "The labels of each item were dealt anew within the groups. That is your word: no "
            "file can prove it. Where all of a group gave the same rating, it is known, and where "
            "fills can be worked out, as item means can, a real one stands out in its group."
        )
    if not public["round_fills"]:
        why = (
            "" if release.published.scale.step else f", as {release.published.scale} is continuous"
        )
        lines.append(
            f"Warning: fills are not rounded to the scale{why}. They show which ratings are real."
        )
    return lines


def describe_synthetic(release: Sides, ratings: Ratings) -> list[str]:
    """Report the guarantee, the dropped items and known attacks."""
    del ratings
    return drawn_as_json(release)


def drawn_as_json(release: Sides) -> list[str]:
    """Report the same without the ratings, which may be distributed."""
    public, claim = release.published, release.published.claim
    likes, lines = public.scale.unary, []
    if claim.epsilon is not None and claim.delta is not None:
        lines.append(
            f"Drawn from sums with noise for epsilon {claim.epsilon:g} and delta {claim.delta:g}: "
            f"nothing else was asked of anybody."
        )
        if claim.delta > LOUD_DELTA:
            lines.append(f"Warning: {of_large_delta(claim.delta)}")
        elif claim.delta * public.n_users > _LARGE_DELTA:
            lines.append(
                f"delta is more than a tenth of one over the {public.n_users:,} people; a smaller "
                f"one (--delta) promises more."
            )
        if large := of_large_epsilon(claim.epsilon):
            lines.append(f"Warning: {large}")
    if public.settings["omitted_share"] > 0:
        lines.append(_pooled(public.settings["omitted_share"], claim, likes=likes))
    n_factors = release.private.settings["tastes"]
    lines.append(
        f"{n_factors:,} {'taste' if n_factors == 1 else 'tastes'} of people (directions in which "
        f"they differ) stood out of the noise."
        if claim.epsilon is not None
        else f"{n_factors:,} tastes of people (directions in which they differ) are kept."
    )
    is_hidden = n_factors < _FEW_FACTORS or public.settings["omitted_share"] > _MUCH_LEFT_OUT
    if claim.epsilon is not None and is_hidden:
        lines.append(
            "Warning: little of what people like, and others do not, stands out of the noise, and "
            "recommenders may learn nothing but what is popular. If people do differ, more of "
            "them, or a larger epsilon, keep more; recveil evaluate measures it."
        )
    return lines + list(method_of(public.settings).undone_by(public.settings))


def _pooled(share: float, claim: Claim, *, likes: bool) -> str:
    """Format the share of ratings on items that are not released."""
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


def describe_sparse(release: Sides, ratings: Ratings) -> list[str]:
    """Report the error of the release's item counts, and known attacks."""
    place_of = {item: place for place, item in enumerate(ratings.items.tolist())}
    at = np.array([place_of[item] for item in release.items.tolist()], np.int64)
    people = np.zeros(ratings.n_items)
    for block in release.published.blocks():
        sizes = np.repeat(block.sizes, np.diff(block.indptr))
        # Hidden items have another order, and not all of them need to be published.
        people += np.bincount(at[block.indices], weights=sizes, minlength=ratings.n_items)
    return sparse_as_json(release, people, ratings.support)


def sparse_as_json(release: Sides, people: NDArray[Any], support: NDArray[Any]) -> list[str]:
    """Report the same from item counts.

    Parameters
    ----------
    release : Sides
    people : ndarray, shape (n_items,)
        Item counts of the release.
    support : ndarray of int, shape (n_items,)
        Item counts of the ratings.
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


def describe_undone(release: Sides, _: Ratings) -> list[str]:
    """Report known attacks, for a method without a summary of its own."""
    settings = release.published.settings
    return list(method_of(settings).undone_by(settings))
