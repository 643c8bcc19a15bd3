"""Declared attributes of users: the file, the classes, and how well they are inferred."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import AttackTarget, area_under_curve
from recveil.auditing import attribute_inference as inference
from recveil.auditing import audit
from recveil.auditing.attribute_inference import (
    classify,
    infer_added,
    infer_user_attributes,
)
from recveil.auditing.opened_release import OpenedRelease
from recveil.cli import main
from recveil.datasets import generate, make_ratings
from recveil.io.side_tables import read_users
from recveil.methods import PredictiveAnonymizer, Pseudonymizer
from recveil.ratings import Ratings
from recveil.report.audit.attributes import _sentences, attribute_table
from shared.auditing_attribute_inference import audit_folder

USERS = np.array(["ann", "ben", "eve"], dtype=object)


def written(tmp_path, text):
    path = tmp_path / "users.csv"
    path.write_text(text)
    return path


def test_the_file_of_users(tmp_path):
    path = written(tmp_path, "User-ID;plan;Age\neve;free;31.0\nann;;40\n")
    found = read_users(path, USERS, ["age", "plan"])
    assert found.columns == {"age": ["40", None, "31.0"], "plan": [None, None, "free"]}
    assert "free" not in repr(found)


@pytest.mark.parametrize(
    ("text", "names", "code"),
    [
        ("user_id,age\nann,3\n", ["gender"], "column.missing"),
        ("id,age\nann,3\n", ["age"], "column.missing"),
        ("user_id,age\nann,3\nann,3\n", ["age"], "id.duplicate"),
        ("user_id,age\nann,3\nzoe,3\n", ["age"], "id.unknown"),
        ("user_id,age\nann,3\n", ["age", "age"], "option.value"),
        ("user_id,age\nann,3\n", ["user"], "option.value"),
        ("", ["age"], "input.empty"),
    ],
)
def test_files_that_are_refused(tmp_path, text, names, code):
    with raises(code):
        read_users(written(tmp_path, text), USERS, names)


def test_a_pool_of_fewer_than_five_users_is_left_out():
    found = classify("plan", ["a"] * 20 + ["b"] * 10 + ["c"] * 3 + ["d"])
    assert (found.names, found.n_pooled) == (("a", "b"), 2)
    assert np.bincount(found.codes + 1).tolist() == [4, 20, 10]


def test_numbers_are_cut_at_their_quartiles():
    found = classify("age", [str(number) for number in range(40) for _ in range(2)])
    assert found.is_cut
    assert np.bincount(found.codes).tolist() == [20, 20, 20, 20]
    assert found.names[0] == "below 9.75"
    few = classify("stars", ["1", "2"] * 20)
    assert (few.is_cut, few.names) == (False, ("1", "2"))


def test_a_few_combinations_of_values_are_classes():
    found = classify("tags", ["a|b", "a|c"] * 20)
    assert (found.names, found.n_pooled) == (("a|b", "a|c"), 0)


def test_rare_values_beyond_the_ninth_are_pooled():
    found = classify("job", [f"job {number % 12}" for number in range(120)])
    assert (len(found.names), found.names[-1], found.n_pooled) == (10, "other", 3)


@pytest.mark.parametrize(
    "texts",
    [
        ["a"] * 30,
        [f"{number} x" for number in range(30)],
        ["a", "b"] * 9,
        ["a"] * 30 + ["b"] * 4,
        [None] * 30,
        # Lists of tags, of which most combinations are rare
        [f"a|{'bcdefgh'[number % 7]}|{number % 5}" for number in range(60)],
    ],
)
def test_attributes_that_are_refused(texts):
    with raises("attribute.values"):
        classify("x", texts)


@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=60, max_size=90))
def test_no_class_has_fewer_than_five_users(texts):
    counts = {text: texts.count(text) for text in set(texts) - {None}}
    if sum(counts.values()) < 20 or sum(n >= 5 for n in counts.values()) < 2:
        return
    found = classify("x", texts)
    assert np.bincount(found.codes[found.codes >= 0]).min() >= 5
    assert all(found.codes[at] == -1 for at, text in enumerate(texts) if text is None)


def test_the_area_by_hand_and_as_delong():
    scores = np.array([0.1, 0.4, 0.35, 0.8])
    # Of the four pairs of one user of either class, three are in the right order.
    area = inference._Area.of(np.array([0, 0, 1, 1]), np.column_stack([-scores, scores]))
    assert area.area == 0.75
    rng = np.random.default_rng(0)
    codes, scores = rng.integers(0, 2, 400), rng.random(400)
    both = inference._Area.of(codes, np.column_stack([-scores, scores]))
    expected = area_under_curve(scores[codes == 1], scores[codes == 0])
    assert both.interval()[:3] == pytest.approx(expected[:3], abs=1e-3)
    # Three classes: the mean of one against the rest, weighted by users.
    codes, scores = np.arange(60) % 3, rng.random((60, 3))
    areas = [
        area_under_curve(scores[codes == code, code], scores[codes != code, code]).rate
        for code in range(3)
    ]
    assert inference._Area.of(codes, scores).area == pytest.approx(np.mean(areas))
    # A difference from itself is 0, with a paired interval of no width.
    assert both.beyond(both)[:3] == (0, 0, 0)


def tastes(n_users=160, seed=0):
    """Users of one group rate the first half of the items, those of the other the second."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n_users)
    rows = [
        (user, 40 * of + item)
        for user, of in enumerate(group.tolist())
        for item in rng.choice(60, 12, replace=False) * 2 // 3
    ]
    users, items = np.unique(rows, axis=0).T
    return Ratings.from_columns(users, items, rng.integers(1, 6, users.size)), group


