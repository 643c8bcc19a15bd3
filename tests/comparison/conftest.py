"""An evaluator that is quick: its numbers come from the release's claim alone."""

import importlib

import pytest

from recveil.comparison.rows import Row


def plain_evaluation(risk=0.1, rmse=0.93, kept=0.5, asked=200, attacked=200):
    """What `Evaluation.to_dict` gives, as far as a comparison looks at it."""

    def attack(name, share, looked):
        return {
            "name": name,
            "attack": "likelihood",
            "targets_requested": asked,
            "targets_attacked": looked,
            "targets_skipped": asked - looked,
            "class_reidentified": {
                "rate": 2 * share,
                "low": share,
                "high": 3 * share,
                "trials": asked,
            },
            "reidentified": {
                "rate": share,
                "low": share / 2,
                "high": share * 1.5,
                "trials": asked,
            },
            "baseline": 1 / asked,
            "class_baseline": 5 / asked,
            "link_precision": 0.3,
            "link_baseline": 0.1,
            "links": {"rate": 0.3, "low": 0.25, "high": 0.35, "trials": asked},
            "exact_share": 0.2,
        }

    def known(auc, result):
        return {
            "auc": {"rate": auc, "low": auc - 0.05, "high": auc + 0.05, "trials": 200},
            "tpr_at_5": {
                "rate": result,
                "low": result - 0.04,
                "high": result + 0.04,
                "trials": 100,
            },
            "is_measured": True,
        }

    def share(value, spread=0.1):
        return {"value": value, "low": value - spread, "high": value + spread}

    gain = share(0.06, 0.01) | {"is_reliable": True, "unreliable_reason": None, "n_judged": 200}
    lists = share(0.4, 0.05) | {"is_reliable": True, "unreliable_reason": None, "n_ranked": 190}
    best = {"recommender": "kNN", "rmse": rmse - 0.001, "ranker": "kNN", "ndcg@10": 0.32}
    served = {"recommender": "kNN", "mae": 0.7, "ndcg@10": 0.2, "recall@10": 0.1}
    return {
        "target_deviation": {"rmse": 2.8, "rmse_present": 0.8, "null_share": 0.54},
        "similar_user_deviation": None,
        "self_rank_first": 0.1,
        "recipient": {
            "raw": served | {"rmse": 0.9},
            "averages": served | {"rmse": 0.96},
            "popularity": served | {"rmse": None, "ndcg@10": 0.1},
            "release": served | {"rmse": rmse},
            "best": {"raw": best, "release": best},
            "raw_gain": gain,
            "raw_lists": lists,
            "release_gain": share(0.96 - rmse, 0.01),
            "utility_retained": {
                "chosen": {"ratings": share(kept), "lists": share(0.75), "lists_gain": share(0.7)},
                "best": {
                    "ratings": share(kept + 0.02),
                    "lists": share(0.8),
                    "lists_gain": share(0.75),
                },
            },
            "lists": {
                "raw": served | {"recommender": "popularity", "ndcg@10": 0.4},
                "release": served | {"ndcg@10": 0.3},
                "best_raw": served | {"recommender": "popularity", "ndcg@10": 0.4},
            },
        },
        "carry_over": {"tau_rmse": 0.9, "tau_ndcg": 0.8},
        "coverage": {"item_share": 0.8, "rating_share": 0.9, "n_short_users": 3},
        "fidelity": {
            "popularity_correlation": 0.9,
            "rated_share_error": 0.1,
            "item_mean_rmse": 0.2,
            "similarity_correlation": 0.5,
        },
        "disclosure": {
            "attacks": [attack("colleague", risk / 2, attacked), attack("paper", risk, attacked)],
            "membership": {
                "auc": {"rate": 0.6, "low": 0.55, "high": 0.65, "trials": 200},
                "members": 100,
                "is_measured": True,
                "8": known(0.58, 0.12),
                "16": known(0.62, 0.15),
                "all": known(0.71, 0.33),
            },
            "residual": None,
            "ratings_exact": 0.6,
        },
    }


# The package has the function of the same name.
MODULE = importlib.import_module("recveil.comparison._compare")


class _Evaluation:
    def __init__(self, plain):
        self.plain = plain

    def to_dict(self):
        return self.plain


class Counting:
    """Stands for the evaluator; counts whom it judged, and can be made to fail."""

    judged = ()
    failing = ()

    def __init__(self, split, attributes=None, **_):
        self.split, self.attributes = split, attributes

    def evaluate(self, release, **_):
        claim = release.published.claim
        Counting.judged += ((release.published.settings["method"], claim.k),)
        for k, error in Counting.failing:
            if claim.k == k:
                raise error
        return _Evaluation(plain_evaluation(risk=0.9 / claim.k, rmse=0.9 + claim.k / 1000))


@pytest.fixture
def evaluator(monkeypatch):
    """The quick evaluator, in place of the real one."""
    Counting.judged, Counting.failing = (), ()
    monkeypatch.setattr(MODULE, "Evaluator", Counting)
    return Counting


@pytest.fixture
def row():
    """A finished row, all users looked for, to be changed."""
    counts = {"targets": 900, "targets_attacked": 900, "most_targets_attacked": 900}
    return Row(
        *("padded", 5, "k-anonymity", None),
        **{"verified_k": 5, "bound": 0.2, "risk_by": "paper", "attack": "nearest"},
        **{"risk": 0.1, "risk_low": 0.08, "risk_high": 0.12, "gain_retained": 0.5, "rmse": 0.93},
        **{"is_gain_reliable": True, "ndcg_retained": 0.75, "is_ndcg_reliable": True},
        **counts,
    )


@pytest.fixture(name="plain_evaluation")
def _plain_evaluation():
    """What makes an evaluation, to be changed."""
    return plain_evaluation
