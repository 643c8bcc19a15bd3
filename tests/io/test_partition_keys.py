"""What stands in the names of folders is a column like another; unknown keys become no likes."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand

PAIRS = [(f"u{n % 7}", n) for n in range(42)]
STARS = [n % 5 + 1 for n in range(42)]


def write(folder, key, values, header="user,item\n"):
    for value in sorted(set(values), key=str):
        rows = [pair for pair, each in zip(PAIRS, values, strict=True) if each == value]
        path = folder / f"{key}={value}" / "part-0.csv"
        path.parent.mkdir(parents=True)
        path.write_text(header + "".join(f"{user},{item}\n" for user, item in rows))
    return folder


@pytest.fixture
def whole(tmp_path):
    rows = "".join(f"{u},{i},{r}\n" for (u, i), r in zip(PAIRS, STARS, strict=True))
    (tmp_path / "plain.csv").write_text(f"user,item,rating\n{rows}")
    return read_ratings(tmp_path / "plain.csv")


@pytest.mark.parametrize("key", ["rating", "stars"])
def test_a_usual_name_of_ratings_is_read(tmp_path, whole, key):
    reading = understand(write(tmp_path / "h", key, STARS))
    assert reading.ratings == whole
    assert reading.mapping().endswith(f"rating: column '{key}'")
    assert reading.layout == ("5 parts", "rating from its folders' names")


@pytest.mark.parametrize("header", ["user,item\n", ""])
def test_another_key_is_refused_or_named(tmp_path, whole, header):
    folder = write(tmp_path / "h", "event", STARS, header)
    with raises("column.missing") as error:
        understand(folder)
    assert "'event'" in str(error.value)
    assert len(str(error.value)) < 300
    given = {} if header else {"user": 1, "item": 2}
    assert read_ratings(folder, rating="event", **given) == whole
    likes = understand(folder, likes=True)
    assert likes.ratings.scale.unary
    assert "not read: 'event' in its folders' names" in likes.layout


def test_words_and_counts_of_folders(tmp_path):
    folder = write(tmp_path / "h", "event", ["like" if n > 2 else "dislike" for n in STARS])
    assert read_ratings(folder, rating="event", words="all").scale.labels == ("dislike", "like")
    plays = write(tmp_path / "p", "plays", STARS)
    with raises("column.ambiguous") as error:
        understand(plays)
    assert "'plays'" in str(error.value)
    assert understand(plays, counts="likes").ratings.scale.unary


@pytest.mark.parametrize(
    ("key", "values"), [("year", range(2000, 2042)), ("dt", ["2020-01"] * 42), ("shard", STARS)]
)
def test_what_is_known_to_be_no_rating_is_passed_over(tmp_path, key, values):
    assert understand(write(tmp_path / "h", key, [*values])).ratings.scale.unary


def test_a_key_of_time_that_holds_no_figures_is_doubtful(tmp_path):
    with raises("column.missing") as error:
        understand(write(tmp_path / "h", "d", ["good" if n > 2 else "bad" for n in STARS]))
    assert "'d'" in str(error.value)


def test_a_part_without_the_key_is_named(tmp_path):
    folder = write(tmp_path / "h", "rating", STARS)
    (folder / "other=1").mkdir()
    (folder / "other=1" / "part-0.csv").write_text("user,item\nzoe,1\n")
    with raises("input.parts") as error:
        understand(folder)
    assert "h/other=1/part-0.csv" in str(error.value)
    assert "'rating'" in str(error.value)


def test_a_rating_of_the_files_wins_and_the_key_is_named(tmp_path, whole):
    (tmp_path / "h" / "event=a").mkdir(parents=True)
    (tmp_path / "h" / "event=a" / "0.csv").write_text((tmp_path / "plain.csv").read_text())
    reading = understand(tmp_path / "h")
    assert reading.ratings == whole
    assert reading.layout[-1] == "not read: 'event' in its folders' names"


def test_a_time_that_is_named_wins(tmp_path):
    write(tmp_path / "h", "seen", ["2020-01-02"] * 42)
    reading = understand(tmp_path / "h", time="seen", likes=True)
    assert reading.ratings.days.tolist() == [18263] * 42


def write_parquet(folder, *keys, n=60):
    rows = range(n)
    table = pa.table(
        {
            "user_id": [f"{row % 6:03}" for row in rows],
            "item_id": [f"i{row // 6}" for row in rows],
            "rating": [1 + row % 5 for row in rows],
            "dt": [f"2020-01-{1 + row % 20:02}" for row in rows],
            "month": [1 + row % 3 for row in rows],
        }
    )
    pq.write_table(table.drop_columns("month"), folder.with_suffix(".parquet"))
    pq.write_to_dataset(table, folder, partition_cols=[*keys])
    return folder, read_ratings(folder.with_suffix(".parquet"), time="dt")


@pytest.mark.parametrize("role", ["user", "item"])
def test_ids_of_folders_are_read_as_text(tmp_path, role):
    folder, whole = write_parquet(tmp_path / "h", f"{role}_id")
    reading = understand(folder, time="dt")
    assert reading.ratings == whole
    assert [*reading.ratings.users] == [f"{number:03}" for number in range(6)]
    assert reading.layout[1] == f"{role} from its folders' names"
    (folder / "7.parquet").write_bytes(next(folder.rglob("*-0.parquet")).read_bytes())
    with raises("input.parts", "h/7.parquet", f"{role}_id"):
        understand(folder)


def test_ids_of_folders_that_are_named_or_nulls(tmp_path):
    folder, whole = write_parquet(tmp_path / "h", "user_id")
    for each in [*folder.iterdir()]:
        each.rename(each.with_name(each.name.replace("user_id", "who")))
    with raises("column.missing", "user"):
        understand(folder)
    assert read_ratings(folder, user="who", time="dt") == whole
    (folder / "who=000").rename(folder / "who=__HIVE_DEFAULT_PARTITION__")
    with raises("id.missing", "who=__HIVE_DEFAULT_PARTITION__"):
        read_ratings(folder, user="who")


def test_days_of_folders_are_times_and_other_keys_are_named(tmp_path):
    folder, whole = write_parquet(tmp_path / "h", "month", "dt")
    reading = understand(folder)
    assert reading.ratings == whole
    assert reading.layout[-1] == "not read: 'month' in its folders' names"
    assert "'dt'" in understand(folder, times=False, duplicates="error").layout[-1]


def test_users_in_folders_of_text_are_refused_with_a_remedy(tmp_path):
    folder = write(tmp_path / "h", "user", STARS, "item,rating\n")
    with raises("column.missing", "'user'"):
        understand(folder)
