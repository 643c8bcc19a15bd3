"""Each attack succeeds on planted data, and finds nothing where there is nothing to find."""

import html
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier

import recveil as rv
from error_assertions import raises
from recveil.attacks.inference.similar_items import (
    InferredItems,
    SimilarItems,
    infer_new_items,
    rises,
)
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.recommenders import (
    Rows,
    Targets,
    _strongest,
    centroid_differences,
    compare_lists,
)
from recveil.attacks.statistics import Interval, area_under_curve
from recveil.auditing.risk import read_risk, write_risk
from recveil.auditing.three_risks import risks_of_recommender
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluation import TrainingTable, UserRows, audit_lists, list_items
from recveil.evaluation.audited_lists import RECOMMENDERS
from recveil.report.audit.risks import describe_highest, lines_of
from recveil.report.evaluation.recommender import show_recommender
from recveil.runtime.number_format import estimate

USERS, ITEMS = 160, 80


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(USERS, ITEMS, 3_200, seed=3)


@pytest.fixture(scope="module")
def halves(ratings):
    order = np.random.default_rng(0).permutation(ratings.n_users)
    return tuple(only(ratings, np.sort(part)) for part in np.array_split(order, 2))


def remember(train, histories, n):
    """Return what a user rated, if the user is known, else the first items."""
    known = {user: row for row, user in enumerate(train.users.tolist())}
    return [
        train.items[train.row(known[user])[0]][:n] if user in known else train.items[:n]
        for user in histories.users.tolist()
    ]


def same_for_all(train, histories, n):
    return [train.items[:n]] * histories.n_users


def fail(train, histories, n):
    raise KeyError("x")


def fail_late(train, histories, n):
    return (train.items[histories.users == each][n] for each in histories.users)


def lists_of(users, items, lists):
    rows, ranks = np.nonzero(lists >= 0)
    listed = items[lists[rows, ranks]]
    return pd.DataFrame({"user": users[rows], "item": listed, "rank": ranks + 1})


