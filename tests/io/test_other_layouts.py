"""What surprise, RecBole, LensKit and Elliot load."""

import csv
import json
import stat

import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import read_ratings, write_ratings
from recveil.io.item_features import read_item_table
from recveil.io.table_split import split_table
from recveil.io.write import how_to_load
from recveil.ratings import Ratings, RatingScale

DATED = Ratings.from_columns(
    ["ann", "ben", "ann"],
    [9, 7, 7],
    [4, 2.5, 1],
    [9001, 9000, 11_000],
    scale=RatingScale(0.5, 5, 0.5),
)
PLAIN = Ratings.from_columns([1, 2, 1], ["heat", "alien", "alien"], [4, 2, 1])
LAYOUTS = ["recbole", "lenskit", "movielens", "elliot"]


def modes(folder):
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}


class TestRecBole:
    def test_by_hand(self, tmp_path):
        write_ratings(DATED, tmp_path / "shop", format="recbole")
        assert sorted(file.name for file in (tmp_path / "shop").iterdir()) == [
            "shop.inter",
            "shop.yaml",
        ]
        assert (tmp_path / "shop" / "shop.yaml").read_text().splitlines()[1:] == [
            "data_path: .",
            'dataset: "shop"',
            'field_separator: "\\t"',
            "USER_ID_FIELD: user_id",
            "ITEM_ID_FIELD: item_id",
            "RATING_FIELD: rating",
            "TIME_FIELD: timestamp",
            "load_col:",
            "  inter: [user_id, item_id, rating, timestamp]",
        ]
        assert read_ratings(tmp_path / "shop" / "shop.inter", scale=DATED.scale) == DATED

    def test_without_times(self, tmp_path):
        write_ratings(PLAIN, tmp_path / "shop", format="recbole")
        text = (tmp_path / "shop" / "shop.yaml").read_text()
        assert "timestamp" not in text
        assert text.endswith("  inter: [user_id, item_id, rating]\n")

    @pytest.mark.parametrize("name", ["shop", "on", "a: b # c", 'a"b', "été", "1e3"])
    def test_any_name_stays_one_text(self, tmp_path, name):
        yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
        write_ratings(PLAIN, tmp_path / name, format="recbole")
        result = yaml.safe_load((tmp_path / name / f"{name}.yaml").read_text("utf-8"))
        assert (result["dataset"], result["data_path"]) == (name, ".")
        assert result["field_separator"] == "\t"

    def test_its_own_table_is_not_taken_for_ours(self, tmp_path):
        with raises("option.value"):
            write_ratings(PLAIN, tmp_path / "ml-100k", format="recbole")
        assert list(tmp_path.iterdir()) == []


class TestLensKit:
    def test_by_hand(self, tmp_path):
        write_ratings(DATED, tmp_path / "shop", format="lenskit")
        tables = {
            name: pq.read_table(tmp_path / "shop" / f"{name}.parquet")
            for name in ("user", "item", "rating")
        }
        assert tables["user"].to_pydict() == {"user_id": ["ann", "ben"]}
        assert tables["item"].to_pydict() == {"item_id": [7, 9]}
        rows = tables["rating"].to_pydict()
        assert (rows["user_num"], rows["item_num"]) == ([0, 0, 1], [0, 1, 0])
        assert rows["rating"] == [1, 4, 2.5]
        assert [time.year for time in rows["timestamp"]] == [2000, 1994, 1994]
        schema = json.loads((tmp_path / "shop" / "schema.json").read_text())
        assert schema["entities"]["user"]["id_type"] == "str"
        assert schema["entities"]["item"]["id_type"] == "int"
        assert set(schema["relationships"]["rating"]["attributes"]) == {"rating", "timestamp"}

    def test_lenskit_reads_it(self, tmp_path):
        data = pytest.importorskip("lenskit.data", reason="LensKit is not installed")
        write_ratings(DATED, tmp_path / "shop", format="lenskit")
        loaded = data.Dataset.load(tmp_path / "shop")
        assert (loaded.user_count, loaded.item_count, loaded.interaction_count) == (2, 2, 3)


