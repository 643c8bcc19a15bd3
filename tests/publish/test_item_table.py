"""Public columns of items, published with a release: of its items alone, and of no user."""

import contextlib
import json
import shutil
from pathlib import Path

import forging
import independent
import jsonschema
import numpy as np
import pytest

import recveil as rv
from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io.item_features import ItemTable
from recveil.methods import anonymize, published_items, sample
from recveil.publish import Release, convert, describe
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import FileEntry
from recveil.verification import verify

FIVE = RatingScale(1, 5, 1)
RATINGS = make_ratings(n_users=60, n_items=24, n_ratings=700, seed=2)
SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
FILES = ["README.md", "classes.csv", "items.csv", "ratings.csv", "release.json"]


def rows_of(items):
    return "".join(f'{item},"Film ""{item}"", the",drama|crime,{1900 + item}\n' for item in items)


@pytest.fixture(scope="module")
def movies(tmp_path_factory):
    """A catalogue of more items than are rated; nothing is known of item 3."""
    file = tmp_path_factory.mktemp("catalogue") / "movies.csv"
    known = [item for item in range(40) if item != 3]
    file.write_text("movieId,title,genres,year\n" + rows_of(known))
    return file


@pytest.fixture(scope="module")
def releases(tmp_path_factory, movies):
    folder = tmp_path_factory.mktemp("releases")
    options = {"item_table": movies, "seed": 1}
    anonymize(RATINGS, folder / "rows", k=3, file_format="csv", **options)
    anonymize(RATINGS, folder / "groups", k=3, method="predictive", **options)
    exact = {"epsilon": "none", "item_catalog": "as-rated", **options}
    anonymize(RATINGS, folder / "users", file_format="csv", n_users=200, **exact)
    anonymize(RATINGS, folder / "model", layout="model", **exact)
    return folder


@pytest.fixture
def copied(releases, tmp_path):
    return Path(shutil.copytree(releases / "rows", tmp_path / "out"))


def content_of(folder):
    return json.loads((folder / "release.json").read_text())


@pytest.mark.parametrize("name", ["rows", "groups", "users", "model"])
class TestEveryRelease:
    def test_has_a_row_for_each_of_its_items_and_no_others(self, releases, name):
        text = (releases / name / "items.csv").read_text()
        items = [int(line.partition(",")[0]) for line in text.splitlines()[1:]]
        assert text.startswith('"item_id","title","genres","year"\n')
        assert '\n7,"Film ""7"", the","drama|crime","1907"\n' in text
        assert len(items) == content_of(releases / name)["counts"]["items"]
        if name != "model":
            assert items == rv.Release.read(releases / name).items.tolist()

    def test_holds_by_both_checkers_and_the_schema(self, releases, name):
        found = verify(releases / name)
        assert found.holds
        assert "item-table" in [limit.code for limit in found.not_covered]
        assert list(independent.problems(releases / name)) == []
        jsonschema.validate(content_of(releases / name), json.loads(SCHEMA.read_text()))

    def test_says_on_its_card_that_the_table_is_public(self, releases, name):
        card = (releases / name / "README.md").read_text()
        assert '`item_id`, and as text `"title"`, `"genres"`, `"year"`.' in card
        assert "The publisher states that these columns are public" in card

    def test_is_described_with_it(self, releases, name):
        describe(releases / name, releases / f"{name}.json")
        described = json.loads((releases / f"{name}.json").read_text())
        (items,) = [each for each in described["recordSet"] if each["name"] == "items"]
        assert [field["name"] for field in items["field"]] == ["item_id", "title", "genres", "year"]
        assert "items.csv" in [each["name"] for each in described["distribution"]]


def test_the_files_and_what_item_3_has(releases):
    assert sorted(path.name for path in (releases / "rows").iterdir()) == FILES
    assert '\n3,"","",""\n' in (releases / "rows" / "items.csv").read_text()


def test_a_release_without_one_is_as_before(tmp_path):
    anonymize(RATINGS, tmp_path / "out", k=3, seed=1, file_format="csv")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        name for name in FILES if name != "items.csv"
    ]
    assert "item_table" not in content_of(tmp_path / "out")
    assert "items.csv" not in (tmp_path / "out" / "README.md").read_text()
    assert Release.read(tmp_path / "out").items_table() is None