class TestLists:
    def test_a_recommender_that_remembers_is_recognized(self, ratings):
        found = audit_lists(ratings, recommender=remember, shadows=8)
        for one in found.by_newcomers.values():
            assert one.inferred.auc.rate > 0.97
            assert one.inferred.tpr_at_1.rate > 0.8
            assert one.control.auc.low < 0.5 < one.control.auc.high

    @pytest.mark.parametrize("recommender", ["item-knn", "svd"])
    def test_personal_lists_are_recognized(self, ratings, recommender):
        found = audit_lists(ratings, recommender=recommender)
        assert found.by_newcomers["popular"].inferred.auc.rate > 0.99
        history = found.by_newcomers["history"]
        if recommender == "svd":  # its factors fit the few users whom it learned from
            assert history.inferred.auc.low > 0.6
            assert history.inferred.auc.rate > history.centroids.auc.rate
        # What this recommender gives others; that they get popular items is hypothetical.
        assert found.main == "history"
        assert found.strongest == history.inferred.auc

    def test_the_same_list_for_all_reveals_nothing(self, ratings):
        found = audit_lists(ratings, recommender=same_for_all, shadows=8)
        for name in ("popular", "history"):
            auc = found.by_newcomers[name].inferred.auc
            assert auc.low <= 0.5 <= auc.high

    @pytest.mark.parametrize("ranked", ["rank", "score"])
    def test_lists_of_a_file(self, ratings, halves, tmp_path, ranked):
        """Members have lists of item-knn, the others popular items."""
        members, others = halves
        table = TrainingTable.from_ratings(members)
        predict = RECOMMENDERS["item-knn"]["item-knn, 20 neighbours"]
        rows = UserRows.from_ratings(members)
        own = lists_of(members.users, ratings.items, list_items(predict(table, rows), rows, 8))
        popular = np.tile(np.argsort(-table.support)[:8], (others.n_users, 1))
        lists = pd.concat([own, lists_of(others.users, ratings.items, popular)])
        if ranked == "score":
            lists = lists.assign(score=1 / lists["rank"]).drop(columns="rank")
        lists.sample(frac=1, random_state=1).to_csv(tmp_path / "lists.csv", index=False)
        found = audit_lists(members, lists=tmp_path / "lists.csv", nonmembers=others, shadows=8)
        assert found.by_newcomers["popular"].inferred.auc.rate > 0.99
        assert found.n_members == members.n_users
        assert found.length == 8

    def test_lists_that_no_shadow_is_like_are_recognized(self, ratings, halves):
        """Members get their own items, others random ones; or others alone their own."""
        rng, frames = np.random.default_rng(2), []
        for owner in halves:
            lists = np.stack([rng.permutation(ITEMS)[:6] for _ in ratings.users])
            for row in np.flatnonzero(np.isin(ratings.users, owner.users)):
                own = rng.permutation(
                    ratings.indices[ratings.indptr[row] : ratings.indptr[row + 1]]
                )
                lists[row] = [*own[:6], *[-1] * (6 - own[:6].size)]
            frames.append(lists_of(ratings.users, ratings.items, lists))
        for frame in frames:
            found = audit_lists(halves[0], lists=frame, nonmembers=halves[1], shadows=8)
            for one in found.by_newcomers.values():
                assert one.inferred.auc.low > 0.9
                assert one.attack.startswith("share of rated items")
                assert 0.35 < one.control.auc.rate < 0.65

    @pytest.mark.parametrize("newcomers", ["popular", "unrated"])
    def test_lists_of_popular_items_reveal_nonmembers(self, ratings, halves, newcomers):
        """No reported attack is stronger than the one of the headline."""
        members, others = halves
        table, rows = TrainingTable.from_ratings(members), UserRows.from_ratings(members)
        predict = RECOMMENDERS["svd"]["svd on valued, 10 factors"]
        own = lists_of(members.users, ratings.items, list_items(predict(table, rows), rows, 8))
        strangers = UserRows.from_ratings(others)
        if newcomers == "unrated":
            seen, support = strangers, np.tile(table.support, (others.n_users, 1))
            popular = list_items(support.astype(float), seen, 8)
        else:
            popular = np.tile(np.argsort(-table.support)[:8], (others.n_users, 1))
        lists = pd.concat([own, lists_of(others.users, ratings.items, popular)])
        found = audit_lists(members, lists=lists, nonmembers=others, shadows=8)
        assert found.recommender.startswith("svd")
        assert found.strongest.low > 0.9
        assert found.by_newcomers[newcomers].inferred.tpr_at_1.rate > 0.9
        for one in found.by_newcomers.values():
            assert one.centroids.auc.rate <= one.inferred.auc.rate <= found.strongest.rate

    @pytest.mark.parametrize("seed", range(5))
    def test_random_lists_reveal_nothing(self, ratings, halves, seed):
        rng = np.random.default_rng(seed)
        lists = np.stack([rng.permutation(ITEMS)[:6] for _ in ratings.users])
        frame = lists_of(ratings.users, ratings.items, lists)
        found = audit_lists(halves[0], lists=frame, nonmembers=halves[1], shadows=8, seed=seed)
        for one in found.by_newcomers.values():
            assert one.inferred.auc.low < 0.5 < one.inferred.auc.high
            assert one.inferred.tpr_at_1.low < 0.01

    @pytest.mark.parametrize("seed", range(5))
    def test_a_recommender_that_ignores_the_table_reveals_nothing(self, ratings, seed, capsys):
        """Each user's list is random, and the same from each shadow."""
        rng = np.random.default_rng(seed)
        by_user = {user: rng.permutation(ITEMS)[:6] for user in ratings.users.tolist()}

        def recommend(train, histories, n):
            return [train.items[by_user[user]] for user in histories.users.tolist()]

        found = audit_lists(ratings, recommender=recommend, shadows=8, seed=seed)
        assert found.strongest.low <= 0.5 <= found.strongest.high
        show_recommender(found)
        said = " ".join(capsys.readouterr().out.split())
        assert "(nonmembers get their own lists) infers with AUC 0.50 (0.50–0.50)" in said
        assert "not clearly more than that, which is no evidence of safety" in said
        assert "If nonmembers got popular items" in said
        assert "hypothetical" in said
        assert "all users have the same score" in said

    def test_unread_items_and_the_order_are_stated(self, ratings, halves, capsys):
        """Of ranks or scores, the name of the column decides, not whether they are 1 to n."""
        lists = np.tile(np.arange(4), (USERS, 1))
        frame = lists_of(ratings.users, ratings.items, lists)
        frame.loc[frame["rank"] == 1, "item"] = 10_000
        for name in ("rank", "score"):
            named = frame.rename(columns={"rank": name})
            found = audit_lists(halves[0], lists=named, nonmembers=halves[1], shadows=8)
            assert (found.n_unknown, found.order) == (1, name)
            show_recommender(found)
            said = capsys.readouterr().out
            assert "1 item in no table: left out." in said
            assert f"read by {name}" in said

    def test_the_choice_of_an_attack_is_no_evidence(self):
        """The interval of the chosen attack covers 0.5, however many attacks there are."""
        rng, members, covered = np.random.default_rng(0), np.arange(200) < 100, 0
        for _ in range(100):
            scores = {str(each): rng.normal(size=(200, 1)) for each in range(8)}
            auc = _strongest(scores, members[:, None], len(scores))[0].auc
            covered += auc.low <= 0.5 <= auc.high
        assert covered >= 90

    def test_each_figure_has_its_strongest_attack(self):
        """One score finds two members for sure, the other most of them, in reverse."""
        members = np.arange(200)[:, None] < 100
        rng = np.random.default_rng(0)
        sure = np.where(np.arange(200) < 20, 9.0, rng.normal(size=200))[:, None]
        broad = rng.normal(size=(200, 1)) - 1.5 * members
        broad[100:104] = -9
        found, *names = _strongest({"sure": sure, "broad": broad}, members, 2)
        assert names == ["broad (low)", "sure"]
        assert found.auc.rate > 0.8
        assert found.tpr_at_1.rate >= 0.2

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (lambda lists: pd.concat([lists, lists[:3].assign(rank=9)]), "rating.duplicate"),
            (lambda lists: lists.rename(columns={"rank": "position"}), "column.missing"),
            (lambda lists: lists.astype({"rank": str}).replace("2", "abc"), "rating.not-a-number"),
        ],
    )
    def test_errors_of_lists_name_no_option_of_ratings(self, halves, change, code, tmp_path):
        users = np.concatenate([half.users for half in halves])
        lists = lists_of(users, halves[0].items, np.tile(np.arange(3), (users.size, 1)))
        change(lists).to_csv(tmp_path / "lists.csv", index=False)
        with raises(code) as caught:
            audit_lists(halves[0], lists=tmp_path / "lists.csv", nonmembers=halves[1])
        assert "--" not in str(caught.value)

    def test_same_seed_same_figures_and_json(self, ratings):
        twice = [audit_lists(ratings, recommender="ease", shadows=8).to_dict() for _ in range(2)]
        assert json.dumps(twice[0], allow_nan=False) == json.dumps(twice[1])

    def test_it_is_at_least_as_strong_as_the_published_attack(self, ratings):
        """Zhang et al. 2021: a perceptron on differences of centroids, from one shadow."""
        rng = np.random.default_rng(1)
        users, rows = ratings.n_users, UserRows.from_ratings(ratings)
        predict = RECOMMENDERS["svd"]["svd on valued, 20 factors"]
        about = Targets(
            Rows(rows.matrix(ratings.n_items, np.ones(rows.indices.size))),
            np.linalg.svd(ratings.to_csr().toarray(), full_matrices=False)[2][:30].T,
            ratings.support.astype(float),
        )
        worlds = []
        for _ in range(2):
            inside = rng.permutation(users) < users // 2
            table = TrainingTable.from_ratings(only(ratings, np.flatnonzero(inside)))
            lists = list_items(predict(table, rows), rows, 10)
            worlds.append((centroid_differences(lists, about), inside))
        (known, answers), (queries, members) = worlds
        learner = MLPClassifier((32, 8), max_iter=100, early_stopping=True, random_state=0).fit(
            known, answers
        )
        scores = learner.predict_proba(queries)[:, 1]
        published = area_under_curve(scores[members], scores[~members])
        own = audit_lists(ratings, recommender="svd").by_newcomers["history"].inferred.auc
        assert own.rate >= published.rate

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({}, "option.required"),
            ({"recommender": "ease", "lists": "x.csv"}, "option.conflict"),
            ({"lists": "x.csv"}, "option.required"),
            ({"model": {}}, "option.required"),
            ({"recommender": "ease", "nonmembers": "x.csv"}, "option.conflict"),
            ({"recommender": "no.such:function"}, "option.value"),
            ({"recommender": "eas"}, "option.value"),
            ({"recommender": 7}, "argument.type"),
            ({"recommender": "ease", "shadows": 7}, "option.value"),
            ({"recommender": "ease", "length": 0}, "option.value"),
            ({"recommender": "ease", "since": "2020-01-01"}, "option.required"),
            ({"similar_before": "x.csv"}, "option.required"),
            ({"recommender": lambda train, histories, n: [[1]]}, "argument.result"),
            ({"recommender": lambda train, histories, n: 7}, "argument.result"),
            ({"recommender": fail}, "argument.result"),
            ({"recommender": fail_late}, "argument.result"),
            (
                {"recommender": lambda train, histories, n: [[]] * histories.n_users},
                "argument.result",
            ),
            (
                {
                    "recommender": lambda train, histories, n: (
                        [train.items[[0, 0]]] * histories.n_users
                    )
                },
                "argument.result",
            ),
            (
                {"recommender": lambda train, histories, n: [["?"]] * histories.n_users},
                "argument.result",
            ),
        ],
    )
    def test_what_cannot_be_measured_is_rejected(self, ratings, options, code):
        with raises(code):
            audit_lists(ratings, **options)

    def test_too_few_users_and_common_users_are_rejected(self, ratings, halves):
        with raises("table.too-few-users"):
            audit_lists(only(ratings, np.arange(15)), recommender="ease")
        lists = pd.DataFrame({"user": ratings.users[:1], "item": ratings.items[:1], "rank": [1]})
        with raises("id.duplicate"):
            audit_lists(ratings, lists=lists, nonmembers=halves[0])
        with raises("table.too-few-users"):
            audit_lists(
                halves[0],
                lists=lists.assign(user=halves[0].users[0]),
                nonmembers=halves[1],
            )

    def test_a_list_of_shadows_with_the_target_is_likelier(self):
        shadows = np.array([[[0, 1]], [[2, 3]]])
        inside = np.array([[True, False]])
        ratio = [
            compare_lists(np.array([each]), shadows, inside, 4)[0] for each in ([0, 1], [2, 3])
        ]
        assert (ratio[0] > 0).all()
        assert (ratio[1] < 0).all()


