"""Attributes of synthetic users: what one user adds, and what follows from the noisy sums alone."""

import json
import shutil

import forging
import independent
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil import anonymize
from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer, forget
from recveil.methods.published_users import DeclaredAttributes, public_columns
from recveil.methods.registry import same_again
from recveil.methods.synthetic import attributes
from recveil.methods.synthetic.attributes import (
    ACTIVITY_PART,
    CHOICE_PART,
    COUNT_PART,
    MEAN_PART,
    RATING_PART,
    AttributeModel,
    Coded,
    PreferenceMap,
    ask_attributes,
    attribute_sums,
)
from recveil.methods.synthetic.learning import EmbeddingMap, learn_users
from recveil.methods.synthetic.sum_queries import SHARES
from recveil.methods.synthetic.synthesizer import Budget
from recveil.publish import describe
from recveil.ratings import Ratings, RatingScale
from recveil.release.coverage import CoverageWarning
from recveil.release.manifest import Manifest
from recveil.release.synthetic_form import N_FEATURES, QUERY_OF_ATTRIBUTES
from recveil.release.user_table import UserColumns
from recveil.verification import verify
from shared.methods_synthetic_sum_queries import RATINGS, measured

pytestmark = pytest.mark.usefixtures("rough_fit")

STARS, GRID, N_ITEMS = RatingScale(1, 5, 1), 2.0**-20, 5
# Items 1, 0, 4 and 2 of the table are released, the last one without an embedding.
RELEASED = np.array([1, 0, 4, 2])
DIRECTIONS = np.array([[1.0, 0], [-1, 0], [0, 2], [0, 0]])
MEANS = np.array([0.0, 0.5, 0.0, -0.5])
MAP = EmbeddingMap(DIRECTIONS, np.array([0.5, 0.5]), MEANS, np.array([0, 1, 0, -1]))
MAPPING = PreferenceMap(MAP, (np.log(2), 0.5), 0.25, STARS)
ABOUT = public_columns(["gender=F,M", "age=young,old"])
OPTIONS = {"epsilon": 60.0, "item_catalog": "as-rated"}


def table_of(users, scale=STARS):
    """Users as dictionaries from an item's position to its rating."""
    items = [sorted(one) for one in users]
    values = [float(one[item]) for one, of in zip(users, items, strict=True) for item in of]
    indptr = np.concatenate([[0], np.cumsum([len(of) for of in items])]).astype(np.int64)
    indices = np.array([item for of in items for item in of], np.int32)
    return Ratings(
        np.arange(len(users)), np.arange(N_ITEMS), indptr, indices, np.array(values), None, scale
    )


def sums_of(users, codes, about=ABOUT, mapping=MAPPING):
    coded = Coded(about, np.array(codes, np.int64).reshape(len(users), len(about.names)))
    return attribute_sums(table_of(users), coded, RELEASED, mapping, GRID)


def square(whole):
    return sum(int(number) ** 2 for number in whole.ravel())


def one_user():
    ratings = st.dictionaries(st.integers(0, N_ITEMS - 1), st.integers(1, 5), min_size=1)
    return st.tuples(ratings, st.tuples(st.integers(0, 2), st.integers(3, 5)))


