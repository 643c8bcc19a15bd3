"""What the fast and the slow tests of `test_safe_repr.py` share."""

from pprint import pformat

import numpy as np
import pytest
from scipy import sparse

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Candidates,
    ScoreboardRH,
    attack_release,
    draw_knowledge,
    infer_membership,
    match_known_ratings,
)
from recveil.auditing import audit
from recveil.auditing.curves import Figure
from recveil.clustering import KGather
from recveil.comparison import compare
from recveil.comparison.cells import Ground
from recveil.demo import Demo
from recveil.evaluation import Evaluator, evaluate, split_ratings
from recveil.io import read_levels, write_ratings
from recveil.methods import BASELINES, KCoRater, PredictiveAnonymizer, anonymize
from recveil.methods.predictive.diversity import gather_coverage
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.predict import FunkSVD, TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale
from recveil.verification import verify

SEED = 987654321987

SECRETS = ("secret-ann", str(SEED), f"{SEED:,}", f"{SEED:_}", "secret film", "321987", "sparse")


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(1)
    users, items = np.divmod(np.flatnonzero(rng.random(60 * 30) < 0.4), 30)
    return Ratings.from_columns(
        [f"secret-ann-{user}" for user in users],
        [f"secret film {item}" for item in items],
        rng.integers(1, 6, users.size),
        scale=RatingScale(1, 5, 1),
        days=rng.integers(12_000, 12_900, users.size),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ratings):
    folder = tmp_path_factory.mktemp("brief")
    write_ratings(ratings, folder / "ratings.csv")
    (folder / "levels.csv").write_text("user_id,k\nsecret-ann-3,7\n")
    known = "".join(f"secret-ann-1,secret film {item},3\n" for item in range(9))
    (folder / "known.csv").write_text("target,item,rating\n" + known)
    return folder


@pytest.fixture(scope="module")
def shown(ratings, folder):
    """Whatever holds something private, by name, each made once as its user would."""
    levels = read_levels(folder / "levels.csv", ratings.users, 3)
    padded = PredictiveAnonymizer(3, seed=SEED).anonymize(ratings)
    simple = PredictiveAnonymizer(
        3, "simple", grouping="level-gather", privacy_levels=levels, b=1, l=2, seed=SEED
    ).anonymize(ratings)
    k_corated = KCoRater(3, "funk-svd", seed=SEED).anonymize(ratings)
    anonymized = anonymize(
        folder / "ratings.csv", folder / "out", k=3, method="predictive", seed=SEED
    )
    table, adversary = AttackTarget.from_release(padded, ratings), Adversary(known=4)
    result = infer_membership(ratings, PredictiveAnonymizer(3, seed=SEED), adversary, seed=SEED)
    knowledge = draw_knowledge(ratings, adversary, np.arange(20), seed=SEED)
    candidates = Candidates.from_ratings(ratings)
    matches = match_known_ratings(ratings, 4, seed=SEED)
    audited = audit(
        folder / "ratings.csv",
        targets=20,
        release=folder / "out",
        auxiliary=folder / "known.csv",
        seed=SEED % 2**32,
    )
    split = split_ratings(ratings, 0.2, SEED)
    evaluator = Evaluator(split, n_targets=20, seed=SEED)
    evaluation = evaluator.evaluate(padded)
    fitted = [FunkSVD(seed=SEED).fit(ratings), UserKNN().fit(ratings)]
    compared = compare(ratings, folder / "c", methods=["simple"], k=[3], targets=20, seed=SEED)
    (block, *_) = padded.published.blocks()
    return {
        "ratings": ratings,
        "releases": [padded, simple, k_corated],
        "published": [padded.published, simple.published, k_corated.published],
        "private": [padded.private, simple.private, k_corated.private],
        "groups": padded.private.groups,
        "cost": [simple.private.diversity_cost, simple.private.lone_ratings],
        "baselines": [make(SEED).anonymize(ratings) for make in BASELINES.values()],
        "anonymized": anonymized,
        "readings": [anonymized.reading, *anonymized.reading.columns],
        "verification": verify(folder / "out"),
        "verification of the raw table": verify(folder / "ratings.csv", k=2),
        "violations": list(verify(folder / "ratings.csv", k=2).violations),
        "figures": [Figure("4", "title", "x", "y", [{"series": "exact", "x": "2", "y": 0.5}] * 99)],
        "rows": list(compared.rows),
        "demo": Demo(
            folder,
            ratings,
            matches,
            np.ones(3),
            anonymized.verification,
            anonymized.verification,
            result,
            0.7,
            0.8,
        ),
        "table": [table, candidates, knowledge],
        "attacks": [
            matches,
            ScoreboardRH().attack(candidates, knowledge, np.arange(60)),
            attack_release(ratings, table, adversary, np.arange(20)),
            result,
        ],
        "audit": audited,
        "parts of the audit": [
            audited.attacks,
            audited.risk,
            audited.suspects,
            audited.published,
            audited.checks,
        ],
        "split": split,
        "evaluation": [evaluation, evaluation.raw, evaluation.release],
        "evaluated": evaluate(folder / "out", folder / "ratings.csv", split=0.2, seed=SEED),
        "comparison": [compared, compared.rows, Ground("digest", 0.2, SEED, 9)],
        "coverage": gather_coverage(homogenize_simple(ratings, padded.private.groups), 30),
        "records": block,
        "parts": [
            PredictiveAnonymizer(3, seed=SEED),
            KCoRater(3, seed=SEED),
            KGather(3, random_state=SEED),
            *fitted,
            TrustKNN(links=sparse.csr_array(np.full((60, 60), 0.321987))),
            fitted[0].padding(),
            evaluator,
            *(make(SEED) for make in BASELINES.values()),
        ],
    }


def ways_to_show(thing):
    """Yield what a notebook, a print, a log or a debugger writes of a thing."""
    yield from (repr(thing), str(thing), f"{thing}", pformat(thing))
    yield from (repr([thing]), repr((thing,)), repr({"it": thing}), str({1: [thing]}))
    if hasattr(thing, "_repr_html_"):
        yield thing._repr_html_()
    if hasattr(thing, "_repr_mimebundle_"):
        yield from thing._repr_mimebundle_().values()


def each(things):
    return things if isinstance(things, list) else [things]
