"""k alone makes sparse rows; every other method is chosen by name."""

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize, dry_run
from recveil.methods.registry import method_names
from recveil.ratings import Ratings, RatingScale

RATINGS = make_ratings(60, 30, 900, seed=1, scale=RatingScale(1, 5, 1))
FEW = make_ratings(12, 10, 60, seed=1, scale=RatingScale(1, 5, 1))
# An option of each other method, with the methods that its error names.
OPTIONS = [
    ({"homogenize": "simple"}, ["predictive"]),
    ({"predictor": "item-mean"}, ["predictive"]),
    ({"grouping": "mdav"}, ["predictive", "k-corating", "nominal"]),
    ({"grouping": "supports"}, ["k-corating"]),
    ({"privacy_levels": "5"}, ["predictive"]),
    ({"l": 2}, ["predictive", "k-corating"]),
    ({"round_values": "scale"}, ["predictive"]),
    ({"homogenize": "shares"}, ["nominal"]),
    ({"homogenize": "nonsense"}, ["predictive", "nominal"]),
    ({"fill": "random", "trust": "trust.csv"}, ["k-corating"]),
    ({"l": 2, "fill": "random"}, ["k-corating"]),
]


def methods_named(error):
    return [name for name in method_names() if f"--method {name}" in str(error)]


def test_the_library_makes_sparse_rows(tmp_path):
    made = anonymize(RATINGS, tmp_path / "out", k=5, seed=1)
    assert made.release.published.settings["method"] == "sparse rows"
    assert made.verification.holds
    assert dry_run(RATINGS, tmp_path / "dry", k=5).method.name == "sparse"


@pytest.mark.parametrize("has_settings", [False, True])
def test_the_command_makes_sparse_rows(tmp_path, monkeypatch, has_settings):
    monkeypatch.chdir(tmp_path)
    write_ratings(RATINGS, "ratings.csv")
    (tmp_path / "some.toml").write_text("[anonymize]\nk = 5\n")
    given = ["--config", "some.toml"] if has_settings else ["--k", "5"]
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "ratings.csv", "-o", "out", *given])
    assert not ended.value.code
    assert '"method": "sparse rows"' in (tmp_path / "out" / "release.json").read_text()


@pytest.mark.parametrize(("options", "names"), OPTIONS, ids=str)
def test_an_option_of_another_method_names_it(tmp_path, options, names):
    for function in (anonymize, dry_run):
        with raises("option.unsupported", next(iter(options))) as error:
            function(RATINGS, tmp_path / "out", k=5, **options)
        assert methods_named(error.value) == names
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("table", "name"), [(FEW, "predictive"), (FEW.as_likes(), "k-corating")], ids=str
)
def test_a_table_that_is_too_small_gets_a_remedy_that_works(tmp_path, table, name):
    estimates = []
    with raises("table.too-few-users", 12, 20) as error:
        anonymize(table, tmp_path / "out", k=3, on_estimate=estimates.append)
    assert not estimates
    assert name in methods_named(error.value)
    assert anonymize(table, tmp_path / "out", k=3, method=name).verification.holds


def test_rare_items_alone_get_a_remedy_that_works(tmp_path):
    users, values = [*range(30)] * 3, [1, 2, 3, 4, 5] * 18
    items = ["abcdefghij"[n // 10] + "abcdefghij"[n % 10] for n in range(90)]
    table = Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))
    with raises("table.too-few-ratings") as error:
        anonymize(table, tmp_path / "out", k=3)
    assert "predictive" in methods_named(error.value)
    with raises("table.too-few-ratings", "even with allow_sparse_coverage"):
        anonymize(table, tmp_path / "out", k=3, method="sparse", allow_sparse_coverage=True)
    assert anonymize(table, tmp_path / "out", k=3, method="predictive").verification.holds


def test_nominal_labels_name_their_method(tmp_path):
    labels = RATINGS.with_scale(RatingScale.of_labels("a,b,c,d,e", ordered=False))
    with raises("table.kind") as error:
        anonymize(labels, tmp_path / "out", k=5)
    assert methods_named(error.value) == ["nominal"]
    assert anonymize(labels, tmp_path / "out", k=5, method="nominal").verification.holds
