"""The weights of the parts of an audit, and the progress that they give."""

import numpy as np
import pytest

from recveil import audit
from recveil.attacks import AttackTarget
from recveil.attacks.inference.fill_detection import effort_of_strikes
from recveil.auditing import work_estimates
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, anonymize
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.runtime import progress
from recveil.runtime.progress import listening


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(n_users=120, n_items=60, n_ratings=2_000, seed=1)


def weights_of(ratings, anonymizer, *, has_content=True):
    release = anonymizer.anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    manifest = Manifest.of(release.published)
    weights = work_estimates.of_attack(ratings, table, manifest, 8, 100, has_content=has_content)
    return table, weights


def test_the_weights_of_a_co_rated_release_grow_with_its_filled_cells(ratings):
    few, weights_of_few = weights_of(ratings, KCoRater(k=2, fill="similarity", seed=1))
    many, weights_of_many = weights_of(ratings, KCoRater(k=20, fill="similarity", seed=1))
    assert few.indices.size < many.indices.size
    for part in (work_estimates.FILLS, work_estimates.CONTENT, work_estimates.TARGETS):
        assert 0 < weights_of_few[part] < weights_of_many[part]
    for part in (work_estimates.CELLS, work_estimates.ALL_KNOWN):
        assert weights_of_few[part] == weights_of_many[part] == 0


def test_fills_are_inferred_only_with_the_content(ratings):
    _, weights = weights_of(ratings, KCoRater(k=5, seed=1), has_content=False)
    assert weights[work_estimates.FILLS] == weights[work_estimates.CONTENT] == 0


def test_full_rows_are_fitted_and_others_are_not(ratings):
    _, padded = weights_of(ratings, PredictiveAnonymizer(k=5, seed=1))
    _, simple = weights_of(ratings, PredictiveAnonymizer(k=5, homogenize="simple", seed=1))
    for part in (work_estimates.CELLS, work_estimates.HELD_OUT_CELLS):
        assert padded[part] > simple[part] == 0
    assert padded[work_estimates.FILLS] == simple[work_estimates.FILLS] == 0


def test_fills_off_the_scale_need_no_prediction(ratings):
    on, _ = weights_of(ratings, KCoRater(k=5, fill="item-mean", round_fills=True, seed=1))
    off, _ = weights_of(ratings, KCoRater(k=5, fill="item-mean", round_fills=False, seed=1))
    assert effort_of_strikes(on.candidates, ratings.scale) > 0
    assert effort_of_strikes(off.candidates, ratings.scale) == 0


def test_more_targets_weigh_more_and_a_release_counts_as_it_says(ratings):
    few, many = (
        work_estimates.of_audit(ratings, 8, n, 1, curves=True, release=5.0) for n in (10, 100)
    )
    assert many[work_estimates.TARGETS] == pytest.approx(10 * few[work_estimates.TARGETS])
    assert few[work_estimates.RELEASE] == many[work_estimates.RELEASE] == 5.0
    none = work_estimates.of_audit(ratings, 8, 10, 1, curves=False)
    assert none[work_estimates.CURVES] == none[work_estimates.RISK] == 0


@pytest.mark.parametrize("method", ["k-corating", "predictive", "sparse"])
def test_an_audit_reaches_all_of_its_work_and_never_goes_back(
    ratings, tmp_path, monkeypatch, method
):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    file, heard = tmp_path / "ratings.csv", []
    write_ratings(ratings, file)
    anonymize(file, tmp_path / "out", k=4, method=method, seed=1)
    with listening(heard.append):
        audit(file, release=tmp_path / "out", targets=20, curves=False)
    fractions = np.array([report.fraction for report in heard])
    assert fractions[-1] == 1
    assert (np.diff(fractions) >= 0).all()
    parts = {report.part for report in heard}
    inferred = {f"{work_estimates.RELEASE}: {work_estimates.FILLS}"}
    assert inferred <= parts if method == "k-corating" else not inferred & parts
    inside = [report.fraction for report in heard if report.part in inferred]
    assert len(set(inside)) > 5 or method != "k-corating"