class TestOneUser:
    def test_by_hand(self):
        """Of three ratings two are of items with embeddings; the third item is not released."""
        user = {1: 5, 4: 3, 3: 1}
        found = sums_of([user], [[1, 3]]) * GRID * np.sqrt(2)
        assert not np.delete(found, [1, 3], axis=0).any()  # M and young
        assert (found[1] == found[3]).all()
        # Both directions: 1 and 2 in sum, over 1 + 2 / 2 each; ratings 1 and 0 above the means,
        # 0.5 in the mean, which is twice the spread.
        choices, ratings = np.array([1, 2]) / np.sqrt(5), np.array([0.5, -1]) / np.sqrt(1.25)
        expected = np.zeros(N_FEATURES)
        expected[:5] = np.sqrt([0.3, 0, 0.1, 0.3, 0.3]) * [1, 0, 1, *choices]
        expected[67:69] = np.sqrt(0.2) * ratings
        assert found[1] == pytest.approx(expected, abs=1e-5)
        parts = [COUNT_PART, ACTIVITY_PART, MEAN_PART, CHOICE_PART, RATING_PART]
        assert sum(parts) == pytest.approx(1)

    def test_a_user_of_no_released_item_adds_their_number_alone(self):
        found = sums_of([{3: 4}], [[0, 5]]) * GRID * np.sqrt(2)
        expected = np.sqrt([0.3, 0.1]) * [1, -np.log(2)]  # one clipped to -log(2) / 1
        assert found[0, :2] == pytest.approx(expected, abs=1e-5)
        assert not found[:, 2:].any()

    @given(st.lists(one_user(), min_size=1, max_size=5), st.data())
    def test_with_and_without_a_user(self, users, data):
        """A user adds the same whatever the others are, and no more than 1 in length."""
        place = data.draw(st.integers(0, len(users) - 1))
        ratings, codes = zip(*users, strict=True)
        others = slice(0, place), slice(place + 1, None)
        alone = sums_of([ratings[place]], [codes[place]])
        rest = [each for part in others for each in ratings[part]]
        codes_of_rest = [each for part in others for each in codes[part]]
        if rest:
            without = sums_of(rest, codes_of_rest)
            assert (sums_of(ratings, codes) - without == alone).all()
        assert square(alone) <= 2**40

    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_extreme_users_nearly_reach_one_and_no_more(self, n):
        about = public_columns([f"a{number}=x" for number in range(n)])
        user, codes = {0: 1, 1: 5, 2: 5, 4: 5}, [[2 * number for number in range(n)]]
        mapping = MAPPING._replace(log_count=(np.log(2), 0.1), strictness=0.05)
        reached = square(sums_of([user], codes, about, mapping)) / 2**40
        assert 0.999 < reached <= 1

    def test_numbers_that_are_none_count_as_0(self):
        broken = MAP._replace(directions=DIRECTIONS * np.nan)
        found = sums_of([{0: 1, 1: 5, 4: 2}], [[0, 3]], mapping=MAPPING._replace(items=broken))
        assert found[0, :3].all()
        assert not found[:, 3:].any()

    def test_likes_have_neither_means_nor_ratings(self):
        likes = MAPPING._replace(scale=None)
        found = sums_of([{1: 5, 4: 3}], [[0, 3]], mapping=likes) * GRID * np.sqrt(2)
        assert not found[:, 2].any()
        assert not found[:, 5:].any()
        assert found[0, 3:5] == pytest.approx(np.sqrt(0.5 / 5) * np.array([1, 2]), abs=1e-5)


def test_users_in_many_parts_add_up(monkeypatch):
    users, codes = [{0: 1, 1: 5}, {4: 2}, {1: 3, 2: 3, 4: 4}], [[0, 3], [1, 4], [0, 5]]
    whole = sums_of(users, codes)
    monkeypatch.setattr(attributes, "_AT_ONCE", 1)
    assert (sums_of(users, codes) == whole).all()


def test_a_canary_shows_no_more_than_promised(check_query):
    """The only user of a value, with the most extreme vector."""
    others = [{0: 3, 1: 3}] * 60
    with_them = sums_of([*others, {0: 1, 1: 5, 2: 5, 4: 5}], [[0, 3]] * 60 + [[1, 4]])
    check_query(with_them, sums_of(others, [[0, 3]] * 60), GRID)


def declared(ratings, about=ABOUT, seed=1, **texts):
    rng = np.random.default_rng(seed)
    drawn = {
        name: rng.choice([*values, "other"], ratings.n_users, p=[0.5, 0.4, 0.1]).tolist()
        for name, values in zip(about.names, about.values, strict=True)
    }
    return DeclaredAttributes(ratings.users, drawn | texts, about, 1)


SIGMAS = Budget.of(60.0, 1e-6).sigmas(SHARES | {"attributes": QUERY_OF_ATTRIBUTES.share})


@pytest.fixture(scope="module")
def sums():
    return measured()


