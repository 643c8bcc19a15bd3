import numpy as np

from recveil.attacks.inference.fills import _regress, fit_weighted


def test_a_regression_is_a_ridge_regression_of_each_row():
    rng = np.random.default_rng(0)
    weights, targets, factors = rng.random((3, 9)), rng.normal(size=(3, 9)), rng.normal(size=(9, 2))
    found = _regress(weights, weights * targets, factors)
    for row in range(3):
        normal = factors.T @ np.diag(weights[row]) @ factors + 4 * np.eye(2)
        expected = np.linalg.solve(normal, factors.T @ (weights[row] * targets[row]))
        assert np.allclose(found[row], expected)


def test_cells_that_do_not_count_do_not_matter():
    rng = np.random.default_rng(1)
    table, weights = rng.normal(size=(20, 15)), (rng.random((20, 15)) < 0.5).astype(float)
    changed = np.where(weights > 0, table, 1e6)
    for one, other in zip(
        fit_weighted(table, weights), fit_weighted(changed, weights), strict=True
    ):
        assert np.allclose(one, other, rtol=1e-6)


def test_an_empty_table_is_fitted_by_nothing():
    base, fitted = fit_weighted(np.zeros((4, 3)), np.zeros((4, 3)))
    assert not base.any()
    assert not fitted.any()
