"""What the fast and the slow tests of `test_comparison_page.py` share."""

import html
import json
import re

import pytest

from recveil.comparison import Row
from recveil.comparison.results import Comparison
from recveil.io import Reading
from recveil.release.registry import all_variants

VARIANTS = all_variants()


def rows():
    """Three methods of k, two baselines, a failure, and one that the attacks cannot undo."""
    made = []
    for place, name in enumerate(("padded", "simple", "k-corating-item-mean")):
        promise = VARIANTS[name][1].about_claim.promise
        for k in (2, 5, 50):
            risk = (0.9 if promise == "co-rated" else (0.6 + place / 10) / k) + 0.0012
            made.append(finished(name, k, promise, risk, 0.9 - k / 100 + place / 50))
    made.append(finished("raw", None, "nothing", 0.987, 1.0))
    made.append(finished("random-values", None, "nothing", 0.4, -7.35))
    made.append(finished("rotation", None, "nothing", None, 0.2))
    made.append(Row("simple", 999, "k-anonymity", "300 users <cannot> form a group of k = 999"))
    return made


def finished(method, k, promise, risk, gain):
    row = Row(
        method,
        k,
        promise,
        None,
        targets=300,
        targets_attacked=300,
        most_targets_attacked=300,
    )
    row = row._replace(
        gain_retained=gain, gain_retained_low=gain - 0.04, gain_retained_high=gain + 0.05
    )
    row = row._replace(is_gain_reliable=True, is_ndcg_reliable=True, ndcg_retained=gain + 0.1)
    row = row._replace(best_rmse=0.95 - 0.06 * gain, best_ndcg=0.11, best_gain_retained=gain + 0.1)
    row = row._replace(target_rmse_present=1.17, target_rmse=2.74, target_absent=0.54)
    row = row._replace(rmse=0.96 - 0.06 * gain, ndcg=0.1, recall=0.05, seconds=1.5)
    row = row._replace(order_tau=0.8, popularity_correlation=0.7, item_mean_rmse=0.1, mae=0.7)
    if promise == "k-anonymity":
        row = row._replace(bound=1 / k, verified_k=k)
    if risk is None:
        return row
    return row._replace(
        **{
            "risk_by": "insider",
            "attack": "nearest",
            "class_reidentified": risk,
            "membership_auc": 0.6,
        },
        **{"risk": risk, "risk_low": 0.8 * risk, "risk_high": min(1.0, 1.2 * risk)},
    )


def compared(invented, **question):
    raw = {"rmse": 0.9, "ndcg@10": 0.12, "ranker": "popularity"}
    gain = {"value": 0.06, "low": 0.04, "high": 0.08, "is_reliable": True}
    reference = {"raw": raw, "averages": {"rmse": 0.96}, "raw_gain": gain, "raw_lists": gain}
    shared = {"split": 0.2, "seed": 3, "targets": 1000, "computed": 0, "reference": reference}
    return Comparison(reading=Reading(invented, "u.data"), rows=rows(), **shared, **question)


@pytest.fixture(scope="module")
def comparison(invented):
    return compared(invented, max_risk=0.15)


@pytest.fixture(scope="module")
def result(comparison):
    return json.loads(json.dumps(comparison.to_dict(), allow_nan=False))


@pytest.fixture(scope="module")
def page(comparison):
    return comparison.to_html()


def text_of(page):
    body = page[page.index("<body>") :]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