@pytest.fixture(scope="module")
def model(sums, rough_fit):
    return learn_users(sums, STARS, np.random.default_rng(1))


class TestAnswersAlone:
    def ask(self, ratings, mechanism, sums, model, seed=1):
        coded = Coded.of(declared(ratings, seed=seed), ratings.users)
        rng = np.random.default_rng(1)
        return ask_attributes(ratings, mechanism, coded, sums, model, SIGMAS["attributes"], rng)

    def test_others_with_the_same_answer_give_the_same(self, sums, model, heard_by, stated_again):
        heard = heard_by(1, SIGMAS)
        first = self.ask(RATINGS, heard, sums, model)
        others = make_ratings(37, 40, 300, seed=99, scale=STARS)
        again = stated_again(heard.answers)
        second = self.ask(others, again, sums, model, seed=2)
        for one, two in zip(first.groups, second.groups, strict=True):
            assert all(np.array_equal(*parts) for parts in zip(one, two, strict=True))
        assert set(again.exact) == {"attributes"}
        assert not np.array_equal(again.exact["attributes"], heard.answers["attributes"])

    def test_it_is_asked_once_and_paid(self, sums, model, heard_by):
        heard = heard_by(1, SIGMAS)
        self.ask(RATINGS, heard, sums, model)
        (query,) = heard.ledger().queries
        assert (query.name, query.what, query.sensitivity) == (*QUERY_OF_ATTRIBUTES[:2], 1.0)
        share = QUERY_OF_ATTRIBUTES.share / (1 + QUERY_OF_ATTRIBUTES.share)
        assert query.mu == pytest.approx(Budget.of(60.0, 1e-6).mu * np.sqrt(share))
        with raises("budget.spent"):
            self.ask(RATINGS, heard, sums, model)

    def test_a_repr_shows_no_value_of_a_user(self):
        shown = repr(Coded.of(declared(RATINGS), RATINGS.users))
        assert shown == "Coded(gender, age)"


class TestGroups:
    """The answer for a sample of 4,000 users with one direction, of which each half is a group."""

    TASTES = np.repeat([-1.0, 1.0], 2_000)

    def sample(self):
        found = np.zeros((4_000, N_FEATURES))
        found[:, 0] = np.sqrt(COUNT_PART)
        found[:, 3] = self.TASTES * np.sqrt(CHOICE_PART)
        # What is no matter
        found[:, 4] = np.tile([-1, 1], 2_000) * np.sqrt(RATING_PART)
        return found

    def drawn(self, shares_of_first, n_users, sigma, seed=1):
        """Return the drawn groups, and who is "*", where users of each kind have such shares."""
        sample, rng = self.sample(), np.random.default_rng(seed)
        first = np.where(self.TASTES < 0, *shares_of_first)[:, None]
        exact = np.stack([(first * sample).sum(axis=0), ((1 - first) * sample).sum(axis=0)])
        exact = np.vstack([exact * (n_users / 4_000), np.zeros(N_FEATURES)])
        noisy = exact + sigma * rng.normal(size=exact.shape)
        about = public_columns(["group=A,B"])
        model = AttributeModel.of(about, MAPPING, noisy, sigma, sample)
        return model.groups[0].draw(sample, rng)

    def test_a_planted_dependence_is_kept(self):
        drawn = self.drawn((0.9, 0.2), 1_000, 3.0)
        assert (drawn[self.TASTES < 0] == 0).mean() == pytest.approx(0.9, abs=0.05)
        assert (drawn[self.TASTES > 0] == 0).mean() == pytest.approx(0.2, abs=0.05)
        assert not (drawn == 2).any()  # nobody is unknown

    def test_noise_alone_is_no_dependence(self):
        for seed in range(5):
            drawn = self.drawn((0.3, 0.3), 1_000, 10.0, seed)
            gap = (drawn[self.TASTES < 0] == 0).mean() - (drawn[self.TASTES > 0] == 0).mean()
            assert abs(gap) < 0.06
            assert (drawn == 0).mean() == pytest.approx(0.3, abs=0.07)

    def test_noise_that_hides_the_dependence_shrinks_it(self):
        strong, weak = (
            np.mean([self.drawn((0.9, 0.2), 1_000, sigma, n)[:2_000] == 0 for n in range(3)])
            for sigma in (1.0, 100.0)
        )
        assert strong > 0.87
        assert 0.4 < weak < 0.87

    def test_if_noise_hides_all_users_have_one_value(self):
        assert np.unique(self.drawn((0.5, 0.5), 1, 50.0)).size == 1


