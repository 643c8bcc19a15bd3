"""Settings that no method publishes together are refused, whatever else was made to fit."""

import itertools
import json
import shutil
from pathlib import Path

import independent
import independent_form
import pytest
from forging import forge
from independent_form import in_names_of_8

from recveil import anonymize
from recveil.datasets import make_ratings
from recveil.release.registry import all_methods, find_method
from recveil.release.settings import problems_of_settings
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

RATINGS = make_ratings(60, 16, 400, seed=1)
LIKES = RATINGS.as_likes()
MORE = make_ratings(200, 30, 2500, seed=1)
# For each kind of release, its table, and how it is made.
KINDS = {
    "padded": (RATINGS, {"k": 5, "method": "predictive"}),
    "predicted": (RATINGS, {"k": 5, "method": "predictive", "values": "predicted"}),
    "partly-padded": (RATINGS, {"k": 5, "method": "predictive", "padding": 0.4}),
    "simple": (RATINGS, {"k": 5, "method": "predictive", "homogenize": "simple"}),
    "levels": (RATINGS, {"k": 5, "method": "predictive", "privacy_levels": "activity<7:3,else:5"}),
    "hidden": (
        RATINGS,
        {"k": 5, "method": "predictive", "homogenize": "simple", "hide_items": True},
    ),
    "sparse": (RATINGS, {"k": 5, "method": "sparse"}),
    "sparse-likes": (LIKES, {"k": 5, "method": "sparse"}),
    "co-rated": (RATINGS, {"k": 5, "method": "k-corating"}),
    "co-rated-trust": (RATINGS, {"k": 5, "method": "k-corating", "fill": "trust"}),
    "co-rated-mean": (RATINGS, {"k": 5, "method": "k-corating", "protect": "mean"}),
    "co-rated-likes": (LIKES, {"k": 5, "method": "k-corating"}),
    "synthetic": (MORE, {"epsilon": 20.0, "item_catalog": "as-rated"}),
    "synthetic-model": (MORE, {"epsilon": 20.0, "item_catalog": "as-rated", "layout": "model"}),
    "synthetic-likes": (MORE.as_likes(), {"epsilon": 20.0, "item_catalog": "as-rated"}),
}
# What may be added or left out together: the maker can publish both forms of the same rows.
ALLOWED = {
    "padded": {("+values", "+values_below_k")},
    "predicted": {("-values", "-values_below_k")},
    # The ratings behind means are not published, nor which neighbours a fill came from. A table's
    # own ids can be pseudonyms of an earlier release.
    "simple": {("+closeness",)},
    "hidden": {("-items",), ("+closeness",), ("-items", "+closeness")},
    "co-rated-trust": {
        names
        for n in (1, 2)
        for names in itertools.combinations(("+neighbours", "+direct_weights", "+trust_steps"), n)
    },
    # A model does not show whether it was fitted with public item features.
    # A model does not show whose sums it was fitted to, either.
    **{
        key: {("+item_features",), ("+cohort",), ("+item_features", "+cohort")}
        for key in ("synthetic", "synthetic-model", "synthetic-likes")
    },
}
NUMBERS = {"any_step": 0.1, "any_share": 0.0, "any_numbers": [1.0, 2.0]}
NUMBERS["any_cohort"] = ":2026-01-31"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("settings")
    for kind, (table, options) in KINDS.items():
        anonymize(table, folder / kind, **options)
    return folder


@pytest.fixture
def copy_of(made, tmp_path):
    return lambda kind: Path(shutil.copytree(made / kind, tmp_path / kind))


def _settings(folder: Path) -> dict:
    return json.loads((folder / "release.json").read_text())["settings"]


def _values() -> dict[str, object]:
    """Return a value of each setting of any method but its name."""
    found = {"items": "pseudonyms", "counts": "log"}
    for method in all_methods():
        for setting in method.settings if method.card else ():
            number = next((NUMBERS[kind] for kind in NUMBERS if getattr(setting, kind)), None)
            found.setdefault(setting.name, [*setting.allowed, *setting.within[:1], number][0])
    del found["method"]
    return {name: 0.1 if value is None else value for name, value in found.items()}


def _changes(settings: dict) -> list[tuple[tuple[str, ...], dict]]:
    """Return each way to add or leave out up to two settings, and what results."""
    values = _values()
    steps = [("-" if name in settings else "+") + name for name in values]
    ways = [*((step,) for step in steps), *itertools.combinations(steps, 2)]
    found = []
    for way in ways:
        names = [step[1:] for step in way]
        changed = {name: value for name, value in settings.items() if name not in names}
        changed |= {step[1:]: values[step[1:]] for step in way if step[0] == "+"}
        method = find_method(changed)
        order = [setting.name for setting in method.expected(changed)]
        changed = dict(sorted(changed.items(), key=lambda pair: [*order, pair[0]].index(pair[0])))
        found.append((way, changed))
    return found


def _second_checker(forged: dict) -> list[str]:
    try:
        return list(independent_form.problems_of_settings(in_names_of_8(forged)))
    except (KeyError, TypeError, ValueError) as error:
        return [repr(error)]


def _is_refused(folder: Path) -> bool:
    try:
        return not verify(folder).holds
    except RecveilError:
        return True


