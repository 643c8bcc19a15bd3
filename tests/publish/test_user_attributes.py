"""Attributes of users in releases: equal within classes of k users, and diverse if sensitive."""

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import forging
import independent
import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recveil as rv
from error_assertions import raises
from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.io.write import write_ratings
from recveil.methods import anonymize, forget
from recveil.methods.published_users import DeclaredAttributes, generalize, hidden_in
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.publish import Release, convert, describe
from recveil.ratings import Ratings
from recveil.release.coverage import CoverageWarning
from recveil.release.manifest import FileEntry
from recveil.release.user_table import UserColumns
from recveil.report.assessment import report
from recveil.report.erasure import next_command
from recveil.verification import verify

RATINGS = make_ratings(n_users=120, n_items=24, n_ratings=1300, seed=2)
SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
PERSONAL = "rai:personalSensitiveInformation"
ALL = {"attribute": ["gender", "age_group"], "sensitive_attribute": "plan", "attribute_l": 2}


def attributes_of(users, seed=0):
    """Rows of attributes that depend on nothing; age groups are rarer than genders."""
    rng = np.random.default_rng(seed)
    return {
        user: (
            "FM"[rng.integers(2)],
            ["18-24", "25-34", "35+"][rng.choice(3, p=[0.1, 0.4, 0.5])],
            ["free", "basic", "pro", "max"][rng.integers(4)],
        )
        for user in users
    }


def written(path, attributes):
    lines = [",".join(map(str, (user, *row, "x"))) for user, row in attributes.items()]
    path.write_text("\n".join(["user_id,gender,age_group,plan,shoe", *lines, ""]))
    return path


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    folder = tmp_path_factory.mktemp("users")
    return written(folder / "users.csv", attributes_of(RATINGS.users.tolist()))


@pytest.fixture(scope="module")
def releases(tmp_path_factory, users):
    folder = tmp_path_factory.mktemp("releases")
    options = {"k": 5, "seed": 1, "users": users, "file_format": "csv"}
    anonymize(RATINGS, folder / "users", **options, **ALL)
    anonymize(RATINGS, folder / "groups", **options, attribute="gender", layout="groups")
    anonymize(RATINGS, folder / "sensitive", **options, sensitive_attribute="plan")
    return folder


@pytest.fixture
def copied(releases, tmp_path):
    return Path(shutil.copytree(releases / "users", tmp_path / "out"))


def content_of(folder):
    return json.loads((folder / "release.json").read_text())


def table_of(folder):
    header, *lines = (folder / "users.csv").read_text().splitlines()
    names = header.replace('"', "").split(",")
    return [dict(zip(names, line.strip('"').split('","'), strict=True)) for line in lines]


class TestByHand:
    def test_two_strata(self):
        """25 F, of whom 5 are old, and 23 M, of whom 3 are old, in clusters of 20.

        Both pools of the old are too small, also together: the young F join them.
        """
        rows = [("F", "young")] * 20 + [("F", "old")] * 5
        rows += [("M", "young")] * 20 + [("M", "old")] * 3
        assert Counter(generalize(rows, 20)) == {("*", "*"): 28, ("M", "young"): 20}

    def test_a_pool_that_is_large_enough_keeps_its_first_attribute(self):
        rows = [("F", "young")] * 20 + [("F", "old")] * 11 + [("F", "teen")] * 9
        assert Counter(generalize(rows, 20)) == {("F", "young"): 20, ("F", "*"): 20}

    def test_unknown_values_are_suppressed_ones(self):
        rows = [("F", "*")] * 3 + [("F", "old")] * 2 + [("*", "old")] * 5
        assert Counter(generalize(rows, 5)) == {("F", "*"): 5, ("*", "old"): 5}

    def test_all_in_one_pool(self):
        assert generalize([("F",), ("M",)], 5) == [("*",), ("*",)]

    def test_two_plans_in_one_class_of_four(self):
        """Of five users, two share a value: 2 / 5 is above 1 / 3, and below 1 / 2."""
        texts = ["a", "a", "b", "c", "d"]
        assert hidden_in(texts, 2) == texts
        assert hidden_in(texts, 3) == ["*"] * 5

    def test_who_is_known_to_have_a_value_counts_alone(self):
        """One of two known values is half of them, though a quarter of the users."""
        assert hidden_in(["a", "b", "*", "*"], 2) == ["a", "b", "*", "*"]
        assert hidden_in(["a", "b", "*", "*"], 3) == ["*"] * 4

    @pytest.mark.parametrize(
        ("values", "limit", "k", "expected"), [("ab", 2, 5, 7), ("ab", 2, 4, 4), ("abcd", 3, 5, 6)]
    )
    def test_classes_are_of_a_size_that_can_show_values(self, values, limit, k, expected):
        """A cluster of 20 is two classes of 10, with 5 users of each value; then three of 6 or 7.

        In classes of 5, one of two values has three users, and one of four values has two of five.
        """
        texts = {"plan": list(values) * 10}
        about = UserColumns(("plan",), "plan", limit)
        attributes = DeclaredAttributes(np.arange(len(texts["plan"])), texts, about, k)
        assert attributes.least_class(k, 20) == expected

    def test_values_are_dealt_in_turn_to_the_classes_of_a_cluster(self):
        """20 users in 4 classes of 5; each of 5 values has 4 users, one per class."""
        ratings = make_ratings(n_users=20, n_items=12, n_ratings=120, seed=1)
        about = UserColumns(("plan",), "plan", 5)
        attributes = DeclaredAttributes(ratings.users, {"plan": list("abcde") * 4}, about, 4)
        made = SparseRows(5, seed=1, attributes=attributes).anonymize(ratings)
        texts = made.published.user_table.columns["plan"]
        assert [sorted(texts[at : at + 5]) for at in range(0, 20, 5)] == [list("abcde")] * 4