def test_tastes_that_determine_an_attribute_reveal_it():
    ratings, group = tastes()
    (found,) = infer_user_attributes(ratings, {"group": ["xy"[of] for of in group]})
    for each in found.predictions:
        assert each.auc.rate > 0.95
        assert each.control.low < 0.5 < each.control.high
        assert each.accuracy.low > found.majority
    assert found.classes == {"x": int((group == 0).sum()), "y": int((group == 1).sum())}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_an_attribute_without_a_relation_is_not_inferred(n_classes):
    covered = []
    for seed in range(4):
        ratings = make_ratings(n_users=120, n_items=40, n_ratings=1_500, seed=seed)
        rng = np.random.default_rng(seed)
        texts = ["abcd"[code] for code in rng.integers(0, n_classes, 120)]
        (found,) = infer_user_attributes(ratings, {"x": texts}, seed=seed)
        covered += [each.auc.low <= 0.5 <= each.auc.high for each in found.predictions]
    assert sum(covered) >= 7  # of 8; by 95% intervals, 2 fail once in 20 runs


def test_a_rare_value_is_inferred_only_where_it_is_nearly_certain():
    rng = np.random.default_rng(0)
    users, items = np.repeat(np.arange(200), 6), rng.integers(0, 40, 1_200)
    items[users < 8] += 40  # eight users rate items of their own
    ratings = Ratings.from_columns(users, items, np.ones(1_200), duplicates="last")
    texts = ["a" if user < 8 else "b" for user in range(200)]
    (found,) = infer_user_attributes(ratings, {"x": texts})
    assert found.strongest.auc.rate > 0.95
    assert found.strongest.auc.low > 0.5
    assert any("a value of only 8 users; with fewer than 20" in each for each in _sentences(found))
    # A rank test of 8 users among 200 excludes 0.5 from about 0.94 on.
    area = inference._Area(0.9, np.zeros(200), 8, np.sqrt(201 / (12 * 8 * 192)), 8.0)
    assert area.interval(1.5, 2).low < 0.5


def opened(ratings, release):
    table = AttackTarget.from_release(release, ratings)
    manifest = SimpleNamespace(settings={}, claim=SimpleNamespace(levels=True), user_columns=None)
    return OpenedRelease("out", manifest, table), table.record_of


@pytest.fixture(scope="module")
def simple():
    ratings = make_ratings(n_users=300, n_items=60, n_ratings=6_000, seed=2)
    release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    return ratings, *opened(ratings, release)


def test_a_row_adds_what_its_class_has_in_common(simple, monkeypatch):
    ratings, released, record_of = simple
    monkeypatch.setattr(inference, "same_again", lambda *_: None)
    of_class = np.random.default_rng(0).integers(0, 2, record_of.max() + 1)
    (found,) = infer_user_attributes(
        ratings, {"group": ["xy"[of] for of in of_class[record_of]]}, released
    )
    inside = found.in_release
    assert inside.adds.low > 0
    assert inside.adds.mean > inside.control.mean + 0.1
    assert inside.by_row.rate - inside.by_known.rate == pytest.approx(inside.adds.mean)
    assert inside.n_targets + inside.n_skipped == 150
    assert (inside.members, inside.nonmembers, inside.excess) == (None, None, None)


