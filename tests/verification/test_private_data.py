"""The scan finds what was planted, reports no value, and raises no alarm where nothing is."""

import getpass
import hashlib
import json
import pwd
import socket
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows
from recveil.methods.base import anonymize_hidden
from recveil.publish import Release, folder
from recveil.ratings import Ratings
from recveil.release.records import Groups
from recveil.verification import verify

SEED = 918_273_645
USERS = [f"user{number:04d}@example.org" for number in range(120)]

# Words of the card, and of other places that are the same in all releases.
WORDS_OF_CARD = ["people", "rating", "the", "user_id", "item_id", "README", "release", "seed"]


def table(users=USERS, name_of_item=str):
    """Invented ratings by users of these ids, of items of such names."""
    made = make_ratings(n_users=len(users), n_items=30, n_ratings=12 * len(users), seed=5)
    frame = made.to_arrow()
    by_id = dict(zip(sorted(set(frame["user_id"].to_pylist())), users, strict=True))
    user_ids = [by_id[user] for user in frame["user_id"].to_pylist()]
    items = [name_of_item(item) for item in frame["item_id"].to_pylist()]
    return Ratings.from_columns(user_ids, items, frame["rating"].to_pylist(), scale=made.scale)


@pytest.fixture(scope="module")
def release():
    return PredictiveAnonymizer(3, seed=SEED, predictor="item-mean").anonymize(table())


@pytest.fixture
def out(release, tmp_path):
    release.write(tmp_path / "out")
    return tmp_path / "out"


def found(out):
    return verify(out, private=f"{out}.private").private_found


def belongs_again(out):
    """Let the private folder belong to a release.json that was changed."""
    file = out.with_name("out.private") / "private.json"
    stated = json.loads(file.read_text())
    stated["release"]["sha256"] = hashlib.sha256((out / "release.json").read_bytes()).hexdigest()
    file.write_text(json.dumps(stated))


def changed(out, **settings):
    file = out / "release.json"
    manifest = json.loads(file.read_text())
    manifest["settings"] |= settings
    file.write_text(json.dumps(manifest, indent=2) + "\n")
    belongs_again(out)


def test_a_user_without_a_home_or_a_name_has_none_to_be_found(out, monkeypatch):
    """As in a container that runs under a number."""

    def unknown(*_):
        raise KeyError(54321)

    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert found(out) == []
    assert verify(out, private=f"{out}.private").holds


class TestNothingIsThere:
    """No alarm where nothing was planted."""

    @pytest.mark.parametrize("layout", ["users", "groups"])
    @pytest.mark.parametrize("file_format", ["parquet", "csv"])
    def test_of_a_release(self, release, tmp_path, layout, file_format):
        release.write(tmp_path / "out", layout=layout, file_format=file_format)
        result = verify(tmp_path / "out", private=tmp_path / "out.private")
        assert (result.holds, result.private_found) == (True, [])

    @pytest.mark.parametrize(
        "anonymizer",
        [
            KCoRater(3, seed=1),
            KCoRater(3, seed=1, protect="mean"),
            SparseRows(3, seed=1),
            PredictiveAnonymizer(3, seed=1, homogenize="simple"),
        ],
        ids=lambda anonymizer: type(anonymizer).__name__,
    )
    @pytest.mark.parametrize("hides", [False, True])
    def test_of_any_method(self, tmp_path, anonymizer, hides):
        ratings = table(range(1, 121))
        sides = anonymize_hidden(ratings, anonymizer, 1) if hides else anonymizer.anonymize(ratings)
        Release(sides.published, sides.private).write(tmp_path / "out")
        assert found(tmp_path / "out") == []

    @pytest.mark.parametrize(
        "users",
        [
            [f"{word}{number}" for number in range(60) for word in ("p", "rating")],
            [*WORDS_OF_CARD, *(f"everybody{number}" for number in range(60))],
            [1_000_000 + 7 * number for number in range(120)],
            [f"{number:08x}" for number in range(0, 120 * 37, 37)],
        ],
        ids=["short", "words of the card", "numbers", "hexadecimal"],
    )
    def test_of_ids_that_stand_in_the_card_by_chance(self, users, tmp_path):
        sides = PredictiveAnonymizer(3, seed=1).anonymize(table(users))
        sides.write(tmp_path / "out", file_format="csv")
        assert found(tmp_path / "out") == []

    def test_of_titles_that_are_an_id_of_a_user(self, tmp_path):
        titles = ["Godzilla (1998)", "Spider-Man 2", "Apollo 13", "12:08:30 East", "The Matrix"]
        users = ["godzilla", "spider-man", "apollo 13", "matrix", *USERS[:116]]
        ratings = table(users, lambda item: f"{titles[item % 5]} part {item}")
        PredictiveAnonymizer(3, seed=1).anonymize(ratings).write(tmp_path / "out")
        assert found(tmp_path / "out") == []