@pytest.mark.parametrize("name", ["users", "groups", "sensitive"])
class TestEveryRelease:
    def test_holds_by_both_checkers_and_the_schema(self, releases, name):
        found = verify(releases / name, private=releases / f"{name}.private")
        assert found.holds
        assert found.private_found == []
        assert "user-table" in [limit.code for limit in found.not_covered]
        assert list(independent.problems(releases / name)) == []
        assert content_of(releases / name)["format"] == "recveil-release-11"
        jsonschema.validate(content_of(releases / name), json.loads(SCHEMA.read_text()))

    def test_has_a_row_for_each_record_in_order(self, releases, name):
        ids = [row["user_id"] for row in table_of(releases / name)]
        assert ids == Release.read(releases / name).ids()

    def test_its_card_names_them_and_what_they_reveal(self, releases, name):
        card = (releases / name / "README.md").read_text()
        assert "`users.csv`" in card
        assert ("class reveals them" in " ".join(card.split())) == (name != "sensitive")
        assert ("skewed" in card) == (name != "groups")

    def test_is_described_with_them(self, releases, name):
        describe(releases / name, releases / f"{name}.json")
        described = json.loads((releases / f"{name}.json").read_text())
        (found,) = [each for each in described["recordSet"] if each["name"] == "users"]
        columns = content_of(releases / name)["user_attributes"]["columns"]
        assert [field["name"] for field in found["field"]] == ["user_id", *columns]
        sensitive = [each["name"] for each in found["field"] if "sensitive" in each["description"]]
        stated = [text for text in described[PERSONAL] if "sensitive attribute, plan" in text]
        assert (sensitive, len(stated)) == (([], 0) if name == "groups" else (["plan"], 1))
        assert any("gender" in text for text in described[PERSONAL]) == (name != "sensitive")

    def test_the_private_folder_keeps_no_attributes(self, releases, name):
        for file in (releases / f"{name}.private").iterdir():
            assert b"gender" not in file.read_bytes()
            assert b"plan" not in file.read_bytes()

    @pytest.mark.parametrize("form", ["movielens", "recbole", "lenskit"])
    def test_is_converted_with_a_row_for_each_user(self, releases, name, form, tmp_path):
        convert(releases / name, tmp_path / "ml", target_format=form)
        table = Release.read(releases / name).users_table()
        file = {"movielens": "users.csv", "recbole": "ml.user", "lenskit": "user.parquet"}[form]
        assert len(table.row_of) == RATINGS.n_users
        if form == "lenskit":
            assert set(content_of(releases / name)["user_attributes"]["columns"]) <= set(
                independent.rows_of(tmp_path / "ml" / file)[0]
            )
        else:
            assert len((tmp_path / "ml" / file).read_text().splitlines()) == 1 + RATINGS.n_users


def test_missing_sensitive_values_are_as_published(tmp_path):
    given = attributes_of(RATINGS.users.tolist())
    given |= {user: (*given[user][:2], "") for user in RATINGS.users.tolist()[::9]}
    users = written(tmp_path / "users.csv", given)
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1, users=users, **ALL)
    attacked = {"release": tmp_path / "out", "attribute": "plan", "curves": False, "targets": 20}
    assert audit(RATINGS, users=users, **attacked).to_dict()["release"]
    given |= {user: (*given[user][:2], "of others") for user in RATINGS.users.tolist()[::2]}
    with raises("release.mismatch"):
        audit(RATINGS, users=written(tmp_path / "others.csv", given), **attacked)


