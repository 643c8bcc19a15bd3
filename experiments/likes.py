"""Likes: MovieLens 100K cut to who rated what, through all verbs.

    python experiments/likes.py path/to/ml-100k

Reads u.data as likes, and makes, verifies, attacks and judges a release by each method that takes
them, with k = 5 and seed 0; and one in which all users are one group, so that no user may be found.
Then users are drawn from likes, with noise and without.
"""

import tempfile
from pathlib import Path

from page import Row, main

from recveil.attacks.statistics import Interval
from recveil.auditing import audit
from recveil.auditing.release_attacks import AttackedRelease
from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.evaluation import evaluate
from recveil.io import read_ratings
from recveil.methods import anonymize
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings

TITLE = "Likes: MovieLens 100K cut to who rated what"
READING = (
    "Not of a paper: each rating is read as a like (`--likes`), whatever its value, and goes "
    "through anonymize, verify, audit and evaluate. *Found*: by the strongest adversary of the "
    "audit, who looks for everybody; nobody knows ratings, as there are none. Members and strangers"
    " as in threats.md; AUC 0.5 is a coin. Lists: what the release's lists keep of the nDCG@10 of "
    "the best on the raw likes, a fifth of everybody's likes held out. Beside ours stands the same "
    "figure of the same method with the ratings, where there is one. A claim of k-anonymity holds "
    "if the checker confirms it from the files and nobody is found more often than once in five. "
    "*Drawn*: users drawn from sums over real ones, with noise for an epsilon (delta 1e-6), the "
    "list of items public; membership by 32 shadow releases of halves of the users (471 each), "
    "by who knows all that somebody likes, or eight of it; beside it, what exact counts of who "
    "liked each item would tell."
)
NEXT_TO = "with ratings"
AXES = None
K, SEED = 5, 0
# Of drawn users: no noise, and with noise. Membership is measured on some of them.
EPSILONS = (None, 50.0, 20.0, 10.0)
SHADOWED, SHADOWS = (None, 20.0), 32


def run(folder: Path) -> list[Row]:
    """Return what the verbs say of each release."""
    ratings = read_ratings(folder / "u.data")
    likes = ratings.as_likes()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        table = audit(likes, curves=False, targets=1_000, seed=SEED)
        with_ratings = audit(ratings, curves=False, targets=1_000, seed=SEED)
        strongest, next_to = (
            max(each.attacks, key=lambda one: one.reidentified.rate)
            for each in (table, with_ratings)
        )
        rows.append(
            _share("the table with names removed: re-identified", strongest.reidentified)._replace(
                paper=next_to.reidentified.rate
            )
        )
        for method in ("k-corating", "sparse"):
            ours = _of_release(likes, method, Path(work, f"{method}-likes"))
            theirs = _of_release(ratings, method, Path(work, f"{method}-ratings"))
            rows += _next_to(method, ours, theirs)
        rows.append(_of_all_users(likes, Path(work, "everybody")))
        for epsilon in EPSILONS:
            kept = _lists_of_drawn(likes, epsilon, Path(work, _noise(epsilon)))
            rows.append(_share(f"drawn, {_noise(epsilon)}: lists keep", kept))
    for epsilon in SHADOWED:
        rows += _membership_of_drawn(likes, epsilon)
    return rows


def _noise(epsilon: float | None) -> str:
    return "no noise" if epsilon is None else f"epsilon {epsilon:g}"


def _lists_of_drawn(likes: Ratings, epsilon: float | None, out: Path) -> Interval:
    """Return what lists keep that are learned from users drawn from four fifths of the likes."""
    asked = "none" if epsilon is None else epsilon
    anonymize(likes, out, epsilon=asked, item_catalog="as-rated")
    judged = evaluate(out, likes, split=0.2, with_membership=False, targets=1, seed=SEED)
    kept = judged.evaluation.retained.lists
    return Interval(kept.value, kept.low, kept.high, kept.n_users)


def _membership_of_drawn(likes: Ratings, epsilon: float | None) -> list[Row]:
    """Return the membership inference on a release of half of the users, by shadow releases."""

    def make(seed: int) -> Synthesizer:
        return Synthesizer(epsilon, item_catalog="as-rated", seed=seed)

    found = attack_by_shadows(likes, make, SHADOWS, SEED).by_known
    rows = []
    for known, result in found.items():
        of = f"drawn, {_noise(epsilon)}: shadows, {known} known (AUC)"
        rows.append(_share(of, result.inferred.auc)._replace(form=".2f"))
        counts = f"exact counts of likes instead: shadows, {known} known (AUC)"
        if epsilon is None:  # counted on the same halves whatever the noise
            rows.append(_share(counts, result.counts_auc)._replace(form=".2f"))
    return rows


def _attack(ratings: Ratings, out: Path) -> AttackedRelease:
    """Let all adversaries of an audit attack a release."""
    found = audit(ratings, release=out, curves=False, targets=1_000, seed=SEED).published
    if found is None:
        raise RuntimeError("the release was not attacked")
    return found


def strongest_rates(attacked: AttackedRelease) -> tuple[Interval, Interval]:
    """Return how often a user, and a group, is found by who finds most users."""
    attacks = [*(attack for _, attack in attacked.attacks), attacked.all_known]
    rates = [(each.reidentified, each.class_reidentified) for each in attacks if each is not None]
    if attacked.clusters is not None:
        rates.append((attacked.clusters.reidentified, attacked.clusters.class_inferred))
    return max(rates, key=lambda each: each[0].ranked)


def _of_release(ratings: Ratings, method: str, out: Path) -> dict[str, Interval]:
    """Make a release, attack it, and judge another such one."""
    anonymize(ratings, out, k=K, method=method, seed=SEED)
    attacked = _attack(ratings, out)
    judged = evaluate(out, ratings, split=0.2, with_membership=False, targets=1, seed=SEED)
    one_user, group = strongest_rates(attacked)
    kept = judged.evaluation.retained.lists
    return {
        "group inferred": group,
        "user re-identified": one_user,
        **{
            f"members, {name} known (AUC)": result.auc for name, result in attacked.by_known.items()
        },
        "lists keep": Interval(kept.value, kept.low, kept.high, kept.n_users),
    }


def _next_to(method: str, ours: dict[str, Interval], theirs: dict[str, Interval]) -> list[Row]:
    """Set what likes give next to what ratings give."""
    rows = []
    for name, found in ours.items():
        row = _share(f"{method}, k = {K}: {name}", found)._replace(paper=theirs[name].rate)
        if name.startswith("members"):
            row = row._replace(form=".2f")
        if name == "user re-identified":
            row = row._replace(label=f"claim: {row.label}, at most 1/{K}", holds=found.low <= 1 / K)
        rows.append(row)
    return rows


def _of_all_users(likes: Ratings, out: Path) -> Row:
    """Return who is re-identified where all users share one row: at most a random guess."""
    anonymize(likes, out, k=likes.n_users, method="k-corating", seed=SEED)
    found = max(
        (attack.reidentified for _, attack in _attack(likes, out).attacks), key=lambda one: one.rate
    )
    label = "claim: user re-identified in one group of all users: at most 1/943"
    holds = found.rate <= 1 / likes.n_users + 1e-9
    return _share(label, found)._replace(holds=holds, form=".2%")


def _share(label: str, found: Interval) -> Row:
    return Row(label, found.rate, form=".1%", interval=(found.low, found.high))


if __name__ == "__main__":
    main(run, __doc__)
