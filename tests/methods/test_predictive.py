import numpy as np
import pytest
from sklearn.cluster import KMeans

from error_assertions import raises
from recveil.clustering import BisectingKGather, BoundedTMeans
from recveil.methods import PredictiveAnonymizer
from recveil.methods.registry import same_again
from recveil.predict import FunkSVD, ItemMean, UserKNN
from recveil.release.exact_ratings import count_exact_ratings
from recveil.release.manifest import Manifest


def _groups_of(release) -> np.ndarray:
    groups = release.private.groups
    labels = np.empty(groups.members.size, int)
    labels[groups.members] = np.repeat(np.arange(groups.sizes.size), groups.sizes)
    return labels


def test_two_blocks_are_never_mixed(two_blocks, fans_of_two_blocks):
    for grouping in ("k-gather", "bisecting", "predictive", "bounded-t-means", "mhm", "r-gather"):
        for seed in range(5):
            anonymizer = PredictiveAnonymizer(3, grouping=grouping, seed=seed)
            labels = _groups_of(anonymizer.anonymize(two_blocks))
            for group in np.unique(labels):
                assert np.unique(fans_of_two_blocks[labels == group]).size == 1


def test_one_group_of_all_users_is_the_item_means(invented):
    anonymizer = PredictiveAnonymizer(300, "simple", round_values="none", seed=1)
    (block,) = anonymizer.anonymize(invented).published.blocks()
    means = ItemMean().fit(invented).padding().item_offset
    assert np.allclose(block.values, means[block.indices], atol=1e-6)


def test_parts_can_be_objects_and_stay_as_they_were(invented):
    predictor, grouping = FunkSVD(rank=3, seed=7), BisectingKGather(min_size=4, random_state=7)
    release = PredictiveAnonymizer(4, "padded", predictor, grouping, seed=1).anonymize(invented)
    assert release.published.settings["predictor"] == "FunkSVD, with parameters of its own"
    assert release.private.settings["predictor"]["rank"] == 3
    assert not hasattr(predictor, "padding_")
    assert not hasattr(grouping, "labels_")


@pytest.mark.parametrize(
    ("predictor", "result"),
    [
        ("funk-svd", "FunkSVD"),
        (FunkSVD(seed=7), "FunkSVD"),
        (FunkSVD(n_epochs=2), "FunkSVD, with parameters of its own"),
        ("funk-svd-plain", "PlainFunkSVD"),
        (FunkSVD(2, biases=False), "FunkSVD, with parameters of its own"),
        (type("PlainFunkSVD", (ItemMean,), {})(), "PlainFunkSVD, with parameters of its own"),
        ("user-knn", "UserKNN"),
        ("trust-knn", "TrustKNN"),
        (UserKNN(threads=1), "UserKNN"),
        (UserKNN(5), "UserKNN, with parameters of its own"),
        (type("FunkSVD", (ItemMean,), {})(), "FunkSVD, with parameters of its own"),
    ],
)
def test_the_release_distinguishes_a_predictor_from_the_default(invented, predictor, result):
    anonymizer = PredictiveAnonymizer(5, predictor=predictor, seed=1)
    assert anonymizer.anonymize(invented).published.settings["predictor"] == result


@pytest.mark.parametrize(
    ("grouping", "result"),
    [
        ("bisecting", "BisectingKGather"),
        (BisectingKGather(min_size=9, random_state=7), "BisectingKGather"),
        (BisectingKGather(9, n_bisections=1), "BisectingKGather, with parameters of its own"),
    ],
)
def test_the_release_distinguishes_a_grouping_from_the_default(invented, grouping, result):
    release = PredictiveAnonymizer(5, grouping=grouping, seed=1).anonymize(invented)
    assert release.published.settings["grouping"] == result


