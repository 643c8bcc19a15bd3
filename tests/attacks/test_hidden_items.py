import numpy as np

from error_assertions import raises
from recveil.attacks import PRESETS, AttackTarget
from recveil.attacks.reidentification.hidden_items import (
    Catalogue,
    _with_item_ids,
    attack_hidden_items,
)
from recveil.datasets import make_ratings
from recveil.methods.registry import make_variant
from recveil.ratings import Ratings
from recveil.report.audit.disclosure import describe_hidden_items
from shared.attacks_hidden_items import (
    FIRST,
    attacked,
    raw,  # noqa: F401 (fixtures)
)


def test_planted_users_are_found_with_the_names(raw):
    (found,) = raw.attacks
    assert found.reidentified.low > found.control.high
    assert found.reidentified.low > found.by_rank.high
    assert found.names_known.rate >= found.reidentified.rate


def test_names_that_are_dealt_anew_find_no_user(raw):
    (found,) = raw.attacks
    assert found.control.low < 0.05


def test_known_items_help_and_do_not_count(raw):
    assert raw.with_known["all"].trials == raw.named["all"].trials - 16


def test_own_users_stand_in_and_are_not_looked_for():
    result = attacked(make_variant("simple", 5, 1))
    assert result.catalogue.is_half_of_users
    assert result.attacks[0].reidentified.trials == FIRST.n_users - FIRST.n_users // 2


def test_half_of_the_users_name_the_items_of_sparse_rows():
    """Their own ratings name items by counts and means; a sparse release of them names few."""
    ratings = make_ratings(n_users=1000, n_items=100, n_ratings=20_000, seed=5)
    found = attacked(make_variant("sparse", 5, 1), ratings)
    assert not found.shadow
    assert found.named["50"].rate > 0.8
    assert found.named["all"].rate > 0.5 > found.by_rank["all"].rate


def test_a_catalogue_of_other_things_is_refused():
    other = Ratings.from_columns([1, 2], ["spoon", "fork"], [3, 4])
    with raises("id.unknown") as caught:
        attacked(make_variant("simple", 5, 1), catalogue=Catalogue(other, "cutlery"))
    assert "2 items" in str(caught.value)


def test_true_names_leave_a_release_as_it_is():
    release = make_variant("simple", 5, 1).anonymize(FIRST)
    table = AttackTarget.from_release(release, FIRST)
    same = _with_item_ids(table, np.arange(FIRST.n_items), FIRST)
    for name in ("indptr", "indices", "values"):
        assert np.array_equal(getattr(same, name), getattr(table, name))


def test_items_without_a_name_are_left_out():
    release = make_variant("simple", 5, 1).anonymize(FIRST)
    table = AttackTarget.from_release(release, FIRST)
    names = np.full(FIRST.n_items, -1)
    names[7] = 3
    read = _with_item_ids(table, names, FIRST)
    assert set(read.indices.tolist()) == {3}
    assert read.values.tolist() == table.values[table.indices == 7].tolist()


def test_the_verdict_does_not_reassure(raw):
    stated = " ".join(describe_hidden_items(raw))
    assert "do not count on hidden items" in stated
    assert "with the others as the public table" in stated


def test_presets_are_looked_for_each():
    anonymizer = make_variant("simple", 5, 1)
    table = AttackTarget.from_release(anonymizer.anonymize(FIRST), FIRST)
    adversaries = [PRESETS[name].without_dates() for name in ("public-profile", "bystander")]
    result = attack_hidden_items(FIRST, table, adversaries, np.arange(50))
    assert [found.adversary for found in result.attacks] == ["public-profile", "bystander"]
