"""Every answer passes once, with the noise that the ledger says, on its grid."""

import math
import tracemalloc
from typing import ClassVar

import numpy as np
import pytest

from error_assertions import raises
from recveil.methods.synthetic import gaussian_mechanism as mechanism_module
from recveil.methods.synthetic.gaussian_mechanism import Mechanism, threshold
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.synthesizer import Budget
from recveil.release.ledger import Query

GRID = 2.0**-10
WHAT = "which items are rated together"


def repeatable(seed=7, **sigmas) -> Mechanism:
    return Mechanism(NoiseSource.repeatable(seed), sigmas or {"moments": 4.0})


def sums(*shape) -> np.ndarray:
    return np.random.default_rng(1).integers(-(2**20), 2**20, shape)


class TestMeasure:
    def test_the_exact_answer_and_noise_on_the_grid(self):
        exact = sums(30, 7)
        result = repeatable().measure("moments", WHAT, exact, GRID)
        assert result.shape == (30, 7)
        steps = result / GRID
        assert (steps == np.rint(steps)).all()
        assert 0 < np.abs(result - exact * GRID).max() < 30

    @pytest.mark.parametrize("sensitivity", [0.5, 1.0, 3.0])
    def test_so_much_noise_as_the_ledger_says(self, sensitivity):
        mechanism = repeatable()
        exact = sums(300_000)
        result = mechanism.measure("moments", WHAT, exact, GRID, sensitivity)
        (query,) = mechanism.ledger().queries
        assert query == Query("moments", WHAT, sensitivity, 4.0 * sensitivity, 300_000)
        assert np.std(result - exact * GRID) == pytest.approx(query.sigma, rel=0.01)

    def test_tiles_are_one_after_the_other(self):
        """What one tile holds does not depend on how many follow."""
        short = repeatable().measure("moments", WHAT, np.zeros(2**16, np.int64), GRID)
        long = repeatable().measure("moments", WHAT, np.zeros(2**16 + 5, np.int64), GRID)
        assert (long[: 2**16] == short).all()
        assert not set(long[-5:]) & set(short[:5])

    def test_two_queries_have_different_noise(self):
        mechanism = repeatable(one=4.0, other=4.0)
        zeros = np.zeros(1_000, np.int64)
        answers = [mechanism.measure(name, WHAT, zeros, GRID) for name in ("one", "other")]
        assert abs(np.corrcoef(answers)[0, 1]) < 0.15

    def test_two_mechanisms_of_one_source_have_different_noise(self):
        source = NoiseSource.repeatable(7)
        zeros = np.zeros(1_000, np.int64)
        answers = [
            Mechanism(source, {"moments": 4.0}).measure("moments", WHAT, zeros, GRID)
            for _ in range(2)
        ]
        assert abs(np.corrcoef(answers)[0, 1]) < 0.15

    def test_the_answer_itself_is_left_alone(self):
        exact = sums(9)
        repeatable().measure("moments", WHAT, exact, GRID)
        assert (exact == sums(9)).all()


class TestMeasureSymmetric:
    @pytest.mark.parametrize("n", [1, 2, 7, 300])
    def test_symmetric_on_the_grid_around_the_exact_one(self, n):
        exact = sums(n, n)
        exact = np.triu(exact) + np.triu(exact, 1).T
        result = repeatable().measure_symmetric("moments", WHAT, exact.copy(), GRID)
        assert (result == result.T).all()
        assert (result / GRID == np.rint(result / GRID)).all()
        assert 0 < np.abs(result - exact * GRID).max() < 30

    @pytest.mark.parametrize("cells", [64, 900, 2**18])
    def test_any_tiles_read_each_cell_before_it_is_overwritten(self, cells, monkeypatch):
        monkeypatch.setattr(mechanism_module, "_CELLS_OF_A_TILE", cells)
        exact = sums(90, 90) * 1_000
        result = repeatable(moments=1e-9).measure_symmetric("moments", WHAT, exact.copy(), 1.0)
        assert (result == np.triu(exact) + np.triu(exact, 1).T).all()

    def test_noise_of_the_vector_that_is_published(self):
        mechanism = repeatable()
        result = mechanism.measure_symmetric("moments", WHAT, np.zeros((900, 900), np.int64), GRID)
        above = result[np.triu_indices(900, 1)]
        assert np.std(above) == pytest.approx(4 / math.sqrt(2), rel=0.01)
        assert np.std(np.diagonal(result)) == pytest.approx(4, rel=0.1)
        assert mechanism.ledger().queries[0].values == 900 * 901 // 2

    def test_all_cells_have_noise_of_their_own(self):
        result = repeatable().measure_symmetric("moments", WHAT, np.zeros((40, 40), np.int64), GRID)
        assert np.unique(result[np.triu_indices(40)]).size > 700
        lines = np.where(np.eye(40, dtype=bool), 0, result)
        assert np.abs(np.corrcoef(lines)[np.triu_indices(40, 1)]).max() < 0.7

    def test_below_the_diagonal_nothing_is_read(self):
        exact = sums(50, 50)
        result = [
            repeatable().measure_symmetric("moments", WHAT, part(exact), GRID)
            for part in (np.array, np.triu)
        ]
        assert (result[0] == result[1]).all()

    def test_no_exact_one_is_left(self):
        exact = sums(50, 50)
        result = repeatable().measure_symmetric("moments", WHAT, exact, GRID)
        assert np.shares_memory(result, exact)
        assert (exact.view(np.float64) == result).all()

    def test_no_second_copy_is_made(self):
        exact = sums(2_000, 2_000)
        tracemalloc.start()
        repeatable().measure_symmetric("moments", WHAT, exact, GRID)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert highest < exact.nbytes / 2

    @pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 2, 2)])
    def test_what_is_not_square_is_refused(self, shape):
        with raises("argument.shape"):
            repeatable().measure_symmetric("moments", WHAT, np.zeros(shape, np.int64), GRID)

    def test_what_cannot_be_written_is_refused(self):
        exact = np.zeros((3, 3), np.int64)
        exact.flags.writeable = False
        with raises("argument.shape"):
            repeatable().measure_symmetric("moments", WHAT, exact, GRID)


