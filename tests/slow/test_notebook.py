"""What a notebook shows of results: tables and charts, of shares and verdicts alone."""

import pytest

from shared.notebook import (
    Cells,
    results,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


class TestTables:
    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("audit", ["adversary", "control", "in the release", "colleague"]),
            ("audit of a table", ["adversary", "control", "colleague"]),
            ("comparison", ["setting", "lists retained", "padded, k = 3"]),
            ("evaluated", ["recommender", "RMSE raw", "release"]),
            ("release", ["layout", "values"]),
        ],
    )
    def test_say_what_was_found(self, results, name, texts):
        cells = Cells(results[name]._repr_html_())
        assert cells.tags <= {"table", "caption", "tr", "th", "td"}
        assert set(texts) <= set(cells.texts), cells.texts