@pytest.mark.parametrize("kind", KINDS)
def test_no_setting_can_be_added_or_left_out(copy_of, kind):
    folder = copy_of(kind)
    assert verify(folder).holds
    settings, held = _settings(folder), set()
    result = json.loads((folder / "release.json").read_text())
    for way, changed in _changes(settings):
        forged = result | {"settings": changed}
        is_wrong = bool(list(problems_of_settings(forged)))
        assert is_wrong == bool(_second_checker(forged)), way
        if is_wrong:
            continue
        forge(folder, lambda each, new=changed: each.update(settings=new))
        if not _is_refused(folder):
            held.add(way)
    assert held == ALLOWED.get(kind, set())


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("levels", {"grouping": "KGather"}),
        ("sparse", {"value_step": 0.2}),
        ("co-rated", {"fill": "random, with parameters of its own"}),
        ("co-rated-mean", {"value_step": 0.5}),
        ("co-rated-likes", {"grouping": "mdav"}),
        ("padded", {"predictor": "ALS"}),
        ("padded", {"padding": 1.0}),
        ("padded", {"padding": 0.0}),
        ("simple", {"padding": 0.4}),
        ("predicted", {"padding": 0.4}),
        ("padded", {"grouping": "KGatherInBins"}),
        ("padded", {"grouping": "LevelGather"}),
        ("padded", {"grouping": "BisectingOneKGather"}),
        ("levels", {"predictor": "ALS", "grouping": "KGatherInBins"}),
        ("predicted", {"predictor": "ALS", "grouping": "KGatherInBins"}),
        ("hidden", {"predictor": "ALS", "grouping": "KGatherInBins"}),
        ("synthetic", {"omitted_share": 1.0}),
        ("synthetic", {"omitted_share": 0.12345}),
        ("synthetic", {"cutpoints": [6.0, 7.0, 8.0, 9.0]}),
        ("synthetic", {"cutpoints": [-9.0, -8.0, -7.0, -6.0]}),
        ("synthetic-likes", {"omitted_share": 0.995}),
    ],
)
def test_no_setting_has_a_value_that_the_others_rule_out(copy_of, kind, changes):
    folder = copy_of(kind)
    forge(folder, lambda result: result["settings"].update(changes))
    assert _is_refused(folder)
    assert _second_checker(json.loads((folder / "release.json").read_text()))


def _at_the_median(result):
    counts = result["settings"]["user_counts"]
    counts[1:-1] = [counts[64]] * 126


@pytest.mark.parametrize("number", [1.0, 30.0, None], ids=["1", "30", "shortest and longest"])
def test_user_counts_are_those_of_the_records(copy_of, number):
    folder = copy_of("synthetic")
    if number is None:
        forge(folder, _at_the_median)
    else:
        forge(folder, lambda result: result["settings"].update(user_counts=[number] * 128))
    assert _is_refused(folder)
    assert list(independent.problems(folder))


UNROUNDED = {"k": 5, "method": "k-corating", "round_fills": False}
# Settings that nothing in release.json rules out, but the values do.
REFUTED = [
    ({"k": 5, "method": "predictive", "values": "predicted"}, {"predictor": "ItemMean"}),
    (UNROUNDED | {"fill": "funk-svd"}, {"fill": "random"}),
    (UNROUNDED | {"fill": "funk-svd"}, {"fill": "item-mean"}),
    (UNROUNDED | {"fill": "similarity", "protect": "shuffle"}, {"fill": "item-mean"}),
    (UNROUNDED | {"fill": "item-mean"}, {"fill": "random"}),
    (UNROUNDED | {"fill": "funk-svd", "protect": "mean", "k": 2}, {"round_fills": True}),
    (UNROUNDED | {"fill": "funk-svd", "protect": "mean", "k": 2}, {"fill": "random"}),
    ({"epsilon": "none", "n_users": 50}, {"n_users": "counted"}),
]


@pytest.mark.parametrize(("options", "lie"), REFUTED)
@pytest.mark.parametrize("layout", ["users", "groups"])
def test_no_setting_has_a_value_that_the_rows_rule_out(tmp_path, options, lie, layout):
    if "epsilon" in options and layout == "groups":
        return
    folder = tmp_path / "made"
    assert anonymize(RATINGS, folder, layout=layout, seed=1, **options).verification.holds
    assert not list(independent.problems(folder))
    forge(folder, lambda result: result["settings"].update(lie))
    assert not list(problems_of_settings(json.loads((folder / "release.json").read_text()))) or (
        "epsilon" in options
    )
    assert _is_refused(folder)
    assert list(independent.problems(folder))


def test_fills_in_other_blocks_are_compared(monkeypatch, tmp_path):
    monkeypatch.setattr("recveil.verification.published_file._ROWS_AT_ONCE", 20)
    options = UNROUNDED | {"fill": "item-mean"}
    assert anonymize(RATINGS, tmp_path / "made", seed=1, **options).verification.holds


def test_padded_rows_are_no_simple_ones(copy_of):
    folder = copy_of("padded")
    forge(folder, lambda result: result["settings"].update(homogenize="simple"))
    assert _is_refused(folder)
    assert list(independent.problems(folder))


@pytest.mark.parametrize(
    "change",
    [
        {"scale": {"low": 3.0, "high": 3.0, "step": 1.0}},
        {
            "settings": {
                "method": "nominal labels",
                "homogenize": "commonest",
                "grouping": "KGather",
            }
        },
    ],
)
def test_no_scale_is_that_of_other_ratings(made, change):
    result = json.loads((made / "co-rated" / "release.json").read_text())
    assert not list(problems_of_settings(result))
    forged = result | {"claim": "identical-rows"} | change
    if "settings" not in change:
        forged["claim"] = result["claim"]
    assert list(problems_of_settings(forged))
    assert _second_checker(forged)