def opposite(n_users=1_200, seed=5, *, is_null=False):
    """Two groups: users of one rate the first items, and rate them high; or of no matter."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n_users) % 2)
    likes_first = rng.permutation(group) if is_null else group
    chance = np.where(np.arange(40) < 20, 0.5, 0.2)
    chances = np.where(likes_first[:, None] == 0, chance, chance[::-1])
    users, items = np.nonzero(rng.random((n_users, 40)) < chances)
    is_liked = (items < 20) == (likes_first[users] == 0)
    values = np.clip(np.round(rng.normal(np.where(is_liked, 4.2, 2.5), 0.7)), 1, 5)
    ratings = Ratings.from_columns(users, items, values, scale=STARS)
    texts = ["FM"[each] for each in group[ratings.users]]
    return ratings, DeclaredAttributes(
        ratings.users, {"gender": texts}, public_columns(["gender=F,M"]), 1
    )


def shares_of_first_items(release):
    """The share of the first items among the ratings of each group of synthetic users."""
    (block,) = release.published.blocks()
    texts = np.array(release.published.user_table.columns["gender"])
    of_rating = np.repeat(texts, np.diff(block.indptr))
    return [float((block.indices[of_rating == text] < 20).mean()) for text in "FM"]


class TestSyntheticUsers:
    @pytest.mark.parametrize("kind", ["ratings", "likes"])
    def test_groups_of_opposite_preferences_remain(self, kind):
        ratings, known = opposite()
        given_ = ratings if kind == "ratings" else ratings.as_likes()
        release = Synthesizer(10.0, item_catalog="as-rated", attributes=known, seed=1)
        first, second = shares_of_first_items(release.anonymize(given_))
        assert first > 0.6  # of users 0.71 and 0.29
        assert second < 0.4

    def test_groups_without_a_difference_have_none(self):
        ratings, known = opposite(is_null=True)
        for seed in range(3):
            release = Synthesizer(10.0, item_catalog="as-rated", attributes=known, seed=seed)
            first, second = shares_of_first_items(release.anonymize(ratings))
            assert abs(first - second) < 0.1

    def test_a_seed_repeats_them(self):
        tables = [
            Synthesizer(**OPTIONS, attributes=declared(RATINGS), seed=1)
            .anonymize(RATINGS)
            .published.user_table.columns
            for _ in range(2)
        ]
        assert tables[0] == tables[1]

    def test_without_a_list_of_items_and_with_dates(self):
        days = np.random.default_rng(1).integers(20_000, 20_090, RATINGS.n_ratings)
        parts = ("users", "items", "indptr", "indices", "values")
        dated = Ratings(*(getattr(RATINGS, name) for name in parts), days, STARS)
        release = Synthesizer(
            200.0,
            attributes=declared(RATINGS),
            dates="month",
            date_range="2024-10:2025-01",
            seed=1,
        ).anonymize(dated)
        (block,) = release.published.blocks()
        assert block.days.size == block.indices.size
        table = release.published.user_table
        assert [len(column) for column in table.columns.values()] == [release.published.n_users] * 2

    def test_unknown_attributes_cost_as_much(self):
        one, two = (
            Synthesizer(**OPTIONS, attributes=each, seed=1).anonymize(RATINGS).published
            for each in (ABOUT, declared(RATINGS))
        )
        assert one.claim.ledger == two.claim.ledger
        assert one.user_table.columns["gender"].count("*") > 0.9 * one.n_users


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attributes")
    known = declared(RATINGS)
    rows = zip(RATINGS.users.tolist(), *known.columns.values(), strict=True)
    lines = [f"{user},{gender},{age},12" for user, gender, age in rows]
    (folder / "users.csv").write_text("\n".join(["user_id,gender,age,shoe", *lines, ""]))
    options = {"attribute": ["gender=F,M", "age=young,old"], "ledger": "none", **OPTIONS}
    options |= {"users": folder / "users.csv"}
    anonymize(RATINGS, folder / "ratings", **options, file_format="csv")
    anonymize(RATINGS.as_likes(), folder / "likes", **options, publish_answers=True)
    return folder


class TestRelease:
    @pytest.mark.parametrize("name", ["ratings", "likes"])
    def test_both_checkers_accept_it(self, made, name):
        found = verify(made / name)
        assert found.holds
        assert list(independent.problems(made / name)) == []
        assert list(found.attributes) == ["gender", "age"]
        assert "synthetic-attributes" in [limit.code for limit in found.not_covered]
        content = json.loads((made / name / "release.json").read_text())
        assert content["format"] == "recveil-release-11"
        assert content["user_attributes"]["values"] == [["F", "M"], ["young", "old"]]
        query = content["claim"]["ledger"]["queries"][-1]
        assert (query["name"], query["values"]) == ("attributes", 6 * N_FEATURES)
        card = (made / name / "README.md").read_text()
        assert '`"gender"`: `"F"`, `"M"`' in card
        assert "shoe" not in card

    @pytest.mark.parametrize(
        ("change", "place"),
        [
            (lambda result: result["user_attributes"]["values"][0].pop(), "does not list"),
            (lambda result: result["user_attributes"]["values"][0].append("X"), "values"),
            (lambda result: result["user_attributes"].pop("values"), "user_attributes"),
            (lambda result: result.pop("user_attributes"), "queries"),
            (lambda result: result["claim"]["ledger"]["queries"].pop(), "queries"),
            (lambda result: result["claim"]["ledger"]["queries"][-1].update(values=9), "values"),
            (
                lambda result: result["claim"]["ledger"]["queries"][-1].update(
                    values=12 * N_FEATURES
                ),
                "values",
            ),
        ],
    )
    def test_forged_ones_are_found(self, made, tmp_path, change, place):
        shutil.copytree(made / "ratings", tmp_path / "out")
        forging.forge(tmp_path / "out", change)
        found = verify(tmp_path / "out")
        assert any(place in violation.problem for violation in found.violations)
        assert list(independent.problems(tmp_path / "out"))

    @pytest.mark.parametrize(
        "values", [[["F", "M"]], [["F", "F"], ["old"]], [["F", "*"], ["old"]], [[], []], "FM", {}]
    )
    def test_lists_that_are_none_are_rejected(self, made, tmp_path, values):
        shutil.copytree(made / "ratings", tmp_path / "out")
        forging.forge(
            tmp_path / "out", lambda result: result["user_attributes"].update(values=values)
        )
        with raises("release.damaged", "user_attributes"):
            verify(tmp_path / "out")
        assert list(independent.problems(tmp_path / "out"))

    @pytest.mark.parametrize("change", ['"X"', '""', '"F"\n"p'])
    def test_changed_tables_of_users_are_found(self, made, tmp_path, change):
        shutil.copytree(made / "ratings", tmp_path / "out")
        text = (tmp_path / "out" / "users.csv").read_text()
        (tmp_path / "out" / "users.csv").write_text(text.replace('"F"', change, 1))
        forging.forge(tmp_path / "out", lambda _: None)
        assert not verify(tmp_path / "out").holds
        assert list(independent.problems(tmp_path / "out"))

    def test_another_one_has_the_same_queries(self, made):
        manifest = Manifest.from_json(json.loads((made / "ratings" / "release.json").read_text()))
        again = same_again(manifest, 1).anonymize(RATINGS).published
        names = [query.name for query in again.claim.ledger.queries]
        assert names == [query.name for query in manifest.claim.ledger.queries]

    def test_the_privacy_unit_has_attributes(self, made):
        unit = "unit is one user with all their {} and attributes. Neighbouring"
        assert unit.format("ratings") in (made / "ratings" / "README.md").read_text()
        assert unit.format("interactions") in (made / "likes" / "README.md").read_text()

    def test_a_description_is_of_synthetic_users(self, made, tmp_path):
        shutil.copytree(made / "ratings", tmp_path / "out")
        describe(tmp_path / "out", tmp_path / "croissant.json")
        described = json.loads((tmp_path / "croissant.json").read_text())
        of_users = described["recordSet"][-1]
        assert "attributes of the synthetic users" in of_users["description"]
        assert (
            of_users["field"][1]["description"] == "an attribute; * if it is missing or not listed"
        )
        personal = described["rai:personalSensitiveInformation"]
        assert "users.csv has attributes of synthetic users: gender, age." in personal

    def test_forgetting_a_user_mentions_their_attributes(self, made, tmp_path):
        found = forget(made / "ratings", user=RATINGS.users[0], log=tmp_path / "log.jsonl")
        said = " ".join(found.sentences())
        assert "was learned from their ratings and attributes;" in said
        assert "Delete their line from the file of users and attributes" in said

    def test_columns_of_an_audit_are_named_alone(self, made):
        options = {"users": made / "users.csv", "attribute": ["gender=F,M"]}
        with raises("column.missing", "give the column alone, as gender"):
            audit(RATINGS, targets=20, curves=False, **options)

    def test_an_audit_infers_attributes_with_it(self, made):
        found = audit(
            RATINGS,
            release=made / "ratings",
            users=made / "users.csv",
            attribute=["gender"],
            targets=20,
            curves=False,
        )
        (inference,) = found.attribute_inference
        assert inference.in_release.members is not None


def test_values_are_parsed():
    parsed = public_columns(["gender=F, M", "age=under 35,35 or more", "x=a=b"])
    assert parsed.names == ("gender", "age", "x")
    assert parsed.values == (("F", "M"), ("under 35", "35 or more"), ("a=b",))


class TestRejected:
    @pytest.mark.parametrize(
        ("changes", "code", "place"),
        [
            ({"attribute": "gender"}, "option.required", "public values"),
            ({"attribute": "gender=F,F"}, "option.value", "different"),
            ({"attribute": "gender="}, "option.value", "public values"),
            ({"attribute": "gender=*,F"}, "option.value", "public values"),
            ({"attribute": "rating=1,2"}, "column.type", "rating"),
            ({"attribute": "sex=F,M"}, "column.missing", "sex"),
            ({"attribute": None}, "option.required", "attribute"),
            ({"users": None}, "option.required", "users"),
            ({"sensitive_attribute": "age"}, "option.conflict", "sensitive"),
            ({"attribute_l": 2}, "option.conflict", "attribute_l"),
            ({"epsilon": "none"}, "option.conflict", "epsilon"),
            ({"layout": "model"}, "option.conflict", "layout"),
        ],
    )
    def test_options(self, made, tmp_path, changes, code, place):
        options = OPTIONS | {"users": made / "users.csv", "attribute": "gender=F,M"} | changes
        with raises(code, place):
            anonymize(RATINGS, tmp_path / "out", ledger="none", **options)

    # A table without any of them is accepted: a refusal would reveal the only user who has one.
    @pytest.mark.parametrize("attribute", ["gender=M", "gender=f,m"])
    def test_few_declared_values_are_warned_about(self, made, tmp_path, attribute):
        options = OPTIONS | {"users": made / "users.csv", "attribute": attribute}
        with pytest.warns(CoverageWarning, match="gender"):
            anonymize(RATINGS, tmp_path / "out", ledger="none", **options)

    def test_attributes_without_public_values(self):
        with raises("option.required", "public values"):
            Synthesizer(**OPTIONS, attributes=UserColumns(("gender",)))
        with raises("option.conflict", "epsilon"):
            Synthesizer(None, attributes=ABOUT)


def test_nothing_is_believed_of_groups_of_which_nothing_is_known():
    gaps = np.array([1.0, -2.0])
    assert not attributes._believed(gaps, np.full(2, np.inf)).any()
    assert not attributes._believed(gaps, np.full(2, 1e200)).any()
    assert attributes._believed(gaps, np.zeros(2)) == pytest.approx(gaps)