def test_recbole_has_no_column_with_a_colon(tmp_path):
    lines = [f"{user},{'FM'[user % 2]}" for user in RATINGS.users.tolist()]
    (tmp_path / "users.csv").write_text("\n".join(["user_id,sex:token", *lines, ""]))
    options = {"users": tmp_path / "users.csv", "attribute": "sex:token"}
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1, **options)
    with raises("id.line-break", "'sex:token'"):
        convert(tmp_path / "out", tmp_path / "atomic", target_format="recbole")
    convert(tmp_path / "out", tmp_path / "ml", target_format="movielens")


def test_a_report_has_the_audit_of_adversaries_who_know_attributes(releases, users, tmp_path):
    write_ratings(RATINGS, tmp_path / "ratings.csv")
    options = {"ratings": tmp_path / "ratings.csv", "force": True}
    made = report(releases / "groups", tmp_path / "report.html", **options, users=users)
    attacked = {"release": releases / "groups", "attribute": ["gender"], "users": users}
    assert made.audit["risks"] == audit(tmp_path / "ratings.csv", **attacked).to_dict()["risks"]
    with raises("option.required", "groups"):
        report(releases / "groups", tmp_path / "report.html", **options)
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1)
    with raises("option.unsupported", "out"):
        report(tmp_path / "out", tmp_path / "report.html", **options, users=users)


def test_shared_values_are_the_users_own(releases, users):
    """Each user's published value is theirs, or suppressed; in any class all are the same."""
    given = attributes_of(RATINGS.users.tolist())
    private = rv.release.reader.read_private_folder(releases / "users")
    of_id = {row["user_id"]: row for row in table_of(releases / "users")}
    n_kept = 0
    for user, published in zip(private.users.to_pylist(), private.ids, strict=True):
        row = of_id[published]
        assert row["gender"] in (given[user][0], "*")
        assert row["age_group"] in (given[user][1], "*")
        n_kept += row["gender"] != "*"
    assert n_kept == verify(releases / "users").attributes["gender"]


def test_sensitive_values_are_not_those_of_the_users_next_to_them(tmp_path, users):
    """Over all users, a published id has its user's plan about as often as its class has it."""
    anonymize(RATINGS, tmp_path / "out", k=5, seed=3, users=users, sensitive_attribute="plan")
    given = attributes_of(RATINGS.users.tolist())
    private = rv.release.reader.read_private_folder(tmp_path / "out")
    of_id = {row["user_id"]: row["plan"] for row in table_of(tmp_path / "out")}
    pairs = zip(private.users.to_pylist(), private.ids, strict=True)
    shown = [(given[user][2], of_id[each]) for user, each in pairs if of_id[each] != "*"]
    assert len(shown) > 60
    assert np.mean([own == published for own, published in shown]) < 0.45
    assert Counter(own for own, _ in shown) == Counter(published for _, published in shown)


def test_a_release_without_them_is_as_before(tmp_path, users):
    anonymize(RATINGS, tmp_path / "a", k=5, seed=1)
    assert content_of(tmp_path / "a")["format"] == "recveil-release-9"
    assert "user_attributes" not in content_of(tmp_path / "a")
    assert Release.read(tmp_path / "a").users_table() is None
    assert verify(tmp_path / "a").attributes is None


def test_a_release_in_memory_has_them(releases, tmp_path, users):
    made = anonymize(RATINGS, k=5, seed=1, users=users, **ALL)
    made.write(tmp_path / "out", file_format="csv")
    for file in (releases / "users").iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    assert made.users_table() == Release.read(tmp_path / "out").users_table()


def test_the_run_reports_what_stays_out_and_what_is_published(users, tmp_path):
    made = anonymize(RATINGS, tmp_path / "out", k=5, seed=1, users=users, **ALL)
    assert made.reading.notes[-1] == (
        "User attributes: gender, age_group, plan are published in users.csv. Not declared, and so "
        "left out: 'shoe'."
    )
    assert list(made.verification.attributes) == ["gender", "age_group", "plan"]


def test_a_word_that_may_mean_missing_is_reported(tmp_path):
    rows = attributes_of(RATINGS.users.tolist())
    rows = {user: ("N/A" if row[0] == "M" else "F", *row[1:]) for user, row in rows.items()}
    users = written(tmp_path / "u.csv", rows)
    made = anonymize(RATINGS, tmp_path / "out", k=5, users=users, attribute=["gender"])
    assert "'N/A' counts as a value" in made.reading.notes[-1]


