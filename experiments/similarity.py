"""How alike are users before and after grouping, and what does a release reveal of who rated what?

    python experiments/similarity.py RATINGS [K]

Prints, for `FunkSVD` and bisecting k-gather with groups of K (5 if not given):

- the mean of the four measures of Chang et al., section 7.3, over 10,000 pairs of any two users and
  of two users of one group, and how the pairs are distributed (Fig. 4);
- the histogram of the ratings before and after padding (Table 2);
- of the simple release: how sure the rows make it that a member rated an item (Theorems 6.2 and
  6.3), with the real shares of raters, and with those that the published rows suggest; next to how
  often a member did, over all edges and over those that no bound covers.
"""

from pathlib import Path
from typing import Any

import numpy as np
from arguments import parser_of, ratings_file

from recveil.clustering import BisectingKGather
from recveil.evaluation import rating_histogram, similarity_distributions
from recveil.io import read_ratings
from recveil.methods.predictive.diversity import gather_coverage
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.predict import FunkSVD, Padding
from recveil.ratings import Ratings
from recveil.release.records import Groups
from recveil.verification.link_posterior import item_shares, links_of_rows


def show_similarity(ratings: Ratings, padding: Padding, labels: np.ndarray) -> None:
    """Print means and distributions; bins of 0.05 are added up in fours."""
    found = similarity_distributions(ratings, padding, labels)
    print(f"\nDistances of {found.n_pairs:,} pairs of padded rows\n")
    ends = [f"{end:.1f}" for end in found.edges[::4]]
    ranges = " | ".join(f"to {end}" for end in ends[1:])
    print(f"| measure | pairs | mean | {ranges} |\n|---|---|---|" + "---|" * (len(ends) - 1))
    for row, name in enumerate(found.measures):
        before = ("of any two", found.mean_before, found.before)
        after = ("of one group", found.mean_after, found.after)
        for who, means, bins in (before, after):
            shares = bins[row].reshape(-1, 4).sum(axis=1)
            cells = " | ".join(f"{share:.1%}" for share in shares)
            print(f"| {name} | {who} | {means[row]:.3f} | {cells} |")


def show_histogram(ratings: Ratings, padding: Padding) -> None:
    """Print which share of all cells holds which rating."""
    found = rating_histogram(ratings, padding)
    print("\n| rating | before padding | after |\n|---|---|---|")
    print(f"| none | {found.null_original:.2%} | {found.null_padded:.2%} |")
    for level, before, after in zip(found.ratings, found.original, found.padded, strict=True):
        print(f"| {level:g} | {before:.2%} | {after:.2%} |")


def show_links(ratings: Ratings, labels: np.ndarray) -> None:
    """Print how sure the edges of the simple release are, and how many are real."""
    groups = Groups.from_labels(labels)
    support = gather_coverage(homogenize_simple(ratings, groups), ratings.n_items).support
    print("\n| shares of raters | mean posterior | highest | edges that no bound covers |")
    print("|---|---|---|---|")
    real = ratings.support / ratings.n_users
    likely = item_shares(support, groups.sizes).likely
    for name, shares in (("the real ones", real), ("the likely ones", likely)):
        links = links_of_rows(support, groups.sizes, shares)
        print(f"| {name} | {links.mean:.3f} | {links.highest:.3f} | {links.uncovered_share:.1%} |")
    show_real_links(ratings, groups, support, real)


def show_real_links(ratings: Ratings, groups: Groups, support: Any, shares: np.ndarray) -> None:
    """Print how often a member did rate what stands in their row."""
    sizes = np.repeat(groups.sizes, np.diff(support.indptr))  # one for each label of a group
    size_of = np.empty(ratings.n_users, dtype=np.int64)
    size_of[groups.members] = np.repeat(groups.sizes, groups.sizes)
    uncovered = shares[support.indices] > 1 / sizes
    rated = shares[ratings.indices] > 1 / size_of[ratings.user_positions()]
    print(
        f"\nEdges whose member rated the item: {ratings.n_ratings / sizes.sum():.3f} of all,",
        end=" ",
    )
    print(f"{rated.sum() / sizes[uncovered].sum():.3f} of those that no bound covers")


def main(file: Path, k: int) -> None:
    """Print the tables."""
    ratings = read_ratings(file, times=False, duplicates="last")
    padding = FunkSVD().fit(ratings).padding()
    labels = BisectingKGather(k, random_state=0).fit(padding.coordinates()).labels_
    print(f"k = {k}: {labels.max() + 1} groups")
    show_similarity(ratings, padding, labels)
    show_histogram(ratings, padding)
    show_links(ratings, labels)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("k", type=int, nargs="?", default=5)
    options = parser.parse_args()
    main(options.ratings, options.k)