class TestSurprise:
    def test_by_hand(self, tmp_path):
        write_ratings(DATED, tmp_path / "u.data", format="surprise")
        assert (tmp_path / "u.data").read_text().splitlines() == [
            "ann\t7\t1\t950400000",
            "ann\t9\t4\t777686400",
            "ben\t7\t2.5\t777600000",
        ]

    def test_surprise_reads_it_as_the_note_says(self, tmp_path, monkeypatch):
        surprise = pytest.importorskip("surprise", reason="scikit-surprise is not installed")
        from recveil.publish import convert

        monkeypatch.chdir(tmp_path)
        for ratings in (DATED, PLAIN):
            note = convert(ratings, "u.data", target_format="surprise", force=True).notes[-1]
            data = eval(note.removeprefix("To load it: "), {"surprise": surprise})
            assert len(data.raw_ratings) == 3
            assert data.reader.rating_scale == (ratings.scale.low, ratings.scale.high)
            back = Ratings.from_frame(data, scale=ratings.scale)
            assert (back.values == ratings.values).all()
            assert list(map(str, back.users)) == list(map(str, ratings.users))

    @pytest.mark.parametrize("name", ['Los "Colonos" de Catán', '"', 'a,"b";c', "it's"])
    def test_surprise_takes_a_quote_for_a_letter(self, tmp_path, name):
        ratings = Ratings.from_columns(["ann", "ben"], [name, "7"], [3.5, 4], [9, 8])
        write_ratings(ratings, tmp_path / "u.data", format="surprise")
        written = (tmp_path / "u.data").read_text(encoding="utf-8")
        assert written == f"ann\t{name}\t3.5\t777600\nben\t7\t4\t691200\n"

    @pytest.mark.parametrize("label", ["a\tb", " a", "a "])
    def test_labels_that_would_change_are_refused(self, tmp_path, label):
        ratings = Ratings.from_columns([label, "b"], [1, 2], [3, 4])
        ratings = Ratings.from_columns([1, 1], ["a", "b\tc"], [3, 4])
        with raises("id.line-break"):
            write_ratings(ratings, tmp_path / "u.data", format="surprise")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", LAYOUTS)
class TestFolders:
    def test_for_the_owner_alone(self, tmp_path, layout):
        write_ratings(PLAIN, tmp_path / "shop", format=layout)
        assert modes(tmp_path / "shop") == {0o700, 0o600}
        assert [path.name for path in tmp_path.iterdir()] == ["shop"]

    def test_nothing_is_replaced(self, tmp_path, layout):
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "mine").write_text("mine")
        with raises("output.exists"):
            write_ratings(PLAIN, tmp_path / "shop", format=layout)
        assert [path.name for path in (tmp_path / "shop").iterdir()] == ["mine"]

    def test_neither_a_stream_nor_packed(self, tmp_path, layout):
        for target in ("-", tmp_path / "shop.gz"):
            with raises("output.extension"):
                write_ratings(PLAIN, target, format=layout)

    def test_what_fails_leaves_nothing(self, tmp_path, layout):
        with raises("output.not-writable"):
            write_ratings(PLAIN, tmp_path / "gone" / "shop", format=layout)
        assert list(tmp_path.iterdir()) == []

    def test_what_a_killed_run_left_is_removed(self, tmp_path, layout):
        (tmp_path / ".shop.layout-0123abcd").mkdir()
        (tmp_path / ".shop.layout-0123abcd" / "lock").write_text("locked")
        write_ratings(PLAIN, tmp_path / "shop", format=layout)
        assert [path.name for path in tmp_path.iterdir()] == ["shop"]

    def test_the_same_ratings_give_the_same_bytes(self, tmp_path, layout):
        made = make_ratings(n_users=30, n_items=20, n_ratings=300, seed=1)
        for place in ("a", "b"):
            (tmp_path / place).mkdir()
            write_ratings(made, tmp_path / place / "shop", format=layout)
        for file in (tmp_path / "a" / "shop").iterdir():
            assert file.read_bytes() == (tmp_path / "b" / "shop" / file.name).read_bytes()

    def test_no_ending_means_a_folder(self, tmp_path, layout):
        with raises("output.extension"):
            write_ratings(PLAIN, tmp_path / f"shop.{layout}")


@pytest.fixture
def movies(tmp_path):
    """Columns of items 7 and 8; the tables have items 7 and 9."""
    path = tmp_path / "movies.csv"
    path.write_text(
        'movieId,year,title,genres\n8,1985,Ran (1985),drama\n7,1995,"Heat, the",crime|drama\n'
    )
    return read_item_table(path)


class TestItemTable:
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("movieId,title\n7,Heat\n7,Heat\n", "id.duplicate"),
            ("movieId,title\n,Heat\n", "id.missing"),
            ("movieId\n7\n", "column.missing"),
            ("title,genres\nHeat,crime\n", "column.missing"),
            ("movieId,a,a\n7,1,2\n", "column.duplicate"),
            ("movieId,title\n7\n", "input.line"),
            ("", "input.empty"),
        ],
    )
    def test_what_is_no_table_of_items_is_rejected(self, tmp_path, text, code):
        (tmp_path / "movies.csv").write_text(text)
        with raises(code):
            read_item_table(tmp_path / "movies.csv")

    def test_a_plain_file_has_no_place_for_it(self, tmp_path, movies):
        with raises("option.unsupported"):
            write_ratings(DATED, tmp_path / "ratings.csv", item_table=movies)
        assert not (tmp_path / "ratings.csv").exists()

    def test_lenskit(self, tmp_path, movies):
        write_ratings(DATED, tmp_path / "shop", format="lenskit", item_table=movies)
        items = pq.read_table(tmp_path / "shop" / "item.parquet").to_pydict()
        assert items == {
            "item_id": [7, 9],
            "title": ["Heat, the", ""],
            "genres": ["crime|drama", ""],
            "year": ["1995", ""],
        }
        schema = json.loads((tmp_path / "shop" / "schema.json").read_text())
        assert list(schema["entities"]["item"]["attributes"]) == ["title", "genres", "year"]

    def test_recbole(self, tmp_path, movies):
        write_ratings(DATED, tmp_path / "shop", format="recbole", item_table=movies)
        assert (tmp_path / "shop" / "shop.item").read_text().splitlines() == [
            "item_id:token\ttitle:token\tgenres:token_seq\tyear:token",
            "7\tHeat, the\tcrime|drama\t1995",
            "9\t\t\t",
        ]
        assert (tmp_path / "shop" / "shop.yaml").read_text().splitlines()[-2:] == [
            '  item: ["item_id", "title", "genres", "year"]',
            'seq_separator: "|"',
        ]

    def test_tabs_do_not_fit_atomic_files(self, tmp_path):
        (tmp_path / "movies.jsonl").write_text('{"item": 7, "title": "He\\tat"}\n')
        table = read_item_table(tmp_path / "movies.jsonl")
        with raises("id.line-break"):
            write_ratings(DATED, tmp_path / "shop", format="recbole", item_table=table)
        assert not (tmp_path / "shop").exists()


