"""Measures `audit_lists` next to the attack of Zhang et al. 2021 as published.

The published attack trains a perceptron of two hidden layers on the differences of centroids, in
an embedding of 100 dimensions, of one shadow recommender, and attacks another one.

    python benchmarks/audited_lists.py ml-100k/u.data
"""

import argparse
import itertools
import time

import numpy as np
from sklearn.neural_network import MLPClassifier

import recveil as rv
from recveil.attacks import Interval, area_under_curve
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.recommenders import Rows, Targets, centroid_differences
from recveil.evaluation import TrainingTable, UserRows, audit_lists, list_items
from recveil.evaluation.audited_lists import RECOMMENDERS

WORLDS, LENGTH = 8, 10


def published_attack(ratings: rv.Ratings, name: str, newcomers: str) -> Interval:
    """Return the AUC of the published attack, over pairs of a shadow and a target."""
    rng, rows = np.random.default_rng(1), UserRows.from_ratings(ratings)
    predict = next(iter(RECOMMENDERS[name].values()))
    about = Targets(
        Rows(rows.matrix(ratings.n_items, np.ones(rows.indices.size))),
        np.linalg.svd(ratings.to_csr().toarray(), full_matrices=False)[2][:100].T,
        ratings.support.astype(float),
    )
    worlds = []
    for _ in range(WORLDS):
        inside = rng.permutation(ratings.n_users) < ratings.n_users // 2
        table = TrainingTable.from_ratings(only(ratings, np.flatnonzero(inside)))
        lists = list_items(predict(table, rows), rows, LENGTH)
        if newcomers == "unrated":
            popular = RECOMMENDERS["popular"]["popular"](table, rows)
            lists[~inside] = list_items(popular, rows, LENGTH)[~inside]
        if newcomers == "popular":
            lists[~inside] = np.argsort(-table.support, kind="stable")[:LENGTH]
        worlds.append((centroid_differences(lists, about), inside))
    members, others = [], []
    for shadow, target in itertools.pairwise(worlds):
        learner = MLPClassifier((32, 8), max_iter=300, early_stopping=True, random_state=0)
        scores = learner.fit(*shadow).predict_proba(target[0])[:, 1]
        members.append(scores[target[1]])
        others.append(scores[~target[1]])
    return area_under_curve(np.concatenate(members), np.concatenate(others))


def models(values: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """Return EASE, item cosines and item factors of a matrix of ratings."""
    inverse = np.linalg.inv(values.T @ values + 200 * np.eye(values.shape[1]))
    lengths = np.maximum(np.linalg.norm(values, axis=0), 1e-9)
    ease, cosines = -inverse / np.diag(inverse), values.T @ values / lengths / lengths[:, None]
    for each in (ease, cosines):
        np.fill_diagonal(each, 0)
    factors = np.linalg.svd(values, full_matrices=False)[2][:30].T
    found = {"ease": {"similarities": ease}, "item cosines": {"similarities": cosines}}
    return found | {"svd": {"factors": factors}}


def audit_models(ratings: rv.Ratings) -> None:
    """Print the AUC of models of a random half of the users."""
    half = np.random.default_rng(5).permutation(ratings.n_users) < ratings.n_users // 2
    members, others = (only(ratings, np.flatnonzero(part)) for part in (half, ~half))
    for name, model in models(members.to_csr().toarray() / ratings.scale.high).items():
        start = time.process_time()
        found = audit_lists(members, model={"items": ratings.items, **model}, nonmembers=others)
        one, spent = found.by_newcomers["history"], time.process_time() - start
        auc, control = one.inferred.auc, one.control.auc
        print(
            f"model {name}: AUC {auc.rate:.3f} ({auc.low:.3f}-{auc.high:.3f}), TPR at 1% FPR "
            f"{one.inferred.tpr_at_1.rate:.3f}, control {control.rate:.3f} "
            f"({control.low:.3f}-{control.high:.3f}), {spent:.1f} s; shadows: {found.recommender}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ratings")
    parser.add_argument("--shadows", type=int, default=16)
    options = parser.parse_args()
    ratings = rv.read(options.ratings)
    audit_models(ratings)
    for name in RECOMMENDERS:
        start = time.process_time()
        audited = audit_lists(ratings, recommender=name, shadows=options.shadows)
        print(f"{name}: {time.process_time() - start:.1f} s of CPU time")
        for newcomers, found in audited.by_newcomers.items():
            published = published_attack(ratings, name, newcomers)
            figures = {"recveil": found.inferred.auc, "published": published}
            figures |= {"control": found.control.auc}
            texts = (f"{key} {x.rate:.3f} ({x.low:.3f}-{x.high:.3f})" for key, x in figures.items())
            print(f"  others get {newcomers}: {', '.join(texts)}")