def test_a_release_in_memory_has_it(movies, releases, tmp_path):
    made = anonymize(RATINGS, k=3, seed=1, item_table=movies)
    assert made.items_table().rows_of(np.array([7]))["year"] == ["1907"]
    made.write(tmp_path / "out", file_format="csv")
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (releases / "rows" / name).read_bytes()


def test_the_run_says_what_is_copied_and_what_is_missing(movies, tmp_path):
    made = anonymize(RATINGS, tmp_path / "out", k=3, seed=1, item_table=movies)
    assert made.reading.notes[-1] == (
        "Item table: title, genres, year of each published item are copied to items.csv, as "
        "public; 1 rated item has no row in it."
    )


def test_text_ids(tmp_path):
    ratings = Ratings.from_columns(
        np.repeat(np.arange(40), 3), ["heat", "alien", "été"] * 40, [4, 2, 1] * 40, scale=FIVE
    )
    file = tmp_path / "movies.csv"
    file.write_text("title,item_id\nHeat,heat\nÉté,été\nRan,ran\n")
    anonymize(ratings, tmp_path / "out", k=5, seed=1, item_table=file, allow_sparse_coverage=True)
    lines = (tmp_path / "out" / "items.csv").read_text().splitlines()
    assert lines == ['"item_id","title"', '"alien",""', '"heat","Heat"', '"été","Été"']
    assert list(independent.problems(tmp_path / "out")) == []


class TestReaders:
    def test_layouts_have_its_columns(self, releases, tmp_path):
        convert(releases / "rows", tmp_path / "ml", target_format="movielens")
        lines = (tmp_path / "ml" / "movies.csv").read_text().splitlines()
        assert lines[0] == "movieId,title,genres,year"
        assert len(lines) == 1 + content_of(releases / "rows")["counts"]["items"]
        convert(releases / "groups", tmp_path / "shop", target_format="recbole")
        lines = (tmp_path / "shop" / "shop.item").read_text().splitlines()
        assert lines[0] == "item_id:token\ttitle:token\tgenres:token_seq\tyear:token"

    def test_another_table_replaces_it(self, releases, tmp_path):
        (tmp_path / "other.csv").write_text("item_id,title\n7,Heat\n")
        options = {"target_format": "movielens", "item_table": tmp_path / "other.csv"}
        convert(releases / "rows", tmp_path / "ml", **options)
        assert "\n7,Heat\n" in (tmp_path / "ml" / "movies.csv").read_text()

    def test_a_plain_file_has_no_place_for_it(self, releases, tmp_path):
        convert(releases / "rows", tmp_path / "ratings.csv")
        assert "Film" not in (tmp_path / "ratings.csv").read_text()

    def test_sampled_users_have_that_of_their_model(self, releases, tmp_path):
        sample(releases / "model", tmp_path / "out", n_users=300, seed=1)
        table = Release.read(tmp_path / "out").items_table()
        assert table.rows_of(np.array([7]))["title"] == ['Film "7", the']
        assert list(independent.problems(tmp_path / "out")) == []

    def test_a_changed_file_is_not_read(self, copied):
        (copied / "items.csv").write_text('"item_id","title","genres","year"\n')
        with raises("release.damaged"):
            Release.read(copied).items_table()


def forge(folder, change):
    """Change the lines of items.csv, and make the digests fit."""
    lines = (folder / "items.csv").read_text().splitlines()
    (folder / "items.csv").write_text("".join(f"{line}\n" for line in change(lines)))
    forging.sign(folder)


def holds(folder):
    """Return whether a release can be read, and holds."""
    with contextlib.suppress(rv.RecveilError):
        return verify(folder).holds
    return False


