"""Membership inference from published noisy answers, next to that from synthetic users alone.

    python experiments/published_answers.py path/to/u.data [--epsilons 20 3]

Makes 32 releases of random halves of the users with `--publish-answers`, and prints the AUC of
members against others, all of whose ratings are known, with 95 % intervals and the true positive
rate at 1 % false positives: from the users, from the answers, from both, and for random membership.
"""

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import Adversary, AttackTarget, choose_targets
from recveil.attacks.knowledge import know_everything
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.shadow_models import (
    ShadowScorer,
    infer_members,
    learn_population,
    likelihood_ratios,
    shuffle_membership,
)
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.io import read_ratings
from recveil.methods.synthetic.bounded_sums import RATED, direction_of, moved
from recveil.methods.synthetic.sum_queries import _centre
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.release.synthetic_form import COUNT_SHARE, rating_levels

SHADOWS, SCORED, SEED = 32, 400, 0


def scores(ratings, answers, users):
    """Return the products of users' vectors with the noisy item sums and moments."""
    scale, items, chosen = ratings.scale, answers["items"], answers["moment_items"]
    centre, spread = _centre(answers["rating_levels"], rating_levels(scale), scale)
    row = {item: place for place, item in enumerate(items.tolist())}
    place = {item: at for at, item in enumerate(chosen.tolist())}
    popularity = np.array([answers["item_sums"][row[item], 0] for item in chosen.tolist()])
    direction, n = direction_of(popularity), chosen.size
    moments = np.zeros((n, n))
    moments[np.triu_indices(n)] = answers["moments"]
    moments += np.triu(moments, 1).T
    of_items, of_moments = [], []
    for user in users:
        indices, values = ratings.row(user)
        known = [item in row for item in ratings.items[indices].tolist()]
        ids, values = ratings.items[indices][known].tolist(), values[known]
        off = moved(values, scale) - centre
        damping = np.sqrt(min(1, spread**2 / max((off**2).mean(), 1e-300)))
        sums = answers["item_sums"][[row[item] for item in ids]]
        how = np.sqrt(1 - COUNT_SHARE) / spread * off * damping
        of_items.append((np.sqrt(COUNT_SHARE) * sums[:, 0] + how * sums[:, 1]).sum())
        of_items[-1] /= np.sqrt(indices.size)
        vector = np.zeros(n)
        for item, value in zip(ids, values, strict=True):
            if item in place:
                vector[place[item]] = 1.0 if value >= scale.liked_from else RATED
        along = vector @ direction
        vector -= along * direction
        vector /= max(np.linalg.norm(vector), along / 4, 1e-12)
        of_moments.append(vector @ moments @ vector)
    return {"item sums": np.array(of_items), "moments": np.array(of_moments)}


def measure(ratings, epsilon):
    """Return the evidence of users and of answers, and who was in which half."""
    targets = choose_targets(ratings.n_users, SCORED, SEED)
    about = know_everything(ratings, targets, has_dates=False)
    adversary = without_unpublished(ratings, Adversary(known=8))
    rng, halves, tables, of_answers = np.random.default_rng([SEED, 4]), [], [], []
    for _ in range(SHADOWS // 2):
        order, middle = rng.permutation(ratings.n_users), ratings.n_users // 2
        for half in (np.sort(order[:middle]), np.sort(order[middle:])):
            options = {"item_catalog": "as-rated", "publish_answers": True}
            maker = Synthesizer(epsilon, seed=len(halves) + 1, **options)
            release = maker.anonymize(only(ratings, half))
            halves.append(half)
            tables.append(AttackTarget.from_release(release, ratings))
            of_answers.append(scores(ratings, release.published.answers, about.targets))
    population = learn_population(tables[:2])
    scorer = ShadowScorer(population, about, adversary, ratings.scale, ratings.csr)
    of_users = [scorer.score(table) for table in tables]
    inside = np.stack([np.isin(about.targets, half) for half in halves], axis=1)
    return stack(of_users), stack(of_answers), inside


def stack(by_release):
    """Return each score of all releases, shape (n_users, n_releases)."""
    names = [name for name in by_release[0] if all(name in one for one in by_release)]
    return {name: np.stack([one[name] for one in by_release], axis=1) for name in names}


def main() -> None:
    """Print a row per epsilon and kind of evidence."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[20.0, 3.0])
    parser.add_argument("--scale", default="1:5:1")
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, scale=options.scale, times=False)
    print("| epsilon | from | AUC | TPR at 1 % FPR |\n|---|---|---|---|")
    for epsilon in options.epsilons:
        users, answers, inside = measure(ratings, epsilon)
        control = shuffle_membership(inside, SEED)
        for name, evidence, truth in (
            ("users", users, inside),
            ("answers", answers, inside),
            ("both", users | answers, inside),
            ("both, control", users | answers, control),
        ):
            found = infer_members(likelihood_ratios(evidence, truth), truth)
            auc, rate = found.auc, found.tpr_at_1.rate
            figure = f"{auc.rate:.2f} ({auc.low:.2f} to {auc.high:.2f})"
            print(f"| {epsilon:g} | {name} | {figure} | {rate:.1%} |", flush=True)


if __name__ == "__main__":
    main()