class TestMeasureItems:
    OPTIONS: ClassVar = {"delta": 1e-6, "most_items": 100}

    def sums(self):
        popularity = np.array([500, 0, 3, 900, 1]) * 1_024
        return np.column_stack([popularity, -popularity])

    def test_popular_items_alone_are_published(self):
        mechanism = repeatable()
        items, result = mechanism.measure_items("moments", WHAT, self.sums(), GRID, **self.OPTIONS)
        assert items.tolist() == [0, 3]
        assert result == pytest.approx(np.array([[500, -500], [900, -900]]), abs=20)

    def test_the_ledger_does_not_reveal_how_many_items_there_are(self):
        mechanism = repeatable()
        mechanism.measure_items("moments", WHAT, self.sums(), GRID, **self.OPTIONS)
        ledger = mechanism.ledger()
        assert ledger.queries[0].values == 4
        assert ledger.threshold_delta == 1e-6

    def test_an_item_at_the_threshold_is_named(self):
        height = math.ceil(threshold(1e-8, 1e-6, 100, grid=GRID) / GRID)
        exact = np.array([[height], [height - 1]])
        items, result = repeatable(moments=1e-8).measure_items(
            "moments", WHAT, exact, GRID, **self.OPTIONS
        )
        assert items.tolist() == [0]
        assert result.tolist() == [[height * GRID]]

    def test_nothing_is_published_where_no_item_is_popular(self):
        mechanism = repeatable()
        with raises("budget.too-small"):
            mechanism.measure_items("moments", WHAT, self.sums() // 1_000, GRID, **self.OPTIONS)
        assert mechanism.ledger().queries[0].values == 1
        assert mechanism.ledger().threshold_delta == 1e-6  # that, too, was published

    def test_what_is_no_row_an_item_is_refused(self):
        with raises("argument.shape"):
            repeatable().measure_items("moments", WHAT, sums(5), GRID, **self.OPTIONS)


class TestRefused:
    def test_what_has_no_budget(self):
        with raises("budget.spent") as caught:
            repeatable().measure("ages", WHAT, sums(3), GRID)
        assert "'ages'" in str(caught.value)

    def test_what_was_asked_before(self):
        mechanism = repeatable()
        mechanism.measure("moments", WHAT, sums(3), GRID)
        with raises("budget.spent"):
            mechanism.measure_symmetric("moments", WHAT, sums(3, 3), GRID)

    def test_sums_of_floating_point_numbers(self):
        with raises("argument.type") as caught:
            repeatable().measure("moments", WHAT, np.zeros(3), GRID)
        assert "float64" in str(caught.value)

    @pytest.mark.parametrize("grid", [0.1, 3.0, 0.0, -0.5, math.inf, math.nan, 1, "1", None])
    def test_a_grid_that_is_no_power_of_two(self, grid):
        with raises("argument.value") as caught:
            repeatable().measure("moments", WHAT, sums(3), grid)
        assert "grid" in str(caught.value)

    def test_a_grid_that_is_too_fine(self):
        with raises("argument.value"):
            repeatable().measure("moments", WHAT, sums(3), 2.0**-29)
        with raises("argument.value"):
            repeatable().measure("moments", WHAT, np.array([-(2**62)]), GRID)

    @pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.inf, math.nan])
    def test_a_sensitivity_that_bounds_nothing(self, sensitivity):
        with raises("argument.value", "moments", sensitivity):
            repeatable().measure("moments", WHAT, sums(3), GRID, sensitivity)

    def test_what_was_refused_costs_nothing(self):
        mechanism = repeatable()
        with raises("argument.value"):
            mechanism.measure("moments", WHAT, sums(3), 0.1)
        mechanism.measure("moments", WHAT, sums(3), GRID)
        assert len(mechanism.ledger().queries) == 1


def test_whatever_the_sensitivities_the_ledger_keeps_the_budget():
    sigmas = Budget.of(3.0, 1e-6, threshold_delta=2e-7).sigmas({"counts": 1, "moments": 5})
    mechanism = Mechanism(NoiseSource.repeatable(7), sigmas)
    options = {"delta": 2e-7, "most_items": 9, "sensitivity": math.sqrt(2)}
    mechanism.measure_items("counts", "how many", abs(sums(30, 2)), GRID, **options)
    mechanism.measure_symmetric("moments", WHAT, sums(3, 3), GRID, sensitivity=0.3)
    assert mechanism.ledger().epsilon(1e-6) == pytest.approx(3.0, rel=1e-6)
    assert mechanism.ledger().epsilon(1e-6) <= 3.0


def test_it_says_whether_its_noise_can_be_taken_off():
    assert Mechanism(NoiseSource.secret(), {}).is_secret
    assert not repeatable().is_secret