def test_a_predictor_can_have_the_nearest_of_all_users(invented):
    nearest = UserKNN(3, neighbours="global", min_overlap=1, significance=1)
    named = PredictiveAnonymizer(5, predictor="user-knn", neighbours=3, seed=1).anonymize(invented)
    given = PredictiveAnonymizer(5, predictor=nearest, seed=1).anonymize(invented)
    (one,), (other,) = named.published.blocks(), given.published.blocks()
    assert np.array_equal(one.values, other.values)
    settings = named.published.settings
    assert (settings["predictor"], settings["neighbours"]) == ("UserKNN", 3)
    assert same_again(Manifest.of(named.published), seed=1).neighbours == 3
    with raises("option.conflict"):
        PredictiveAnonymizer(5, neighbours=3)


def test_what_cannot_be_a_part_is_refused_by_name(invented):
    for predictor, got in (
        (UserKNN, "the class UserKNN"),
        (3, "an object of int"),
        (BisectingKGather(), "an object of BisectingKGather"),
    ):
        with raises("argument.type") as caught:
            PredictiveAnonymizer(5, predictor=predictor).anonymize(invented)
        assert got in str(caught.value)
    for grouping, got in (
        (BisectingKGather, "the class BisectingKGather"),
        (3, "an object of int"),
    ):
        with raises("argument.type") as caught:
            PredictiveAnonymizer(5, grouping=grouping).anonymize(invented)
        assert got in str(caught.value)


def test_a_predictor_that_predicts_no_numbers_is_refused_by_name(invented):
    class Silent(ItemMean):
        padding = None

        def predict(self, users, items):
            return np.full(np.shape(users), np.nan)

    with raises("argument.result") as caught:
        PredictiveAnonymizer(5, predictor=Silent()).anonymize(invented)
    assert "Silent" in str(caught.value)


def test_a_predictor_without_factors_pads_as_its_rows_say(invented):
    """With all users in one group, a label is the mean of own ratings and predictions."""
    anonymizer = PredictiveAnonymizer(300, predictor=UserKNN(), round_values="none", seed=1)
    (block,) = anonymizer.anonymize(invented).published.blocks()
    users, items = np.divmod(np.arange(300 * 120), 120)
    rows = UserKNN().fit(invented).predict(users, items).reshape(300, 120).astype(float)
    rows[invented.user_positions(), invented.indices] = invented.values
    assert np.allclose(block.values, rows.mean(axis=0)[block.indices], atol=1e-5)


def test_a_grouping_that_breaks_its_word_is_caught(invented):
    with raises("argument.result") as caught:
        PredictiveAnonymizer(30, grouping=KMeans(n_clusters=40, n_init=1)).anonymize(invented)
    assert "KMeans" in str(caught.value)
    with raises("argument.result"):
        PredictiveAnonymizer(5, grouping=BisectingKGather(min_size=2)).anonymize(invented)


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ({"homogenize": "both"}, "option.value"),
        ({"predictor": "svd++"}, "option.value"),
        ({"grouping": "best"}, "option.value"),
        ({"round_values": "half"}, "option.value"),
        ({"round_values": -1}, "option.value"),
        ({"round_values": "nan"}, "option.value"),
        ({"round_values": 4.5}, "option.value"),
        ({"round_values": None}, "option.value"),
        ({"round_values": "1e-320"}, "option.value"),
        ({"round_values": 1e-307}, "option.value"),
        ({"round_values": 1e-11}, "option.value"),
        ({"seed": -1}, "option.value"),
        ({"seed": "x"}, "option.value"),
    ],
)
def test_unknown_settings_are_refused(invented, setting, code):
    with raises(code):
        PredictiveAnonymizer(5, **setting).anonymize(invented)


def test_ratings_that_simple_publishes_as_they_are_are_counted(invented):
    release = PredictiveAnonymizer(5, "simple", seed=1).anonymize(invented)
    counted = release.private.lone_ratings
    blocks = release.published.blocks()
    assert counted == count_exact_ratings(invented, release.private.groups, blocks, 0.1)
    # What is not lone stands there, too, where all raters agree.
    assert 0 < counted.rating_share < counted.exact_share < 1
    assert (
        PredictiveAnonymizer(5, "padded", seed=1).anonymize(invented).private.lone_ratings is None
    )