def test_dates_and_attributes_together(tmp_path, users):
    days = np.arange(RATINGS.n_ratings) % 700 + 10_000
    dated = rv.Ratings(
        RATINGS.users,
        RATINGS.items,
        RATINGS.indptr,
        RATINGS.indices,
        RATINGS.values,
        days.astype(np.int32),
        RATINGS.scale,
    )
    anonymize(dated, tmp_path / "out", k=5, seed=1, users=users, dates="year", **ALL)
    assert verify(tmp_path / "out").holds
    assert list(independent.problems(tmp_path / "out")) == []


class TestErasure:
    """What a release with attributes has of user 7, and what to do about it."""

    def erased(self, folder, releases, name):
        for each in (name, f"{name}.private"):
            shutil.copytree(releases / each, folder / each)
        return forget(folder / name, user=7)

    def test_a_class_with_sensitive_values_has_theirs(self, releases, tmp_path):
        result = self.erased(tmp_path, releases, "users")
        (own,) = result.newest.record_ids
        row = next(row for row in table_of(releases / "users") if row["user_id"] == own)
        shared = {name: row[name] for name in ("gender", "age_group")}
        assert result.newest.finding["attributes"] == shared
        is_shown = result.newest.shows == "plan"
        assert is_shown == (row["plan"] != "*")
        assert result.decision == "row-kept"
        words = next_command(result)
        repeated = "--users USERS --attribute gender --attribute age_group "
        repeated += "--sensitive-attribute plan --attribute-l 2"
        assert {"--previous", repeated} == {
            each for each in ("--previous", repeated) if each in words
        }
        assert any("USERS is the file" in each for each in result.sentences())
        assert any("its sensitive values" in each for each in result.sentences())
        assert any(f"gender {row['gender']}" in each for each in result.sentences())

    def test_shared_attributes_stay_with_the_row(self, releases, tmp_path):
        result = self.erased(tmp_path, releases, "groups")
        assert (result.decision, result.newest.shows) == ("row-kept", "")
        assert "--users USERS --attribute gender" in next_command(result)
        assert result.newest.class_size >= 5


class TestAnyAttributes:
    @settings(max_examples=12, deadline=None)
    @given(
        seed=st.integers(0, 10**6),
        k=st.integers(2, 8),
        limit=st.integers(2, 3),
        n_values=st.tuples(st.integers(1, 4), st.integers(1, 6)),
        missing=st.sampled_from([0, 0.2, 0.7]),
    )
    def test_classes_share_them(self, tmp_path_factory, seed, k, limit, n_values, missing):
        rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("any")
        ratings = make_ratings(n_users=90, n_items=15, n_ratings=500, seed=seed % 7)
        # Plans are as common as can be; the first one dominates for some seeds.
        plan = np.where(rng.random(90) < seed % 3 / 4, "p0", [f"p{at % 4}" for at in range(90)])
        texts = {
            user: (
                *(f"v{rng.integers(n)}" if rng.random() >= missing else "" for n in n_values),
                plan[at],
            )
            for at, user in enumerate(ratings.users.tolist())
        }
        try:
            made = anonymize(
                ratings,
                folder / "out",
                k=k,
                seed=seed,
                users=written(folder / "users.csv", texts),
                attribute=["gender", "age_group"],
                sensitive_attribute="plan",
                attribute_l=min(limit, k),
                allow_sparse_coverage=True,
                file_format="csv",
            )
        except rv.RecveilError as error:  # a rare value is unknown then
            if error.code not in ("option.value", "input.empty", "column.type", "attribute.values"):
                raise
            return
        assert made.verification.holds
        assert list(independent.problems(folder / "out")) == []
        rows, sizes, plans = table_of(folder / "out"), Counter(), defaultdict(Counter)
        record_of = defaultdict(list)
        for cell in independent.rows_of(folder / "out" / "ratings.csv"):
            record_of[cell["user_id"]].append((cell["item_id"], cell["rating"]))
        for row in rows:
            key = (*record_of[row["user_id"]], row["gender"], row["age_group"])
            sizes[key] += 1
            plans[key][row["plan"]] += row["plan"] != "*"
        assert min(sizes.values()) >= k
        for counts in plans.values():
            assert max(counts.values()) * min(limit, k) <= counts.total()


def forge(folder, change):
    """Change the lines of users.csv, and make the digests fit."""
    lines = (folder / "users.csv").read_text().splitlines()
    (folder / "users.csv").write_text("".join(f"{line}\n" for line in change(lines)))
    forging.sign(folder)


