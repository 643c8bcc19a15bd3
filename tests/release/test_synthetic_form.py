"""What cannot be of synthetic users as recveil draws them is refused, whatever card it has."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import sample
from recveil.methods.synthetic.bounded_sums import FINE, ItemSums, item_sums
from recveil.methods.synthetic.sum_queries import SHARES
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.publish.folder import write_model
from recveil.ratings import RatingScale
from recveil.release.data_card import data_card
from recveil.release.earlier_formats import with_todays_names
from recveil.release.manifest import FORMATS, FileEntry, Manifest, to_bytes
from recveil.release.synthetic_form import errors_of_noise, queries_of, rating_levels
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

STARS = RatingScale(1, 5, 1)
# By name: epsilon, layout, and the catalogue.
MADE = {
    "users": (30.0, "users", "as-rated"),
    "model": (30.0, "model", "as-rated"),
    "chosen": (60.0, "model", None),
    "exact": (None, "model", "as-rated"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    ratings = make_ratings(300, 40, 5_000, seed=3, scale=STARS)
    for name, (epsilon, layout, catalogue) in MADE.items():
        release = Synthesizer(epsilon, item_catalog=catalogue, n_users=50).anonymize(ratings)
        release.write(folder / name, layout=layout)
    return folder


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_noise_moves_counts_and_means_as_the_card_states(epsilon):
    """By no more for 95% of the items; a user with n ratings adds one over the root of n."""
    ratings = make_ratings(900, 60, 20_000, seed=4, scale=STARS)
    within_count, within_mean = [], []
    for seed in range(6):
        made = Synthesizer(epsilon, item_catalog="as-rated", seed=seed)
        public, table = made._public(ratings)
        learnt = made.learn(table, public, table.items, table.n_users)
        noisy = learnt.measured
        errors = errors_of_noise(Manifest.of(made.published(learnt, made.drawn(learnt))).to_json())
        steps = item_sums(table, noisy.centre, noisy.spread)
        exact = ItemSums.of(steps * FINE, noisy.spread, 0.0)
        moved = np.abs(noisy.items.popularity - exact.popularity)
        within_count += (moved <= errors["count_error"]).tolist()
        # Ratings are scaled to -1 to 1, half of the range of stars.
        off = 2 * exact.off_centre / exact.popularity
        means = 2 * noisy.items.off_centre / noisy.items.popularity
        near, far = errors["mean_error"], errors["far_mean_error"]
        error = np.sqrt(near**2 + (far**2 - near**2) * (off / errors["spread"]) ** 2)
        within_mean += (np.abs(means - off) <= error / exact.popularity).tolist()
    assert np.mean(within_count) == pytest.approx(0.95, abs=0.025)
    assert np.mean(within_mean) == pytest.approx(0.95, abs=0.025)


def test_cards_state_what_noise_moves(made):
    for name, is_noisy in (("users", True), ("chosen", True), ("exact", False)):
        assert ("in 95% of releases" in (made / name / "README.md").read_text()) == is_noisy


@pytest.fixture
def copy_of(made, tmp_path):
    return lambda name: Path(shutil.copytree(made / name, tmp_path / name))


def change(folder, edit, *, card):
    """Change release.json, and sign all of it anew if the card is to be rewritten, too."""
    content = json.loads((folder / "release.json").read_text())
    edit(content)
    if card:
        number = FORMATS.index(content["format"]) + 1
        manifest = Manifest.from_json(with_todays_names(content, number))
        (folder / "README.md").write_text(data_card(manifest, manifest.ratings_file))
        for name in content["files"]:
            entry = FileEntry.of(folder / name)
            content["files"][name] = {"sha256": entry.sha256, "bytes": entry.bytes}
    (folder / "release.json").write_bytes(to_bytes(content))


def is_refused(folder):
    try:
        return not verify(folder).holds
    except RecveilError:
        return True


def settings(**changes):
    return lambda content: content["settings"].update(changes)


def query(name, **changes):
    def edit(content):
        for one in content["claim"]["ledger"]["queries"]:
            if name in ("", one["name"]):
                one |= changes

    return edit


def ledger(edit):
    return lambda content: edit(content["claim"]["ledger"])


NOTHING = {"name": "nothing", "what": "nothing", "sensitivity": 1.0, "sigma": 1e6, "values": 1}
RULES = {
    "activity that falls": settings(user_counts=[9.0, 8.0]),
    "a message": settings(user_counts=[123456.0, 42.0, 1.0]),
    "activities too many": settings(user_counts=[2.0] * 129),
    "no activity": settings(user_counts=[]),
    "nobody rates": settings(user_counts=[0.0] * 128),
    "more than there are items": settings(user_counts=[170.0] * 128),
    "more digits than are written": settings(user_counts=[2.123456789] * 128),
    "cuts too many": settings(cutpoints=[round(0.1 * n, 6) for n in range(100)]),
    "cuts that fall": settings(cutpoints=[1.0, 0.5, 0.2, 0.1]),
    "equal cuts": settings(cutpoints=[0.1] * 4),
    "one spread": settings(spreads=[1.0]),
    "no chance": settings(spreads=[0.5, 0.0]),
    "spreads below zero": settings(spreads=[-0.5, 0.5]),
    "a huge spread": settings(spreads=[0.5, 1e300]),
    "whole numbers": settings(spreads=[1, 1]),
    "numbers in a text": settings(cutpoints="1 2 3 4"),
    "a grid that is none": settings(value_step=0.37),
    "no tilts": settings(slopes=None),
    "a tilt alone": settings(slopes=1.5),
    "tilts too large": settings(slopes=[2.5], slope_spreads=[0.1]),
    "likings below zero": settings(slopes=[0.1], slope_spreads=[-0.1]),
    "zero with a sign": settings(slopes=[-0.0], slope_spreads=[0.0]),
    "more likings than tilts": settings(slopes=[0.1], slope_spreads=[0.1, 0.2]),
    "directions too many": settings(slopes=[0.1] * 65, slope_spreads=[0.1] * 65),
}
LEDGERS = {
    "a query of nothing": ledger(lambda result: result.update(queries=[NOTHING])),
    "no moments": ledger(lambda result: result["queries"].pop(5)),
    "no item sums": ledger(lambda result: result["queries"].pop(3)),
    "another order": ledger(lambda result: result["queries"].reverse()),
    "one more query": ledger(lambda result: result["queries"].append(NOTHING)),
    "people who hardly count": query("", sensitivity=0.001),
    "a person who counts more": query("moments", sensitivity=2.0),
    "other words": query("rating levels", what="p1 is alice"),
    "odd item sums": query("item sums", values=7),
    "more levels than there are": query("rating levels", values=9_999),
    "moments of no square": query("moments", values=11),
    "moments of more items": query("moments", values=41 * 42 // 2),
    "moments of one item": query("moments", values=1),
    "other bins": query("users by user count", values=3),
    "items that are chosen for nothing": settings(item_catalog="selected"),
    "all of the noise a hundred times larger": query("", sigma=1e6),
    "one query with more noise": query("moments", sigma=1e6),
    "less promised than is spent": lambda content: content["claim"].update(epsilon=300.0),
    "no query about tastes": ledger(lambda result: result["queries"].pop()),
    "other numbers of tastes": query("ratings by factor", values=12),
    "a part of delta for nothing": ledger(lambda result: result.update(threshold_delta=1e-9)),
}


@pytest.mark.parametrize("name", MADE)
def test_as_it_is_written_it_holds(made, name):
    assert verify(made / name).holds


@pytest.mark.parametrize("card", [False, True], ids=["alone", "with its card"])
@pytest.mark.parametrize("name", ["users", "model", "exact"])
@pytest.mark.parametrize("way", RULES)
def test_a_rule_that_is_none_is_refused(copy_of, name, way, card):
    folder = copy_of(name)
    change(folder, RULES[way], card=card)
    result = [violation.problem for violation in verify(folder).violations]
    assert any(problem.startswith("settings: ") for problem in result)
    with raises("release.damaged"):
        sample(folder, folder.with_name("drawn"), n_users=5)


@pytest.mark.parametrize("card", [False, True], ids=["alone", "with its card"])
@pytest.mark.parametrize("name", ["users", "model"])
@pytest.mark.parametrize("way", LEDGERS)
def test_a_ledger_of_other_queries_is_refused(copy_of, name, way, card):
    folder = copy_of(name)
    change(folder, LEDGERS[way], card=card)
    assert any("ledger" in violation.problem for violation in verify(folder).violations)


def test_a_delta_that_promises_nothing_is_refused(copy_of):
    folder = copy_of("users")
    change(folder, lambda content: content["claim"].update(delta=0.4), card=True)
    assert any("delta is 0.4" in violation.problem for violation in verify(folder).violations)


def test_what_choosing_items_takes_of_delta_is_known(copy_of):
    folder = copy_of("chosen")
    change(folder, ledger(lambda result: result.update(threshold_delta=9e-7)), card=True)
    result = [violation.problem for violation in verify(folder).violations]
    assert any("item selection takes 9e-07, expected 1e-07" in problem for problem in result)


UNCENTRED = "for each pair of items, the product of users' vectors"


@pytest.mark.parametrize(
    ("share", "changes", "holds"),
    [
        (0.6, {}, True),
        (0.3, {}, True),
        (0.45, {}, False),
        (0.3, {"what": UNCENTRED}, True),
        (0.6, {"what": UNCENTRED}, False),
        (0.3, {"what": f"{UNCENTRED}, weighted"}, False),
    ],
)
def test_only_the_splits_for_few_and_many_users_are_known(copy_of, share, changes, holds):
    folder = copy_of("users")

    def split(result):
        by_name = {each["name"]: each for each in result["queries"]}
        both = [by_name[name] for name in ("item sums", "moments")]
        whole = sum(each["sigma"] ** -2 for each in both) / 0.968
        for each, part in zip(both, (share, 0.968 - share), strict=True):
            each["sigma"] = (whole * part) ** -0.5
        by_name["moments"] |= changes

    change(folder, ledger(split), card=True)
    assert verify(folder).holds == holds


def test_an_older_format_is_no_way_around(tmp_path):
    """Neither a delta that promises nothing, nor noise that is split in another way."""
    stored = Path(__file__).parents[1] / "verification" / "format_3" / "synthetic-users"
    for edit in (
        lambda content: content["claim"].update(delta=0.3),
        query("moments", sigma=100.0),
    ):
        folder = Path(shutil.copytree(stored, tmp_path / "older"))
        assert verify(folder).holds
        change(folder, edit, card=True)
        assert is_refused(folder)
        shutil.rmtree(folder)


def test_exact_sums_of_very_few_users_are_refused(copy_of):
    folder = copy_of("exact")
    change(folder, lambda content: content.update(k=1), card=True)
    assert any("k is 1; sums" in violation.problem for violation in verify(folder).violations)


def test_embeddings_go_in_fewer_directions_than_items_have_moments(copy_of):
    """Of the smallest moments, two items, there is one direction besides popularity."""
    folder = copy_of("users")
    edits = settings(slopes=[0.1] * 40, slope_spreads=[0.1] * 40)
    change(folder, edits, card=True)
    result = [violation.problem for violation in verify(folder).violations]
    assert any("slopes have 40 factors" in problem for problem in result)


def test_items_are_not_chosen_for_nothing(copy_of):
    folder = copy_of("chosen")
    change(folder, ledger(lambda result: result.update(threshold_delta=0.0)), card=True)
    result = [violation.problem for violation in verify(folder).violations]
    assert any(
        "threshold_delta of its ledger is 0, but the item_catalog is 'selected'" in problem
        for problem in result
    )


# Numbers that a rule could have, or that the card does not show: the card's digest reports.
QUIET = {
    "activity": lambda content: content["settings"].update(
        user_counts=sorted(content["settings"]["user_counts"][64:] * 2)
    ),
    "cuts": lambda content: content["settings"]["cutpoints"].__setitem__(0, -2.5),
    "spreads": settings(spreads=[0.3, 0.3]),
    "scale": lambda content: content["scale"].update(low=0.0, high=4.0),
    "a wider scale": lambda content: content["scale"].update(high=10.0),
    "more noise": query("moments", sigma=1e3),
}


@pytest.mark.parametrize("name", ["users", "model"])
@pytest.mark.parametrize("way", QUIET)
def test_what_the_card_does_not_show_it_binds(copy_of, name, way):
    folder = copy_of(name)
    change(folder, QUIET[way], card=False)
    places = {violation.where for violation in verify(folder).violations}
    assert places & {"README.md", "release.json"}


def with_many_embeddings(table):
    """More columns than users have embeddings: anything could be written there."""
    for place in range(len(table.column_names), 200):
        numbers = np.random.default_rng(place).normal(size=table.num_rows).astype(np.float32)
        table = table.append_column(f"factor_{place - 3}", pa.array(numbers))
    return table


def test_a_model_of_nothing_is_no_model(copy_of):
    for edit in (
        lambda table: table.slice(0, 0),
        lambda table: table.select([0, 1, 2]),
        lambda table: table.set_column(
            1, "offset", pa.array(np.full(table.num_rows, 3e38, np.float32))
        ),
        with_many_embeddings,
    ):
        folder = copy_of("model")
        table = edit(pq.read_table(folder / "model.parquet"))
        write_model(table, folder / "model.parquet")
        n_items = table.num_rows
        change(folder, lambda content, n=n_items: content["counts"].update(items=n), card=True)
        assert is_refused(folder)
        shutil.rmtree(folder)


def test_every_query_that_is_asked_stands_in_the_form():
    assert [query.name for query in queries_of(likes=False)] == list(SHARES)


@given(
    low=st.integers(-5, 5), steps=st.integers(1, 60), step=st.sampled_from([0.5, 1.0, 0.1, None])
)
def test_there_is_a_cut_between_two_levels(low, steps, step):
    assume(steps != 21)  # 2:4.1:0.1 has a bit less than 21 steps, as numbers are rounded
    scale = RatingScale(low, low + steps * (step or 1.0), step)
    levels = rating_levels(scale)
    assert levels.size == (min(steps + 1, 21) if step and steps < 21 else 21)
    assert (levels[0], levels[-1]) == pytest.approx((scale.low, scale.high))