def test_a_row_adds_nothing_to_an_attribute_without_a_relation(simple, monkeypatch):
    ratings, released, _ = simple
    monkeypatch.setattr(inference, "same_again", lambda *_: None)
    group = np.random.default_rng(1).integers(0, 2, ratings.n_users)
    (found,) = infer_user_attributes(ratings, {"g": ["xy"[of] for of in group]}, released)
    assert found.in_release.adds.low < 0.05
    assert found.in_release.by_row.low < 0.55


def test_members_and_nonmembers(simple, monkeypatch):
    ratings, released, _ = simple
    monkeypatch.setattr(
        inference,
        "same_again",
        lambda *_: PredictiveAnonymizer(k=5, homogenize="simple", seed=3),
    )
    group = np.random.default_rng(1).integers(0, 2, (4, ratings.n_users)).tolist()
    texts = {str(number): ["xy"[of] for of in row] for number, row in enumerate(group)}
    measured = [each.in_release for each in infer_user_attributes(ratings, texts, released)]
    for each in measured:
        assert each.excess.mean == pytest.approx(each.members.mean - each.nonmembers.mean)
        assert each.nonmembers.trials <= 60
    # Of an attribute without a relation, 95% of the intervals contain 0.
    assert sum(each.excess.low <= 0 <= each.excess.high for each in measured) >= 3


def test_one_seed_gives_one_result_with_any_number_of_threads(monkeypatch):
    ratings, group = tastes(60)
    texts = {"g": ["xy"[of] for of in group]}
    first = infer_user_attributes(ratings, texts, seed=4)
    monkeypatch.setattr(inference, "usual_threads", lambda: 1)
    assert infer_user_attributes(ratings, texts, seed=4) == first
    assert infer_user_attributes(ratings, texts, seed=5) != first


def test_likes_have_no_values():
    ratings, group = tastes()
    likes = Ratings.from_columns(ratings.user_positions(), ratings.indices)
    (found,) = infer_user_attributes(likes, {"group": ["xy"[of] for of in group]})
    assert found.strongest.auc.rate > 0.95


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    ratings, group = tastes()
    path = tmp_path_factory.mktemp("users") / "users.csv"
    rows = [f"{user},{'secret-x' if of else 'y'}\n" for user, of in enumerate(group[:158].tolist())]
    path.write_text("user,group\n" + "".join(rows))
    return audit(ratings, targets=20, curves=False, users=path, attribute="group")


def test_documents_and_tables(audited):
    (found,) = audited.to_dict()["attribute_inference"]
    json.dumps(found)
    assert found["n_missing"] is None  # fewer than five users
    assert found["attribute"] == "group"
    assert found["predictions"][0]["auc"]["trials"] == 158
    grid = attribute_table(audited)
    assert [row[0] for row in grid.rows] == ["group"] * 2
    assert "Attribute inference" in audited.to_html()
    shown = repr(audited) + repr(audited.attribute_inference) + audited._repr_html_()
    assert "secret-x" not in shown


def test_on_the_command_line(tmp_path, capsys):
    generate(tmp_path / "ratings.csv", users=60, items=30, ratings=900)
    rows = "".join(f"{user},{user % 2},{user % 3}\n" for user in range(1, 61))
    users = written(tmp_path, "user,g,h\n" + rows)
    names = [*("--users", str(users)), *("--attribute", "g", "--attribute", "h")]
    line = ["audit", str(tmp_path / "ratings.csv"), "--no-curves", "--targets", "5", *names]
    for options in ([], ["--json", str(tmp_path / "audit.json")]):
        with pytest.raises(SystemExit) as stop:
            main([*line, *options])
        assert stop.value.code == 0
    assert "gradient boosting" in " ".join(capsys.readouterr().out.split())
    found = json.loads((tmp_path / "audit.json").read_text())["attribute_inference"]
    assert [each["attribute"] for each in found] == ["g", "h"]