def test_another_release_of_the_same_users_has_other_pseudonyms(invented):
    first, second = (
        set(PredictiveAnonymizer(5, seed=seed).anonymize(invented).published.pseudonyms(0, 300))
        for seed in (1, 2)
    )
    assert not first & second


def test_known_seed_and_other_data_give_another_order(invented, two_blocks):
    # The order of records depends on the private ratings too: the seed alone does not undo it.
    order = [
        PredictiveAnonymizer(2, "simple", seed=1).anonymize(data).private.groups.members[:12]
        for data in (invented, two_blocks)
    ]
    assert order[0].tolist() != order[1].tolist()


@pytest.mark.parametrize("grouping", ["predictive", "bounded-t-means"])
@pytest.mark.parametrize(
    "options",
    [{"distance": "weighted-squared"}, {"centers": "users"}, {"assignment": "pairwise"}],
)
def test_steps_of_bounded_t_means_are_options(invented, grouping, options):
    release = PredictiveAnonymizer(4, grouping=grouping, seed=1, **options).anonymize(invented)
    settings = release.private.settings["grouping"]
    assert settings.items() >= options.items()
    assert release.published.settings.items() >= options.items()
    assert release.verify().holds
    again = same_again(Manifest.of(release.published), seed=1)
    assert {name: getattr(again, name) for name in options} == options
    usual = PredictiveAnonymizer(4, grouping=grouping, seed=1).anonymize(invented)
    assert usual.private.groups.sizes.min() >= 4
    members, others = usual.private.groups.members, release.private.groups.members
    assert not np.array_equal(members, others)


def test_steps_of_another_grouping_are_not_stated(invented):
    grouping = BoundedTMeans(4, max_iter=3)
    release = PredictiveAnonymizer(4, grouping=grouping, centers="users", seed=1).anonymize(
        invented
    )
    settings = release.published.settings
    assert settings["grouping"] == "BoundedTMeans, with parameters of its own"
    assert "centers" not in settings
    assert release.verify().holds


def test_weighted_squared_compares_padded_rows(invented):
    made = []

    class Recorded(BoundedTMeans):
        def _fit_rows(self, rows, group):
            made.append((rows, self.value_range))
            return super()._fit_rows(rows, group)

    grouping = Recorded(4, random_state=1, distance="weighted-squared")
    PredictiveAnonymizer(4, grouping=grouping, seed=1).anonymize(invented)
    ((rows, value_range),) = made
    assert value_range == 4
    column = np.cumsum(invented.support > 0) - 1
    cells = rows[invented.user_positions(), column[invented.indices]]
    assert np.array_equal(cells, invented.values)


@pytest.mark.parametrize(
    ("options", "code", "name"),
    [
        ({"distance": "cosine"}, "option.value", "distance"),
        ({"distance": "weighted-squared"}, "option.conflict", "distance"),
        ({"grouping": "mdav", "centers": "users"}, "option.conflict", "centers"),
        ({"grouping": "mdav", "assignment": "pairwise"}, "option.conflict", "assignment"),
    ],
)
def test_steps_that_a_grouping_lacks_are_refused(invented, options, code, name):
    with raises(code, name):
        PredictiveAnonymizer(4, seed=1, **options).anonymize(invented)


def test_padded_rows_that_are_too_large_to_compare_are_refused(invented, monkeypatch):
    monkeypatch.setattr("recveil.methods.predictive.anonymizer._MOST_PADDED_CELLS", 9)
    with raises("table.too-large", "weighted-squared"):
        PredictiveAnonymizer(
            4, grouping="predictive", distance="weighted-squared", seed=1
        ).anonymize(invented)