class TestRisks:
    """Each audit leads with three risks; what is not measured is stated."""

    def check(self, audited, measured):
        document = json.loads(json.dumps(audited.to_dict(), allow_nan=False))
        assert next(iter(document)) == "risks"
        risks = document["risks"]
        for risk in ("singling_out", "linkability", "inference"):
            line = risks[risk]
            if risk == measured:
                assert line["rate"]["low"] <= line["rate"]["rate"] <= line["rate"]["high"]
                assert line["control"]["trials"] > 0
                assert f"({estimate_ends(line)}" in line["sentence"]
            else:
                assert line["rate"] is None
                assert line["unmeasured"] == "no-attack"
                assert "not measured" in line["sentence"]
                assert "no evidence of safety" in line["sentence"]
        is_shown = f"{measured.capitalize()} is shown; the other two risks were not measured"
        is_unclear = f"One of three risks was measured: {measured}; not clearly above its control"
        assert risks["headline"].startswith(is_shown if risks["highest"] else is_unclear)
        page = audited.to_html()
        for line in lines_of(audited.risks):
            assert html.escape(line.split(": ", 1)[1], quote=False) in html.unescape(page)
        assert "<script" not in page
        return risks

    def test_of_a_recommender(self, ratings):
        found = audit_lists(ratings, recommender=remember, shadows=8)
        risks = self.check(found, "linkability")
        assert risks["highest"] == "linkability"
        assert risks["linkability"]["rate"] == found.strongest._asdict()
        assert "users" not in found.to_dict()

    def test_of_a_recommender_that_ignores_users(self, ratings):
        found = audit_lists(ratings, recommender=same_for_all, shadows=8)
        assert self.check(found, "linkability")["highest"] is None

    def test_of_published_lists_the_largest_area_leads(self, ratings, halves):
        users = np.concatenate([half.users for half in halves])
        rng = np.random.default_rng(0)
        lists = np.stack([rng.permutation(ITEMS)[:4] for _ in users])
        for row, user in enumerate(halves[0].users.tolist()):
            own = ratings.row(ratings.users.tolist().index(user))[0][:4]
            lists[row, : own.size] = own
        frame = lists_of(users, ratings.items, lists).drop_duplicates(["user", "item"])
        found = audit_lists(halves[0], lists=frame, nonmembers=halves[1], shadows=8)
        risks = self.check(found, "linkability")
        areas = [
            each["rate"]["rate"] for each in risks["linkability"]["figures"] if each["is_area"]
        ]
        assert areas[0] == max(areas) == found.strongest.rate
        assert risks["linkability"]["adversary"].startswith(
            "the list and all ratings of a user (sh"
        )

    def test_what_was_published_once_gives_no_risk_of_a_user(self, ratings, halves, models):
        """Shadows can recognize each of their users, while the published lists are random."""
        model = {"items": ratings.items, "factors": models["factors"]}
        rng, users = np.random.default_rng(0), np.concatenate([half.users for half in halves])
        lists = [rng.permutation(ratings.n_items)[:5] for _ in users]
        frame = lists_of(users, ratings.items, np.array(lists))
        for published in ({"model": model}, {"lists": frame}):
            found = audit_lists(halves[0], nonmembers=halves[1], shadows=8, **published)
            risks = self.check(found, "linkability")
            assert (risks["highest"] is None) == ("lists" in published)
            assert found.of_users is None
            assert found.risk is None
            document = found.to_dict()
            assert document["exposed"] is None
            assert any("No risk per user was measured" in note for note in document["notes"])

    def test_each_user_of_the_table_has_a_risk(self, ratings, tmp_path):
        found = audit_lists(ratings, recommender=remember, shadows=8)
        assert self.check(found, "linkability")["highest"] == "linkability"
        write_risk(found.users, found.risk, tmp_path / "risk.csv")
        areas = read_risk(tmp_path / "risk.csv", "membership")
        assert list(areas) == [str(user) for user in ratings.users.tolist()]
        assert np.mean(list(areas.values())) > 0.7
        controls = read_risk(tmp_path / "risk.csv", "control")
        assert 0.4 < np.mean(list(controls.values())) < 0.6
        share, by_chance = found.of_users.exposed
        assert share.low > by_chance.rate
        header, first = (tmp_path / "risk.csv").read_text().splitlines()[:2]
        assert header.endswith("found_low,found_high,membership_low,membership_high")
        low, high = map(float, first.split(",")[-2:])
        assert low <= areas[str(ratings.users[0])] <= high

    @pytest.mark.parametrize("seed", range(3))
    def test_no_user_is_at_risk_where_lists_are_random(self, ratings, seed):
        rng = np.random.default_rng(seed)

        def at_random(train, histories, n):
            return [rng.permutation(train.items)[:n] for _ in range(histories.n_users)]

        found = audit_lists(ratings, recommender=at_random, shadows=16, seed=seed)
        share, by_chance = found.of_users.exposed
        assert share.low <= by_chance.high
        assert 0.45 < np.mean([each.rate for each in found.of_users.auc]) < 0.55
        # All users have the same list, whoever is a member: no user is exposed.
        found = audit_lists(ratings, recommender=same_for_all, shadows=8)
        assert [each.rate for each in found.of_users.exposed] == [0, 0]