class TestMovieLens:
    def test_by_hand(self, tmp_path, movies):
        write_ratings(DATED, tmp_path / "shop", format="movielens", item_table=movies)
        assert (tmp_path / "shop" / "ratings.csv").read_text().splitlines() == [
            "userId,movieId,rating,timestamp",
            "ann,7,1,950400000",
            "ann,9,4,777686400",
            "ben,7,2.5,777600000",
        ]
        with (tmp_path / "shop" / "movies.csv").open() as file:
            assert list(csv.reader(file)) == [
                ["movieId", "title", "genres", "year"],
                ["7", "Heat, the", "crime|drama", "1995"],
                ["9", "", "", ""],
            ]
        assert read_ratings(tmp_path / "shop" / "ratings.csv", scale=DATED.scale) == DATED

    def test_without_an_item_table(self, tmp_path):
        write_ratings(PLAIN, tmp_path / "shop", format="movielens")
        assert sorted(path.name for path in (tmp_path / "shop").iterdir()) == [
            "README.txt",
            "ratings.csv",
        ]


class TestElliot:
    def test_by_hand(self, tmp_path, movies):
        write_ratings(DATED, tmp_path / "shop", format="elliot", item_table=movies)
        files = {path.name: path.read_text() for path in (tmp_path / "shop").iterdir()}
        assert files["dataset.tsv"].splitlines()[0] == "ann\t7\t1\t950400000"
        assert files["item_attributes.tsv"] == "7\t0\t1\n9\n"  # Elliot drops items not in it
        assert files["features.tsv"] == "0\tcrime\n1\tdrama\n"
        yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
        experiment = yaml.safe_load(files["config.yml"])["experiment"]
        assert experiment["dataset"] == "shop"
        assert experiment["data_config"]["dataset_path"] == "./dataset.tsv"
        assert experiment["data_config"]["side_information"] == [
            {"dataloader": "ItemAttributes", "attribute_file": "./item_attributes.tsv"}
        ]

    @pytest.mark.parametrize("split", [None, split_table(PLAIN, 0.5)])
    def test_items_with_text_ids_and_genres_get_numbers(self, tmp_path, split):
        (tmp_path / "movies.csv").write_text("item,genres\nheat,crime|drama\nran,war\n")
        table = read_item_table(tmp_path / "movies.csv")
        target = tmp_path / "shop"
        write_ratings(PLAIN, target, format="elliot", item_table=table, split=split)
        files = {path.name: path.read_text() for path in target.iterdir()}
        names = ["dataset.tsv"] if split is None else ["train.tsv", "test.tsv"]
        rows = sorted(line for name in names for line in files[name].splitlines())
        assert rows == ["1\t0\t1", "1\t1\t4", "2\t0\t2"]
        assert files["item_ids.tsv"] == "0\talien\n1\theat\n"
        assert files["item_attributes.tsv"] == "0\n1\t0\t1\n"
        assert "item_ids.tsv" in files["config.yml"]
        assert "item_ids.tsv" in how_to_load("elliot", target, PLAIN)

    def test_text_ids_stay_without_genres(self, tmp_path):
        (tmp_path / "movies.csv").write_text("item,title\nheat,Heat\n")
        table = read_item_table(tmp_path / "movies.csv")
        write_ratings(PLAIN, tmp_path / "shop", format="elliot", item_table=table)
        assert (tmp_path / "shop" / "dataset.tsv").read_text().startswith("1\talien\t1\n")
        assert not (tmp_path / "shop" / "item_ids.tsv").exists()
        assert "item_ids.tsv" not in how_to_load("elliot", tmp_path / "shop", PLAIN)

    def test_a_text_id_with_a_tab_has_no_line(self, tmp_path):
        (tmp_path / "movies.csv").write_text("item,genres\na,war\n")
        table = read_item_table(tmp_path / "movies.csv")
        ratings = Ratings.from_columns([1, 1], ["a", "b\tc"], [3, 4])
        with raises("id.line-break"):
            write_ratings(ratings, tmp_path / "shop", format="elliot", item_table=table)
        assert not (tmp_path / "shop").exists()