def replaced(at, old, new):
    """Replace the value of a column of the first user who has it."""

    def change(lines):
        for place, line in enumerate(lines):
            fields = line.split(",")
            if place and (fields[at] == f'"{old}"' or old is None):
                lines[place] = ",".join([*fields[:at], new, *fields[at + 1 :]])
                return lines
        raise AssertionError(old)

    return change


def first_class_has_one_plan(lines):
    """Give all users of the first class who have a plan the first one's."""
    plans = [line.split(",")[3] for line in lines]
    first = next(at for at in range(1, len(lines)) if plans[at] != '"*"')
    return [
        line.replace(plans[at], plans[first]) if first <= at < first + 3 else line
        for at, line in enumerate(lines)
    ]


def only_one_plan_of_the_first_class(lines):
    """Suppress the plans of the first class that shows some, but for one user's."""
    first = next(at for at in range(1, len(lines)) if lines[at].split(",")[3] != '"*"')
    shared = lines[first].split(",")[1:3]
    for at in range(first + 1, len(lines)):
        if lines[at].split(",")[1:3] != shared:
            break
        lines[at] = f'{lines[at].rpartition(",")[0]},"*"'
    return lines


class TestTampering:
    @pytest.mark.parametrize(
        "change",
        [
            lambda lines: lines[:-1],
            lambda lines: [*lines, lines[-1]],
            lambda lines: [lines[0], *reversed(lines[1:])],
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            lambda lines: [*lines, ""],
            lambda lines: [lines[0] + ',"more"', *(f'{line},"1"' for line in lines[1:])],
            lambda lines: [line.rpartition(",")[0] for line in lines],
            lambda lines: [lines[0].replace("plan", "tariff"), *lines[1:]],
            replaced(1, "F", '"M"'),
            replaced(1, "M", '"*"'),
            replaced(2, "35+", '"25-34"'),
            replaced(1, "F", "F"),
            replaced(1, "F", '""'),
            replaced(1, "F", '" F"'),
            replaced(1, "F", '"F\t"'),
            replaced(1, None, f'"{"F" * 101}"'),
            replaced(3, None, f'"{"x" * 101}"'),
            replaced(3, None, '""'),
            only_one_plan_of_the_first_class,
            first_class_has_one_plan,
        ],
    )
    def test_both_checkers_find_a_changed_table(self, copied, change):
        before = (copied / "users.csv").read_text()
        forge(copied, change)
        assert before != (copied / "users.csv").read_text()
        assert list(independent.problems(copied))
        assert not verify(copied).holds

    @pytest.mark.parametrize(
        "about",
        [
            [],
            {},
            7,
            {"columns": []},
            {"columns": ["gender", "age_group"]},
            {"columns": ["gender", "age_group", "plan"]},
            {"columns": ["gender", "age_group", "plan"], "sensitive": "gender", "l": 2},
            {"columns": ["gender", "age_group", "plan"], "sensitive": "plan", "l": 1},
            {"columns": ["gender", "age_group", "plan"], "sensitive": "plan", "l": 5},
            {"columns": ["gender", "age_group", "plan"], "sensitive": "plan", "l": 6},
            {"columns": ["gender", "age_group", "plan"], "sensitive": "plan", "l": 2.0},
            {"columns": ["gender", "age_group", "plan"], "l": 2, "sensitive": "plan"},
            {"columns": ["gender", "age_group", "plan"], "sensitive": "plan", "l": 2, "note": ""},
            {"columns": ["gender", "user_id", "plan"], "sensitive": "plan", "l": 2},
            {"columns": ["gender", "age_group", "plan"], "values": [["F", "M"]] * 3},
        ],
    )
    def test_both_checkers_find_changed_statements(self, copied, about):
        forging.forge(copied, lambda result: result.update(user_attributes=about))
        # Without a limit of plans, a claim to have checked more is given up.
        weaker = about == {"columns": ["gender", "age_group", "plan"]}
        assert list(independent.problems(copied)) or weaker
        assert not holds(copied) or weaker

    @pytest.mark.parametrize("number", [8, 9, 10, 12])
    def test_other_formats_have_none(self, copied, number):
        new = f"recveil-release-{number}"
        forging.forge(copied, lambda result: result.update(format=new))
        assert not holds(copied)
        assert list(independent.problems(copied))

    def test_a_table_that_release_json_does_not_state(self, copied):
        forging.forge(copied, lambda result: result.pop("user_attributes"))
        assert not holds(copied)
        assert list(independent.problems(copied))

    def test_a_missing_table(self, copied):
        (copied / "users.csv").unlink()
        assert "the file is missing" in [each.problem for each in verify(copied).violations]

    def test_a_changed_file_is_not_read(self, copied):
        (copied / "users.csv").write_text((copied / "users.csv").read_text().replace("F", "M"))
        with raises("release.damaged"):
            Release.read(copied).users_table()

    def test_a_larger_k_counts_attributes_too(self, copied):
        found = verify(copied, k=11)
        assert not found.holds
        assert found.k_achieved < 11

    @pytest.mark.parametrize("prefix", ["", "u"])
    def test_ids_of_users_are_found_by_the_publisher(self, tmp_path, prefix):
        out, private = tmp_path / "out", tmp_path / "out.private"
        ids = [f"{prefix}{1000 + user}" for user in RATINGS.users.tolist()]
        texts = attributes_of(ids)
        file = written(tmp_path / "users.csv", texts)
        ids_of_ratings = np.repeat(ids, RATINGS.activity)
        table = rv.Ratings.from_columns(
            ids_of_ratings if prefix else ids_of_ratings.astype(int),
            RATINGS.items[RATINGS.indices],
            RATINGS.values,
            scale=RATINGS.scale,
        )
        anonymize(table, out, k=5, seed=1, users=file, sensitive_attribute="plan")
        rest = iter(ids)
        forge(
            out,
            lambda lines: [
                lines[0],
                *(f'{line.partition(",")[0]},"{next(rest)}"' for line in lines[1:]),
            ],
        )
        content = json.loads((private / "private.json").read_text())
        content["release"]["sha256"] = FileEntry.of(out / "release.json").sha256
        (private / "private.json").write_text(json.dumps(content))
        found = verify(out, private=private).private_found
        assert found == ["users.csv: column 2 contains ids of users"]

    def test_columns_of_ids_are_not_published(self, tmp_path):
        ids = [f"u{user}" for user in RATINGS.users.tolist()]
        table = rv.Ratings.from_columns(
            np.repeat(ids, RATINGS.activity),
            RATINGS.items[RATINGS.indices],
            RATINGS.values,
            scale=RATINGS.scale,
        )
        texts = {user: (ids[at % 12], *"ab") for at, user in enumerate(ids)}
        file = written(tmp_path / "users.csv", texts)
        with raises("id.personal", "'gender'"):
            anonymize(table, k=5, users=file, attribute=["gender"])