class TestPlanted:
    """Everything that is planted is found, and reported without being repeated."""

    def describe(self, out, *parts):
        result = verify(out, private=f"{out}.private")
        assert not result.holds
        text = " | ".join(result.private_found)
        for part in parts:
            assert part in text
        for secret in (*USERS, str(SEED)):
            assert secret not in text
        return text

    @pytest.mark.parametrize(
        ("planted", "stated"),
        [
            (USERS[7], "README.md: contains a private id"),
            (f"made by {USERS[7].upper()}!", "README.md: contains a private id"),
            (
                f"{USERS[7]} and {USERS[8]}",
                "README.md: contains a private id (at least 2 of them)",
            ),
            (f"seed {SEED}", "README.md: contains the seed"),
            ("seed 918,273,645", "README.md: contains the seed"),
            ("written 2026-03-01T12:30:00", "README.md: contains a time of day"),
            ("at 12:30:07", "README.md: contains a time of day"),
        ],
    )
    def test_in_the_card(self, out, planted, stated):
        with (out / "README.md").open("a") as card:
            card.write(f"\n{planted}\n")
        self.describe(out, stated)

    def test_who_made_it_and_where(self, out, monkeypatch):
        monkeypatch.setattr(socket, "gethostname", lambda: "lab-seven.example.org")
        monkeypatch.setattr(getpass, "getuser", lambda: "annika")
        with (out / "README.md").open("a") as card:
            card.write(f"by annika, on lab-seven, in {out.parent}")
        self.describe(
            out, "name of this machine's user", "the name of this machine", "a path of this"
        )

    def test_in_release_json(self, out):
        changed(out, predictor=f"for {USERS[3]}", seed=SEED)
        self.describe(out, "release.json: contains a private id", "release.json: contains the seed")

    def test_as_the_name_of_somebodys_own_class(self, tmp_path):
        """The one place in a release that verifies where words are free."""
        users = ["annika", *USERS[:119]]
        sides = PredictiveAnonymizer(3, seed=1).anonymize(table(users))
        settings = sides.published.settings | {"grouping": "Annika"}
        made = Release(replace(sides.published, settings=settings), sides.private)
        with raises("release.refused") as error:
            made.write(tmp_path / "out")
        assert "release.json" in str(error.value)
        assert list(tmp_path.iterdir()) == []

    def test_in_the_list_of_classes(self, out):
        with (out / "classes.csv").open("a") as classes:
            classes.write(f"{USERS[0]},3\n")
        self.describe(out, "classes.csv: contains a private id")

    def test_in_another_file_and_its_name(self, out):
        (out / f"{USERS[0]}.txt").write_text("")
        (out / "notes.txt").write_text(USERS[1])
        text = self.describe(out)
        assert text.count("another file, or its name: contains a private id") == 2

    @pytest.mark.parametrize("where", ["metadata", "column"])
    def test_next_to_the_values_of_a_parquet_file(self, out, where):
        ratings = pq.read_table(out / "ratings.parquet")
        if where == "metadata":
            ratings = ratings.replace_schema_metadata({"owner": USERS[0]})
        else:
            ratings = ratings.append_column(USERS[0], pa.array([1] * ratings.num_rows))
        pq.write_table(ratings, out / "ratings.parquet")
        self.describe(out, "ratings.parquet: contains a private id")

    @pytest.mark.parametrize("form", ["{}", "p0000-{}"])
    def test_in_the_stand_of_pseudonyms(self, out, form):
        ratings = pq.read_table(out / "ratings.parquet")
        names = ratings["user_id"].to_pylist()
        names = [form.format(USERS[4]) if name == names[0] else name for name in names]
        pq.write_table(ratings.set_column(0, "user_id", pa.array(names)), out / "ratings.parquet")
        self.describe(out, "user_id: ")

    def test_users_in_the_ids_of_items_are_not_written(self, tmp_path):
        ratings = table(name_of_item=lambda item: f"the list of {USERS[item]}, {item}")
        sides = PredictiveAnonymizer(3, seed=1).anonymize(ratings)
        with raises("release.refused") as error:
            sides.write(tmp_path / "out")
        assert "30 user ids" in str(error.value)
        assert list(tmp_path.iterdir()) == []
        hidden = anonymize_hidden(ratings, PredictiveAnonymizer(3, seed=1), 1)
        Release(hidden.published, hidden.private).write(tmp_path / "out")
        assert found(tmp_path / "out") == []

    def test_users_in_the_column_of_items_are_not_written(self, tmp_path):
        """Single words reveal nothing, but not if half of them are ids of items."""
        words = ["".join(chr(97 + int(digit)) for digit in f"{n:05d}") for n in range(120)]
        ratings = table(words, lambda item: words[item])
        few = [words[0], *USERS[:119]]
        PredictiveAnonymizer(3, seed=1).anonymize(table(few, lambda item: words[item])).write(
            tmp_path / "few"
        )
        user_ids = [*words[:31], *words[40:50]]
        assert len(set(ratings.items) & set(words)) == 30
        fewer = table(user_ids, lambda item: words[item])
        with raises("release.refused") as error:
            PredictiveAnonymizer(3, seed=1).anonymize(fewer).write(tmp_path / "out")
        assert "30 of 41 user ids" in str(error.value)