class TestTampering:
    @pytest.mark.parametrize(
        "change",
        [
            lambda lines: lines[:-1],
            lambda lines: [*lines, '99,"The film of user 7","",""'],
            lambda lines: [*lines, lines[-1]],
            lambda lines: [lines[0], *reversed(lines[1:])],
            lambda lines: [*lines[:-1], lines[-1].replace('"drama|crime"', "drama|crime")],
            lambda lines: [*lines[:-1], f"0{lines[-1]}"],
            lambda lines: [*lines[:-1], f" {lines[-1]}"],
            lambda lines: [*lines, ""],
            lambda lines: [*lines[:-1], lines[-1].replace("Film", "Fi\tlm")],
            *(
                lambda lines, at=at: [*lines[:-1], lines[-1].replace("Film", f"Fi{chr(at)}lm")]
                for at in (0x2028, 0x202A, 0x202E, 0x2066, 0x2069, 0x200B, 0x200F, 0xFEFF, 0xE0041)
            ),
            lambda lines: [lines[0].replace("year", "jahr"), *lines[1:]],
            lambda lines: [lines[0] + ',"more"', *(f'{line},"1"' for line in lines[1:])],
            lambda lines: [line.rpartition(",")[0] for line in lines],
        ],
    )
    def test_both_checkers_find_a_changed_table(self, copied, change):
        forge(copied, change)
        assert not verify(copied).holds
        assert list(independent.problems(copied))

    @pytest.mark.parametrize(
        "names",
        [
            ["title", "genres"],
            ["title", "genres", "user_id"],
            ["title", "genres", "genres"],
            ["title", "genres", ""],
            ["title", "genres", "a\nb"],
            ["title", "genres", "a\u202eb"],
            ["title", "genres", "=1"],
            [],
            "title",
            7,
        ],
    )
    def test_both_checkers_find_changed_columns(self, copied, names):
        forging.forge(copied, lambda result: result.update(item_table=names))
        assert list(independent.problems(copied))
        assert not holds(copied)

    def test_a_table_that_release_json_does_not_state(self, copied):
        forging.forge(copied, lambda result: result.pop("item_table"))
        assert not verify(copied).holds
        assert list(independent.problems(copied))

    def test_a_missing_table(self, copied):
        (copied / "items.csv").unlink()
        assert "the file is missing" in [each.problem for each in verify(copied).violations]

    def test_earlier_formats_have_none(self, copied):
        forging.forge(copied, lambda result: result.update(format="recveil-release-8"))
        assert not verify(copied).holds

    def test_formulas_are_counted(self, copied):
        forge(copied, lambda lines: [*lines[:-1], lines[-1].replace("drama", "=cmd")])
        found = verify(copied)
        assert found.holds
        assert ("item-table", (1,)) in found.not_covered

    def test_users_in_cells_are_found_by_the_publisher(self, movies, tmp_path):
        out, private = tmp_path / "out", tmp_path / "out.private"
        anonymize(USERS, out, k=3, seed=1, item_table=movies)
        assert verify(out, private=private).private_found == []
        forge(
            out,
            lambda lines: [
                lines[0],
                *(line.replace("drama", f"u{at}") for at, line in enumerate(lines[1:])),
            ],
        )
        content = json.loads((private / "private.json").read_text())
        content["release"]["sha256"] = FileEntry.of(out / "release.json").sha256
        (private / "private.json").write_text(json.dumps(content))
        assert verify(out).holds
        (found,) = verify(out, private=private).private_found
        assert found == "items.csv: column 3 contains ids of users"


USERS = Ratings.from_columns(
    [f"u{user}" for user in RATINGS.user_positions()],
    RATINGS.items[RATINGS.indices],
    RATINGS.values,
    scale=FIVE,
)