def holds(folder):
    """Return whether a release can be read, and holds."""
    try:
        return verify(folder).holds
    except rv.RecveilError:
        return False


class TestBadAttributes:
    @pytest.fixture
    def reject(self, tmp_path):
        def run(code, *words, change=lambda user, row: row, **options):
            given = attributes_of(RATINGS.users.tolist())
            given = {user: change(user, row) for user, row in given.items()}
            options = {"attribute": ["gender"], "k": 5} | options
            with raises(code, *words):
                anonymize(RATINGS, users=written(tmp_path / "users.csv", given), **options)

        return run

    def test_numbers_that_are_not_binned(self, reject):
        reject(
            "column.type",
            "'age_group'",
            "have digits",
            change=lambda user, row: (row[0], (7 * user + 3) % 40, row[2]),
            attribute=["gender", "age_group"],
        )

    def test_texts_that_few_users_share(self, reject):
        reject(
            "column.type",
            "'gender'",
            "bin it first",
            change=lambda user, row: ("abcde"[user % 5] + "klmnopqrst"[user % 10], *row[1:]),
        )

    @pytest.mark.parametrize("text", ["{} years", "x{}"])
    @pytest.mark.parametrize("role", ["attribute", "sensitive_attribute"])
    def test_numbers_among_texts(self, reject, text, role):
        def change(user, row):
            return (text.format((7 * user + 3) % 37) if user % 9 else "none", *row[1:])

        options = {"attribute": None, role: ["gender"] if role == "attribute" else "gender"}
        named = f"--{role.replace('_', '-')}) 'gender'"
        reject("column.type", named, "have digits", change=change, **options)

    def test_values_of_fewer_users_than_a_cluster(self, reject):
        """12 values of 10 users each: all are shared by 5, and none by 20."""
        change = {"change": lambda user, row: ("abcdefghijkl"[user % 12], *row[1:])}
        reject("column.type", "'gender'", "19 others", **change)

    def test_rare_combinations(self, reject):
        """Each of 6 genders and 5 ages has 20 users or 24, and each combination 4."""

        def change(user, row):
            return ("abcdef"[user % 6], "abcde"[(user - 1) // 6 % 5], row[2])

        both = ["gender", "age_group"]
        reject("attribute.values", "'age_group'", "100%", change=change, attribute=both)

    def test_sensitive_values_that_no_class_can_show(self, reject):
        change = {"change": lambda user, row: (*row[:2], "free" if user % 4 else "pro")}
        options = {"attribute": None, "sensitive_attribute": "plan"}
        reject("attribute.values", "'plan'", "at most 50%", **change, **options)

    @pytest.mark.parametrize("text", ["{}", "{}@mail.org", "of {}."])
    def test_names_of_users_within_a_cell(self, tmp_path, text):
        """Each of 24 users heads a household of 5."""
        names = [f"{first}{last}" for first in "abcdefghij" for last in ("nna", "rno", "lma")]
        names += [f"{first}{last}" for first in "klmnopqrst" for last in "abcdefghi"]
        table = RATINGS.to_pandas()[["user_id", "item_id", "rating"]]
        table["user_id"] = [names[user - 1] for user in table["user_id"]]
        heads = {name: (text.format(names[at % 24]), "", "") for at, name in enumerate(names)}
        options = {"users": written(tmp_path / "users.csv", heads), "sensitive_attribute": "gender"}
        with raises("id.personal", "'gender'"):
            anonymize(table, k=5, scale="1:5:1", **options)

    @pytest.mark.parametrize("text", ["{}", "no. {}"])
    def test_ids_of_their_own_users(self, reject, text):
        """Of 120 users, 12 have their own id, which one has by chance."""

        def change(user, row):
            return (text.format(user) if user % 10 == 0 else "none", *row[1:])

        reject("id.personal", "'gender'", change=change)

    def test_a_column_without_values(self, reject):
        reject("input.empty", "'gender'", change=lambda user, row: ("", *row[1:]))

    @pytest.mark.parametrize("text", ["F\x07", "9" * 5_000])
    def test_cells_that_are_not_shown(self, reject, text):
        reject("id.line-break", "'gender'", change=lambda user, row: (text, *row[1:]))

    def test_values_too_few_for_l(self, reject):
        one = {"change": lambda user, row: (*row[:2], "free"), "sensitive_attribute": "plan"}
        reject("option.value", "'plan'", **one)

    @pytest.mark.parametrize(
        ("code", "options"),
        [
            ("option.required", {"attribute": None}),
            ("option.required", {"users": None}),
            ("option.required", {"attribute_l": 2}),
            ("option.value", {"attribute_l": 6, "sensitive_attribute": "plan"}),
            ("option.value", {"attribute_l": 1, "sensitive_attribute": "plan"}),
            ("column.missing", {"attribute": ["height"]}),
            ("column.type", {"attribute": ["item"]}),
            ("option.conflict", {"hide_items": True}),
            ("option.unsupported", {"method": "predictive"}),
            ("option.required", {"k": None, "epsilon": 3, "scale": "1:5:1"}),
        ],
    )
    def test_options(self, users, code, options):
        given = {"users": users, "attribute": ["gender"], "k": 5} | options
        with raises(code):
            anonymize(RATINGS, **given)

    def test_a_sensitive_value_in_a_group(self, users, tmp_path):
        options = {"k": 5, "users": users, "sensitive_attribute": "plan"}
        with raises("option.conflict"):
            anonymize(RATINGS, tmp_path / "out", layout="groups", **options)
        with raises("option.unsupported"):
            anonymize(RATINGS, **options).write(tmp_path / "out", layout="groups")

    @pytest.mark.parametrize(
        ("previous", "options"),
        [
            (None, {"attribute": ["gender"]}),
            ("users", {"attribute": ["gender"]}),
            ("users", ALL | {"attribute": ["age_group", "gender"]}),
            ("users", ALL | {"attribute_l": 3}),
            ("users", {"attribute": ["gender", "age_group", "plan"]}),
        ],
    )
    def test_others_than_those_of_the_release_that_is_followed(
        self, users, releases, tmp_path, previous, options
    ):
        anonymize(RATINGS, tmp_path / "april", k=5, seed=1)
        private = f"{tmp_path / 'april' if previous is None else releases / previous}.private"
        with raises("release.mismatch", "users"):
            anonymize(RATINGS, tmp_path / "may", k=5, users=users, previous=private, **options)

    def test_spark_has_none(self, users, tmp_path):
        spark = pytest.importorskip("recveil.spark", reason="pyspark is not installed")
        with raises("option.unsupported", "users"):
            spark.anonymize("ratings.parquet", tmp_path / "out", k=5, users=users)


@pytest.mark.parametrize("text", ["{}", "by #{}"])
def test_the_number_of_one_user_among_ids_that_are_far_apart_is_rejected(tmp_path, text):
    ids = np.sort(np.random.default_rng(1).choice(10**7, RATINGS.n_users, replace=False))
    users, items = np.repeat(ids, RATINGS.activity), RATINGS.items[RATINGS.indices]
    table = Ratings.from_columns(users, items, RATINGS.values, scale=RATINGS.scale)
    for value, is_id in ((ids[7], True), (ids[7] + 1, False)):
        texts = {
            user: (text.format(value) if at % 4 else "none", "", "") for at, user in enumerate(ids)
        }
        options = {"k": 5, "users": written(tmp_path / "users.csv", texts), "attribute": "gender"}
        if is_id:
            with raises("id.personal", "'gender'"):
                anonymize(table, **options)
        else:
            assert anonymize(table, **options).published.user_table is not None


def test_codes_that_are_ids_of_users_too_are_published(tmp_path):
    users = RATINGS.users.tolist()
    texts = {user: (1 + at % 4, "", "") for at, user in enumerate(users)}
    file = written(tmp_path / "users.csv", texts)
    made = anonymize(RATINGS, k=5, users=file, attribute="gender")
    assert {*made.published.user_table.columns["gender"]} == {"1", "2", "3", "4"}


def test_a_fifth_without_a_value_is_warned_about(tmp_path):
    users = RATINGS.users.tolist()
    texts = {user: ("a" if at % 4 else "", "b", "") for at, user in enumerate(users)}
    file = written(tmp_path / "users.csv", texts)
    both = {"k": 5, "users": file, "attribute": ["age_group", "gender"]}
    with pytest.warns(CoverageWarning, match=r'gender is "\*" for 25% of the users') as caught:
        made = anonymize(RATINGS, tmp_path / "out", **both)
    assert not [each for each in caught if 'age_group is "*"' in str(each.message)]
    assert [each for each in made.warnings() if "gender" in each and "25%" in each]


@pytest.mark.parametrize("texts", [("hiv", "HIV", "flu"), ("a b", "a-b"), ("ﬁt", "fit")])
@pytest.mark.parametrize("role", ["attribute", "sensitive_attribute"])
def test_spellings_of_one_value_are_no_several_values(tmp_path, texts, role):
    users = RATINGS.users.tolist()
    lines = [f"{user},{texts[place % len(texts)]}" for place, user in enumerate(users)]
    (tmp_path / "users.csv").write_text("\n".join(["user_id,plan", *lines, ""]))
    with raises("attribute.values"):
        anonymize(RATINGS, tmp_path / "out", k=5, users=tmp_path / "users.csv", **{role: "plan"})
    assert not (tmp_path / "out").exists()


def test_values_that_signs_distinguish_are_several(tmp_path):
    users, texts = RATINGS.users.tolist(), ("A", "A-", "<18", "18", "1-5", "15")
    lines = [f"{user},{texts[place % len(texts)]}" for place, user in enumerate(users)]
    (tmp_path / "users.csv").write_text("\n".join(["user_id,plan", *lines, ""]))
    options = {"users": tmp_path / "users.csv", "sensitive_attribute": "plan"}
    assert anonymize(RATINGS, tmp_path / "out", k=5, **options).verification.holds


@pytest.mark.parametrize("plan", ["ann-1", "met Ann-1 twice"])
def test_a_value_with_the_name_of_a_user_is_rejected(tmp_path, plan):
    names = [f"ann-{user}" for user in RATINGS.users.tolist()]
    users = np.repeat(np.array(names, object), RATINGS.activity)
    items = RATINGS.items[RATINGS.indices]
    table = Ratings.from_columns(users, items, RATINGS.values, scale=RATINGS.scale)
    lines = [f"{name},{('free', 'basic', plan)[at % 3]}" for at, name in enumerate(names)]
    (tmp_path / "users.csv").write_text("\n".join(["user_id,plan", *lines, ""]))
    with raises("id.personal"):
        anonymize(table, k=5, users=tmp_path / "users.csv", attribute="plan")


def test_a_few_rare_values_do_not_hide_a_whole_stratum():
    rows = generalize([("F",)] * 152 + [("M",)] * 147 + [("X",)], 20)
    assert Counter(rows) == {("F",): 133, ("M",): 147, ("*",): 20}
    assert Counter(generalize([("F",)] * 30 + [("X",)], 20)) == {("*",): 31}