class TestOrder:
    @pytest.mark.parametrize("stated", ["rise", "fall"])
    def test_an_order_of_groups_that_reveals_users_is_not_written(self, tmp_path, stated):
        made = PredictiveAnonymizer(3, seed=1, homogenize="simple").anonymize(table(range(1, 121)))
        groups, private = made.private.groups, made.private
        members = np.arange(120) if stated == "rise" else np.arange(120)[::-1]
        # Who is where is changed, not the rows: the scan looks at the order, and verify at rows.
        swapped = replace(private, groups=Groups(members, groups.starts))
        with raises("release.refused") as error:
            Release(made.published, swapped).write(tmp_path / "out")
        assert f"it {stated}s" in str(error.value)

    def test_an_order_of_the_members_of_each_group_is_not_written(self, tmp_path):
        """Records of k-coRating differ, so that the order within a group reveals who is who."""
        made = KCoRater(3, seed=1).anonymize(table(range(1, 121)))
        made.write(tmp_path / "right", layout="users")
        assert found(tmp_path / "right") == []
        rows = pq.read_table(tmp_path / "right" / "ratings.parquet").to_pandas()
        items = rows.groupby("user_id", sort=False)["item_id"].agg(tuple)
        starts = np.flatnonzero(items.ne(items.shift()))
        assert starts.size < 50, "groups of three stand together"
        groups = made.private.groups
        members = [np.sort(part) for part in np.split(groups.members, starts[1:])]
        swapped = replace(made.private, groups=Groups(np.concatenate(members), groups.starts))
        with raises("release.refused") as error:
            Release(made.published, swapped).write(tmp_path / "out", layout="users")
        assert "it rises" in str(error.value)

    def test_pseudonyms_of_items_in_the_order_of_their_ids_are_not_written(self, tmp_path):
        hidden = anonymize_hidden(table(), PredictiveAnonymizer(3, seed=1), 1)
        sorted_items = np.sort(hidden.private.items)
        with raises("release.refused") as error:
            Release(hidden.published, replace(hidden.private, items=sorted_items)).write(
                tmp_path / "out"
            )
        assert "pseudonyms" in str(error.value)


