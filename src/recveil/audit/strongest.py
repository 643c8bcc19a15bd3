"""Strongest: the adversary who finds most users in a release, and what they know."""

from typing import NamedTuple

from recveil.attack import Adversary, Interval
from recveil.audit.found_in_release import FoundInRelease


class Finding(NamedTuple):
    """How many users an adversary finds, and who it is."""

    found: Interval
    who: str


def find_by_all_ratings(published: FoundInRelease) -> Finding | None:
    """Return the most that is found by all ratings of each target; None if nobody looked so."""
    what = "likes" if published.manifest.scale.unary else "ratings"
    who = f"an adversary who knows all {what} of a target exactly"
    findings, direct, fitted = [], published.all_known, published.clusters
    if direct is not None and direct.skipped < direct.requested:
        findings.append(Finding(direct.person_found, who))
    if fitted is not None and fitted.person_found.trials:
        findings.append(Finding(fitted.person_found, f"{who}, and the rows of other targets"))
    return max(findings, key=lambda each: each.found.rate, default=None)


def describe_knowledge(adversary: Adversary, *, is_unary: bool = False) -> str:
    """Describe what an adversary knows of each target.

    Examples
    --------
    >>> describe_knowledge(Adversary(known=8, right=6))
    '8 ratings, 2 of them wrong'
    >>> describe_knowledge(Adversary(known=4, rating_error=1, date_error=14))
    '4 ratings to within 1 and their dates to within 14 days'
    >>> describe_knowledge(Adversary(known=1, rating_error=None))
    '1 rated item'
    """
    if is_unary or adversary.likes_only:
        what, within = "like", ""
    elif adversary.rating_error is None:
        what, within = "rated item", ""
    else:
        what, within = "rating", f" to within {adversary.rating_error:g}"
    several = "s" * (adversary.known != 1)
    dates = adversary.date_error
    wrong = adversary.known - adversary.n_right
    return (
        f"{adversary.known} {what}{several}{within * bool(adversary.rating_error)}"
        + ("" if dates is None else f" and their dates to within {dates} days")
        + (f", {wrong} of them wrong" if wrong else "")
    )
