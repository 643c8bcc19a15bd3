"""What a release is still worth, side by side with the original."""

from recveil.evaluate.bootstrap import FEWEST_JUDGED, TOO_SMALL, Measured, is_share_told
from recveil.evaluate.carried import CarryOver, carry_over, kendall_tau
from recveil.evaluate.deviations import (
    Deviation,
    NullRule,
    mae,
    rmse,
    similar_user_deviation,
    target_deviation,
)
from recveil.evaluate.evaluating import Evaluated, evaluate
from recveil.evaluate.evaluation import Evaluation
from recveil.evaluate.evaluator import Evaluator
from recveil.evaluate.factors import RidgeFactors
from recveil.evaluate.gain import (
    Kept,
    gain_interval,
    gain_kept,
    kept,
    lists_gain_kept,
    lists_interval,
    lists_kept,
    raw_gain,
    raw_lists,
    release_gain,
)
from recveil.evaluate.likely_lists import EaseOnLikely
from recveil.evaluate.list_makers import Ease, EaseOnBoth, ItemCosine, ListMaker, PureSVD
from recveil.evaluate.means import GlobalMean, ItemMeans, ItemMeansAndBias, Popularity
from recveil.evaluate.neighbours import ItemNeighbours
from recveil.evaluate.recipient import (
    Served,
    Utility,
    default_recommenders,
    fit_all,
    serve,
)
from recveil.evaluate.recommender import Recommender
from recveil.evaluate.similar_users import (
    Missing,
    SelfRank,
    SimilarUsers,
    find_similar_users,
    self_rank,
)
from recveil.evaluate.similarity import (
    RatingHistogram,
    SimilarityDistributions,
    closeness,
    rating_histogram,
    similarity_distributions,
    weighted,
    weighted_squared,
)
from recveil.evaluate.split import HeldOut, Matched, Split, match_held_out, split_ratings
from recveil.evaluate.top_lists import (
    Ranking,
    coverage,
    list_items,
    ndcg,
    ranking,
    recall,
    relevant_items,
    top_items,
)
from recveil.evaluate.training import InnerSplit, TrainingTable, UserRows, inner_splits
from recveil.evaluate.whole_table import Fidelity, fidelity, item_correlations

__all__ = [
    "FEWEST_JUDGED",
    "TOO_SMALL",
    "CarryOver",
    "Deviation",
    "Ease",
    "EaseOnBoth",
    "EaseOnLikely",
    "Evaluated",
    "Evaluation",
    "Evaluator",
    "Fidelity",
    "GlobalMean",
    "HeldOut",
    "InnerSplit",
    "ItemCosine",
    "ItemMeans",
    "ItemMeansAndBias",
    "ItemNeighbours",
    "Kept",
    "ListMaker",
    "Matched",
    "Measured",
    "Missing",
    "NullRule",
    "Popularity",
    "PureSVD",
    "Ranking",
    "RatingHistogram",
    "Recommender",
    "RidgeFactors",
    "SelfRank",
    "Served",
    "SimilarUsers",
    "SimilarityDistributions",
    "Split",
    "TrainingTable",
    "UserRows",
    "Utility",
    "carry_over",
    "closeness",
    "coverage",
    "default_recommenders",
    "evaluate",
    "fidelity",
    "find_similar_users",
    "fit_all",
    "gain_interval",
    "gain_kept",
    "inner_splits",
    "is_share_told",
    "item_correlations",
    "kendall_tau",
    "kept",
    "list_items",
    "lists_gain_kept",
    "lists_interval",
    "lists_kept",
    "mae",
    "match_held_out",
    "ndcg",
    "ranking",
    "rating_histogram",
    "raw_gain",
    "raw_lists",
    "recall",
    "release_gain",
    "relevant_items",
    "rmse",
    "self_rank",
    "serve",
    "similar_user_deviation",
    "similarity_distributions",
    "split_ratings",
    "target_deviation",
    "top_items",
    "weighted",
    "weighted_squared",
]