# Enough items for a flag to be more than chance.
MANY = make_ratings(n_users=150, n_items=80, n_ratings=3_000, seed=3, scale=FIVE)
COUNTS = MANY.support
SUMS = np.bincount(MANY.indices, MANY.values)
MEANS = SUMS / COUNTS
TOP = np.bincount(MANY.indices, MANY.values == 5)
RATERS = [np.flatnonzero(MANY.to_csr()[:, [at]].toarray()) for at in range(MANY.n_items)]
STATISTICS = {
    "counts": COUNTS,
    "counts and an error": COUNTS + np.arange(MANY.n_items) % 2,
    "most counts": np.where(np.arange(MANY.n_items) % 3, COUNTS, -7),
    "sums": SUMS.astype(int),
    "means": np.round(MEANS, 2),
    "rounded means": np.round(MEANS, 1),
    "stars": np.round(MEANS),
    "distances from a mean": 10 - 3 * MEANS,
    "shares": np.round(100 * TOP / COUNTS, 1),
    "counts of one value": TOP,
    "who is popular": np.where(np.median(COUNTS) < COUNTS, "yes", "no"),
    "popular or not": np.where(np.median(COUNTS) < COUNTS, 1, 0),
    "the top 30, of equal ones any": (np.argsort(np.argsort(-COUNTS)) < 30).astype(int),
    "in a sentence": [f"rated {count:,} times, 9 of 10" for count in COUNTS],
    "in another": [f"Film {at * 37 % 80}: {mean:.1f} stars" for at, mean in enumerate(MEANS)],
    "with a comma": [f"{mean:.2f}".replace(".", ",") for mean in MEANS],
    "bit maps": ["".join("01"[at in set(users)] for at in range(150)) for users in RATERS],
    "recoded raters": ["|".join(f"k{at * 91 % 997}" for at in users) for users in RATERS],
}
# A user with some ratings, and others without.
HEAVY = int(np.argsort(MANY.activity)[MANY.n_users // 2])
OF_HEAVY = {
    int(MANY.items[place]): int(value) for place, value in zip(*MANY.row(HEAVY), strict=True)
}
ROWS = {
    "ratings": OF_HEAVY,
    "all but one": dict([*OF_HEAVY.items()][1:]),
    "in words": {item: f"{value} stars" for item, value in OF_HEAVY.items()},
    "recoded": {item: "abcde"[value - 1] for item, value in OF_HEAVY.items()},
    "and others": {item: OF_HEAVY.get(item, item % 5 + 1) for item in MANY.items.tolist()},
    "marks": dict.fromkeys(OF_HEAVY, "1"),
    "marks of what is not": {item: int(item not in OF_HEAVY) for item in MANY.items.tolist()},
    "a part of a list": {
        item: f"drama|{'x' if item in OF_HEAVY else 'y'}" for item in MANY.items.tolist()
    },
}


def _starts(ratings):
    return np.cumsum(ratings.support) - ratings.support


class TestBadTables:
    @pytest.fixture
    def reject(self, tmp_path):
        def run(text, code, *words, ratings=USERS, **options):
            (tmp_path / "items.csv").write_text(text)
            with raises(code, *words):
                anonymize(ratings, k=3, item_table=tmp_path / "items.csv", **options)

        return run

    def test_users(self, reject):
        lines = [f"{item},u{item % 7}" for item in RATINGS.items]
        reject("\n".join(["item_id,added_by", *lines]), "id.personal", "'added_by'")
        lines = [f"{item},a gift of u{item} to u{item + 1}" for item in range(60)]
        reject("\n".join(["item_id,note", *lines]), "id.personal", "'note'")
        reject("item_id,user\n7,heat\n", "column.type", "'user'")

    @pytest.mark.parametrize("name", STATISTICS)
    def test_statistics_of_the_ratings(self, reject, name):
        texts = STATISTICS[name]
        lines = [f'{item},"{text}"' for item, text in zip(MANY.items, texts, strict=True)]
        reject("\n".join(["item_id,stars", *lines]), "id.personal", "'stars'", ratings=MANY)

    @pytest.mark.parametrize("form", ["seconds", "days", "iso", "last"])
    def test_times_of_the_ratings(self, reject, form, tmp_path):
        """Also where the release has no dates."""
        days = np.random.default_rng(1).integers(15_000, 16_000, MANY.n_ratings)
        columns = MANY.user_positions(), MANY.items[MANY.indices], MANY.values
        dated = Ratings.from_columns(*columns, days=days, scale=FIVE)
        kind = np.maximum if form == "last" else np.minimum
        found = kind.reduceat(days[np.argsort(MANY.indices, kind="stable")], _starts(MANY))
        texts = {"seconds": found * 86_400 + 7, "iso": found.astype("datetime64[D]").astype(str)}
        lines = [
            f"{item},{text}" for item, text in zip(MANY.items, texts.get(form, found), strict=True)
        ]
        text = "\n".join(["item_id,since", *lines])
        reject(text, "id.personal", "'since'", ratings=dated)
        rv.convert(dated, tmp_path / "dated.csv")
        reject(text, "id.personal", "'since'", ratings=tmp_path / "dated.csv", scale=FIVE)

    @pytest.mark.parametrize("name", ROWS)
    def test_the_row_of_a_user(self, reject, name):
        cells = ROWS[name]
        lines = [f'{item},"{cells.get(item, "")}"' for item in MANY.items.tolist()]
        reject("\n".join(["item_id,tag", *lines]), "id.personal", "'tag'", ratings=MANY)

    @pytest.mark.parametrize(
        "header",
        ["item_id,u7", "item_id,u7 stars", "item_id,stars of U7", "item_id,title,u8_u9"],
    )
    def test_names_of_columns(self, reject, header):
        blanks = "," * header.count(",")
        lines = [f"{item}{blanks}" for item in RATINGS.items]
        reject("\n".join([header, *lines]), "id.personal")
        if header == "item_id,u7":
            reject("\n".join(["item_id,7", *lines]), "id.personal", "'7'", ratings=RATINGS)

    @pytest.mark.parametrize(
        "cells",
        [
            ["u17", *[f"Film {at}" for at in range(23)]],
            ["u17", *[""] * 23],
            [f"drama|u{at}" for at in range(24)],
        ],
    )
    def test_a_user_in_a_cell(self, reject, cells):
        lines = [f"{item},{cell}" for item, cell in zip(RATINGS.items, cells, strict=True)]
        reject("\n".join(["item_id,note", *lines]), "id.personal", "'note'")

    def test_public_columns_are_accepted(self, tmp_path):
        """As in MovieLens: flags, years, prices, critics, and years that are numbers of users."""
        rng = np.random.default_rng(1)
        users = 1_900 + MANY.user_positions()
        ratings = Ratings.from_columns(users, MANY.items[MANY.indices], MANY.values, scale=FIVE)
        flags = rng.random((19, MANY.n_items)) < rng.random(19)[:, None] ** 2
        columns = {f"genre {at}": flag.astype(int) for at, flag in enumerate(flags)}
        years = 1_900 + rng.integers(0, 120, MANY.n_items)
        columns["title"] = [f"Film {at}, part {at % 3} ({year})" for at, year in enumerate(years)]
        columns["year"], columns["imdb"] = years, rng.permutation(10**5)[: MANY.n_items]
        columns["price"] = rng.choice([4.99, 9.99, 14.99], MANY.n_items)
        columns["critics"] = rng.integers(1, 6, MANY.n_items)
        columns["kind"] = ["film"] * MANY.n_items
        lines = [",".join(map(str, row)) for row in zip(MANY.items, *columns.values(), strict=True)]
        text = "\n".join([",".join(["movieId", *columns]).replace("title", '"title"'), *lines])
        (tmp_path / "items.csv").write_text(text.replace("Film", '"Film').replace(")", ')"'))
        made = anonymize(ratings, k=3, item_table=tmp_path / "items.csv")
        assert sorted(made.items_table().columns) == sorted(columns)

    def test_random_columns_are_accepted(self):
        """Of random orders, levels, flags and marks, none is taken for the table's by chance."""
        rng = np.random.default_rng(2)
        items = MANY.items.astype(str).tolist()
        for _ in range(5):
            columns = {
                f"{at}": (
                    rng.permutation(len(items)) % levels if levels else rng.normal(size=len(items))
                )
                .astype(str)
                .tolist()
                for at, levels in enumerate([0, 0, 2, 2, 3, 5, 10, 50])
            }
            table = ItemTable(
                {name: [*texts, ""] for name, texts in columns.items()},
                {item: at for at, item in enumerate(items)},
            )
            published_items._reject_statistics(table, MANY, np.ones(len(items), np.bool_))
            published_items._reject_rows(table, MANY)
            assert len(table.columns) == 8

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("item_id,title\n7,Heat\n7,Heat\n", "id.duplicate"),
            ("item_id,title\n,Heat\n", "id.missing"),
            ("item_id,title\n7000,Heat\n", "id.unknown"),
            ("item_id,=1+1\n7,Heat\n", "column.type"),
            ("item_id,title\n7,He\x07at\n", "id.line-break"),
            ("item_id,title\n7,He\u202eat\n", "id.line-break"),
            ("item_id,title\n7,He\u200bat\n", "id.line-break"),
            ("item_id,ti\u2066tle\n7,Heat\n", "column.type"),
            ("title\nHeat\n", "column.missing"),
        ],
    )
    def test_each(self, reject, text, code):
        reject(text, code)

    def test_hidden_items_are_not_named(self, reject):
        reject("item_id,title\n7,Heat\n", "option.conflict", "hide_items", hide_items=True)

    def test_spark_has_none(self, tmp_path):
        spark = pytest.importorskip("recveil.spark", reason="pyspark is not installed")
        with raises("option.unsupported", "item_table"):
            spark.anonymize("ratings.parquet", tmp_path / "out", k=5, item_table="items.csv")