def test_the_place_of_the_users_is_no_name_of_their_column(tmp_path):
    table = tmp_path / "ratings.csv"
    table.write_text("member,item,rating\n1,7,4\n1,8,2\n2,7,5\n")
    users = written(tmp_path, "id,group\n1,x\n")
    files = {"users": users, "attribute": ["group"], "targets": 1, "curves": False}
    for options, name in (({"user": "1"}, "member,group"), ({"user": "member"}, "member,group")):
        with raises("column.missing", name):
            audit(table, **files, **options)
    table.write_text("1,7,4\n1,8,2\n2,7,5\n")
    with raises("column.missing", "user_id,group"):
        audit(table, **files, user="1", item="2", rating="3")


def test_options_that_need_each_other(tmp_path):
    ratings, _ = tastes(30)
    path = written(tmp_path, "user,group\n1,x\n")
    for options in ({"users": path}, {"attribute": ["group"]}):
        with raises("option.required"):
            audit(ratings, **options)
    plain = audit(ratings, targets=5, curves=False)
    assert "attribute_inference" not in plain.to_dict()


@pytest.mark.parametrize(
    ("options", "unmeasured"),
    [({}, ""), ({"method": "predictive", "hide_items": True}, "its items are hidden")],
)
def test_releases_in_folders(tmp_path, options, unmeasured):
    audited = audit_folder(tmp_path, k=5, seed=1, **options)
    (found,), document = audited.attribute_inference, audited.to_dict()
    assert found.unmeasured == unmeasured
    assert (found.in_release is None) == bool(unmeasured)
    assert ("more for members than nonmembers" in audited.to_html()) == (not unmeasured)
    # A publisher's card has sentences of these parts alone.
    assert {"attribute_inference"} == {
        key for key in document if "'attribute': 'g'" in str(document[key])
    }


def plans_and_ratings(n_users=400, n_items=120, seed=1):
    """Users of plan a rate the first half of the items more often, too little for eight ratings."""
    rng = np.random.default_rng(seed)
    plans = rng.random(n_users) < 0.5
    users, items = [], []
    for user in range(n_users):
        chances = np.where((np.arange(n_items) < n_items // 2) == plans[user], 1.3, 1.0)
        chosen = rng.choice(n_items, 60, replace=False, p=chances / chances.sum())
        users += [user] * 60
        items += chosen.tolist()
    values = rng.integers(1, 6, len(users))
    ratings = Ratings.from_columns(users, items, values, scale="1:5:1")
    coins = rng.permutation(plans)
    return ratings, {
        name: np.where(each, "a", "b").tolist() for name, each in (("plan", plans), ("coin", coins))
    }


def test_raw_rows_add_to_a_planted_attribute_alone():
    ratings, attributes = plans_and_ratings()
    table = AttackTarget.from_release(Pseudonymizer(seed=1).anonymize(ratings), ratings)
    found = infer_added(ratings, attributes, table, "raw")
    assert found["plan"].adds.low > 0.05
    assert found["plan"].control.high < found["plan"].adds.low
    assert found["coin"].adds.low < 0.0 < found["coin"].adds.high
    assert infer_added(ratings, attributes, table, "raw") == found


def test_an_attribute_that_identifies_is_known_and_not_inferred(tmp_path):
    ratings = make_ratings(n_users=60, n_items=20, n_ratings=600, seed=1)
    lines = [f"{user},{number // 2}" for number, user in enumerate(ratings.users.tolist())]
    pairs = written(tmp_path, "\n".join(["user_id,zip", *lines, ""]))
    result = audit(ratings, users=pairs, attribute=["zip"], targets=20, adversaries=["colleague"])
    with_pairs = result.attacks[-1]
    assert (with_pairs.by_attributes, with_pairs.baseline) == (0.5, 1 / 60)
    lines = [f"{user},{number}" for number, user in enumerate(ratings.users.tolist())]
    own = written(tmp_path, "\n".join(["user_id,zip", *lines, ""]))
    result = audit(ratings, users=own, attribute=["zip"], targets=20, adversaries=["colleague"])
    assert (result.attribute_inference, result.identifying_attributes) == ([], ["zip"])
    assert result.attacks[-1].by_attributes == 1
    assert result.risks.singling_out.strongest.is_shown
    assert result.to_dict()["identifying_attributes"] == ["zip"]