def estimate_ends(line):
    low, high = line["rate"]["low"], line["rate"]["high"]
    if line["is_area"]:
        return f"{low:.2f}–{high:.2f}"
    return estimate(Interval(**line["rate"])).partition("(")[2].rstrip(")")


@pytest.fixture(scope="module")
def models(ratings, halves):
    values = np.zeros(ratings.shape)
    values[ratings.user_positions(), ratings.indices] = ratings.values
    matrix = values[np.isin(ratings.users, halves[0].users)] / 5
    inverse = np.linalg.inv(matrix.T @ matrix + 200 * np.eye(ratings.n_items))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    factors = np.linalg.svd(matrix, full_matrices=False)[2][:20].T
    return {"similarities": weights, "factors": factors}


class TestModel:
    @pytest.mark.parametrize("kind", ["similarities", "factors"])
    def test_members_are_recognized(self, ratings, halves, models, kind, tmp_path):
        file = tmp_path / "model.npz"
        np.savez(file, items=ratings.items, **{kind: models[kind]})
        found = audit_lists(halves[0], model=file, nonmembers=halves[1])
        one = found.by_newcomers["history"]
        assert one.inferred.auc.low > 0.85
        assert 0.35 < one.control.auc.rate < 0.65
        assert (found.published, found.n_targets) == ("model", USERS)

    @pytest.mark.parametrize("kind", ["similarities", "factors"])
    def test_models_that_no_shadow_is_like_are_recognized(self, ratings, halves, kind):
        """Co-rating counts, and the rating matrix itself."""
        matrix = halves[0].to_csr().toarray()
        counts = (matrix > 0).T.astype(float) @ (matrix > 0)
        model = {"items": ratings.items, kind: counts if kind == "similarities" else matrix.T}
        one = audit_lists(halves[0], model=model, nonmembers=halves[1], shadows=8).by_newcomers[
            "history"
        ]
        assert one.inferred.auc.low > 0.6
        assert one.attack != "shadow recommenders"
        assert 0.35 < one.control.auc.rate < 0.65

    def test_ties_of_the_most_certain_users_are_broken(self):
        """Cosines are above 0 for all pairs of a member; so they are for others with few items."""
        rng = np.random.default_rng(2)
        users = [(user, item) for user in range(300) for item in rng.permutation(400)[:6]]
        users += [(user, item) for user in range(150) for item in rng.permutation(400)[:14]]
        users += [(user, item) for user in range(150, 160) for item in [0, 1]]
        table = pd.DataFrame(users, columns=["user", "item"]).drop_duplicates()
        short = table["user"].between(150, 159)
        table = table[~short | table["item"].isin([0, 1])]
        members = table[table["user"] < 150]
        rated = np.zeros((150, 400))
        rated[members["user"], members["item"]] = 1
        products = rated.T @ rated
        np.fill_diagonal(products, 0)
        products[0, 1] = products[1, 0] = 1
        found = audit_lists(
            members,
            model={"items": np.arange(400), "similarities": products},
            nonmembers=table[table["user"] >= 150],
            shadows=8,
            likes=True,
        )
        one = found.by_newcomers["history"]
        assert one.inferred.auc.low > 0.9
        assert one.inferred.tpr_at_1.low > 0.5
        assert one.control.tpr_at_1.low < 0.01

    @pytest.mark.parametrize("seed", range(5))
    def test_a_model_of_no_user_reveals_nothing(self, ratings, halves, models, seed):
        """Noise, and the model of members with its items shuffled."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(ITEMS)
        for factors in (rng.normal(size=(ITEMS, 20)), models["factors"][order]):
            model = {"items": ratings.items, "factors": factors}
            found = audit_lists(halves[0], model=model, nonmembers=halves[1], shadows=8, seed=seed)
            auc = found.by_newcomers["history"].inferred.auc
            assert auc.low < 0.5 < auc.high

    @pytest.mark.parametrize(
        ("model", "code"),
        [
            ({"factors": np.ones((3, 2))}, "argument.value"),
            ({"items": np.arange(3), "factors": np.ones((2, 2))}, "argument.shape"),
            ({"items": np.arange(3), "similarities": np.ones((3, 2))}, "argument.shape"),
            ({"items": np.array(["?", "!"]), "factors": np.ones((2, 2))}, "release.mismatch"),
            ({"items": np.array([1, 1, 2]), "factors": np.ones((3, 2))}, "id.duplicate"),
            ({"items": np.arange(3), "factors": np.zeros((3, 2))}, "argument.value"),
            ({"items": np.arange(3), "factors": np.array([[1], [np.nan], [2]])}, "argument.value"),
            ("missing.npz", "input.not-found"),
        ],
    )
    def test_no_such_model(self, halves, model, code):
        with raises(code):
            audit_lists(halves[0], model=model, nonmembers=halves[1])

    def test_a_file_of_objects_is_not_loaded(self, halves, tmp_path):
        np.savez(tmp_path / "model.npz", items=np.array([{}], object), factors=np.ones((1, 1)))
        with raises("input.unknown-format"):
            audit_lists(halves[0], model=tmp_path / "model.npz", nonmembers=halves[1])
        np.save(tmp_path / "model.npy", np.ones((3, 2)))
        with raises("input.unknown-format"):
            audit_lists(halves[0], model=tmp_path / "model.npy", nonmembers=halves[1])


def similar(values, n=20):
    """Return the most similar items of each item by cosine."""
    lengths = np.maximum(np.linalg.norm(values, axis=0), 1e-9)
    cosines = (values.T @ values) / lengths / lengths[:, None]
    np.fill_diagonal(cosines, 0)
    top = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
    rows = np.repeat(np.arange(len(cosines)), n)
    listed = pd.DataFrame({"item": rows, "similar": top.ravel()})
    return listed.assign(rank=np.tile(np.arange(1, n + 1), len(cosines)))


@pytest.fixture(scope="module")
def planted():
    """Sixty users rated 20 of 400 items; twenty of them rate a rare item on the last day."""
    rng = np.random.default_rng(4)
    rated = [(user, item, 0) for user in range(60) for item in rng.permutation(380)[:20]]
    rated += [(user, 380 + user, 0) for user in range(20)]
    new = [((user + 1) % 20, 380 + user, 10) for user in range(20)]
    users, items, days = np.array(rated + new).T
    table = rv.Ratings.from_columns(users, items, days=days)
    before = np.zeros((60, 400))
    for user, item, _ in rated:
        before[user, item] = 1
    after = before.copy()
    for user, item, _ in new:
        after[user, item] = 1
    return table, before, after


class TestSimilarItems:
    def test_new_items_are_inferred(self, planted):
        table, before, after = planted
        found = audit_lists(
            table,
            similar_before=similar(before),
            similar_after=similar(after),
            since="1970-01-05",
        ).new_items
        assert found.n_targets == 20
        assert found.first.rate > 0.8
        assert found.precision.rate > 0.5
        assert found.recall.rate > 0.5
        assert found.first_control.rate < 0.2
        assert found.first_baseline.rate < 0.2

    def test_the_line_has_the_figure_that_distinguishes(self):
        """The strongest guess does not exceed its control; all inferred items do."""
        low, high = Interval(0.05, 0.02, 0.1, 90), Interval(0.3, 0.2, 0.4, 90)
        found = InferredItems(
            90, 8, precision=high, recall=low, first=low, control=low, first_control=low,
            baseline=low, first_baseline=low,
        )  # fmt: skip
        risks = risks_of_recommender("similar items", {}, found)
        assert risks.inference.strongest.name == "items newly rated"
        assert "30% (20–40) of the items inferred by an adversary" in lines_of(risks)[2]
        other = risks_of_recommender("", {}, found._replace(precision=low, first=high))
        assert other.inference.strongest.name == "strongest guess of a new item"
        null = risks_of_recommender("", {}, found._replace(precision=low))
        assert null.highest is None
        assert "not clearly above its control" in describe_highest(null)

    def test_inference_is_the_measured_risk(self, planted):
        table, before, after = planted
        lists = {"similar_before": similar(before), "similar_after": similar(after)}
        found = audit_lists(table, **lists, since="1970-01-05")
        risks = TestRisks().check(found, "inference")
        assert risks["highest"] == "inference"
        assert found.risk is None

    def test_lists_of_other_users_reveal_nothing(self, planted):
        """The lists change as much, by other users' ratings."""
        table, before, _ = planted
        rng = np.random.default_rng(1)
        after = before.copy()
        after[rng.integers(0, 60, 40), rng.integers(0, 380, 40)] = 1
        lists = {"similar_before": similar(before), "similar_after": similar(after)}
        found = audit_lists(table, **lists, since="1970-01-05")
        assert found.risks.highest is None

    def test_unchanged_lists_reveal_nothing(self, planted):
        table, before, _ = planted
        lists = similar(before)
        found = audit_lists(
            table, similar_before=lists, similar_after=lists, since="1970-01-05"
        ).new_items
        assert found.recall.rate == found.first.rate == 0
        assert np.isnan(found.precision.rate)

    def test_an_item_rises_that_overtakes_two(self):
        """Item 5 overtakes 2, 3 and 4; 2 and 3 overtake 1, which falls to the end."""
        before = SimilarItems.of(np.zeros(5, int), np.arange(1, 6), np.arange(1, 6), 6)
        after = SimilarItems.of(np.zeros(5, int), np.array([5, 2, 3, 4, 1]), np.arange(1, 6), 6)
        assert rises(before, after).toarray()[0].tolist() == [0, 0, 0, 0, 0, 1]
        assert not rises(before, before).nnz

    def test_days_are_needed_and_a_date(self, planted, ratings):
        lists = similar(planted[1])
        with raises("option.value"):
            audit_lists(planted[0], similar_before=lists, similar_after=lists, since="soon")
        with raises("table.too-few-users"):
            infer_new_items(planted[0], *[SimilarItems.of(*np.ones((3, 1), int), 400)] * 2, 99)
        without = rv.Ratings.from_columns([1, 2], [3, 4])
        with raises("option.unsupported"):
            infer_new_items(without, *[SimilarItems.of(*np.ones((3, 1), int), 2)] * 2, 3)


@pytest.mark.parametrize("published", ["--lists", "--model", "--similar-before"])
def test_the_command_writes_no_risk_of_users_for_what_was_published_once(published, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["audit-lists", "ratings.csv", published, "file", "--risk", "risk.csv"])
    assert stop.value.code == 2
    assert "only with --recommender" in capsys.readouterr().err