class TestAsking:
    def test_on_the_command_line(self, out, capsys):
        def run(*options):
            with pytest.raises(SystemExit) as stop:
                main(["verify", str(out), *options])
            return stop.value.code or 0, capsys.readouterr().out

        code, text = run("--private", f"{out}.private")
        assert (code, "The release contains nothing of the private folder" in text) == (0, True)
        assert "nothing of the private folder" not in run()[1]
        with (out / "README.md").open("a") as card:
            card.write(USERS[0])
        code, text = run("--private", f"{out}.private", "--json", "-")
        assert (code, json.loads(text)["private_found"]) == (
            1,
            ["README.md: contains a private id"],
        )
        assert json.loads(run("--json", "-")[1])["private_found"] is None

    def test_what_it_cannot_see_is_said(self, out):
        limits = {limit.code for limit in verify(out, private=f"{out}.private").not_covered}
        assert {"private-values", "private-order", "machine"} <= limits
        assert "machine" not in {limit.code for limit in verify(out).not_covered}

    def test_another_release_s_private_folder_is_refused(self, out, release, tmp_path):
        release.write(tmp_path / "other", file_format="csv")
        with raises("private.mismatch"):
            verify(out, private=tmp_path / "other.private")

    def test_what_is_no_private_folder_is_refused(self, out, tmp_path):
        with raises("private.not-found"):
            verify(out, private=tmp_path)

    def test_a_plain_file_has_none(self, tmp_path):
        (tmp_path / "ratings.csv").write_text("user_id,item_id,rating\n1,7,4\n2,7,4\n")
        with raises("option.unsupported"):
            verify(tmp_path / "ratings.csv", k=2, private=tmp_path)

    def test_it_runs_before_every_rename(self, release, tmp_path, monkeypatch):
        asked = []

        def note(path, *, private=None):
            asked.append(private is not None and private.is_dir())
            return verify(path, private=private)

        monkeypatch.setattr(folder, "verify", note)
        release.write(tmp_path / "out")
        assert asked == [True]


def test_ids_of_items_that_a_spreadsheet_runs_are_reported(tmp_path):
    ratings = table(name_of_item=lambda item: f"=HYPERLINK({item})" if item < 5 else f"f{item}")
    PredictiveAnonymizer(3, seed=1).anonymize(ratings).write(tmp_path / "out")
    n = sum(item.startswith("=") for item in ratings.items)
    assert n > 1
    limits = {limit.code: limit.values for limit in verify(tmp_path / "out").not_covered}
    assert limits["formulas"] == (n,)
    PredictiveAnonymizer(3, seed=1).anonymize(table()).write(tmp_path / "plain")
    limits = {limit.code for limit in verify(tmp_path / "plain").not_covered}
    assert "formulas" not in limits


def test_anonymize_reports_them_too(tmp_path, capsys):
    ratings = table(name_of_item=lambda item: f"=HYPERLINK({item})" if item < 5 else f"f{item}")
    write_ratings(ratings, tmp_path / "ratings.csv")
    with pytest.raises(SystemExit) as stop:
        main(["anonymize", str(tmp_path / "ratings.csv"), "-o", str(tmp_path / "out"), "--k", "3"])
    assert not stop.value.code
    assert "begin like a formula" in capsys.readouterr().out
