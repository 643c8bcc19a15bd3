"""What a table holds, on the terminal."""

import json
import re
import stat

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.inspection import inspect
from recveil.report.inspection import show_inspection
from recveil.report.terminal import bars

LONG = "x" * 300


@pytest.fixture
def ugly(tmp_path):
    """A table that no terminal likes."""
    lines = ["user;item;score;when;email;person"]
    for n in range(400):
        when = f"2020-01-{n % 28 + 1:02}" + (" 10:11:12" if n % 3 else "")
        user = f"{LONG}{n % 37}" if n % 2 else f"us\x1b[31mer\u202e{n % 37}日本語日本語日本語"
        lines.append(f"{user};it\x07em{n};{n % 50 / 7:.3f};{when};p{n % 37}@example.org;P{n % 37}")
    path = tmp_path / "ugly.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def shown(capsys, path, width, monkeypatch, rows=3, **reading):
    monkeypatch.setenv("COLUMNS", str(width))
    show_inspection(inspect(path, **reading), rows)
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [50, 80, 200])
def test_all_lines_fit_and_nothing_reaches_the_terminal_raw(capsys, ugly, width, monkeypatch):
    from rich.cells import cell_len

    out = shown(capsys, ugly, width, monkeypatch)
    assert max(map(cell_len, out.split("\n"))) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)
    assert "e-mail addresses" in out
    assert "two granularities" in " ".join(out.split())


def test_who_named_the_columns_rightly_may_go_on(capsys, tmp_path, monkeypatch):
    """Ratings gather on few users here, as they do on few items elsewhere: a sign, and no more."""
    lines = [
        f"u{u},i{i},{1 + i % 5}" for u in range(40) for i in range(40) if i < 1600 / (u + 1) ** 2
    ]
    (tmp_path / "named.csv").write_text("\n".join(["user,item,rating", *lines]))
    assert "undecided" in shown(capsys, tmp_path / "named.csv", 200, monkeypatch)
    (tmp_path / "ratings.csv").write_text("\n".join(["left,right,rating", *lines]))
    said = {"user": "left", "item": "right"}
    out = shown(capsys, tmp_path / "ratings.csv", 200, monkeypatch, **said)
    assert "The columns of users and items look swapped; this is no proof." in out


def test_a_pipe_gets_no_rows_unless_asked(capsys, tmp_path, monkeypatch):
    (tmp_path / "ratings.csv").write_text("user,item,rating\nsecret-ann,heat,4\n")
    monkeypatch.chdir(tmp_path)
    for options, is_there in (((), False), (("--rows", "1"), True), (("--rows", "0"), False)):
        with pytest.raises(SystemExit) as stop:
            main(["inspect", "ratings.csv", *options])
        assert not stop.value.code
        assert ("secret-ann" in capsys.readouterr().out) is is_there


def test_json_is_for_its_owner_and_the_only_thing_written(capsys, ugly, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["inspect", "ugly.csv", "--json", "found.json"])
    assert not stop.value.code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.json", "ugly.csv"]
    assert stat.S_IMODE((tmp_path / "found.json").stat().st_mode) == 0o600
    plain = json.loads((tmp_path / "found.json").read_text())
    assert [*plain] == [
        "schema_version",
        *("input", "format", "data", "scale", "dates", "dropped", "duplicates_chosen"),
        *("user_counts", "item_counts", "column_order", "identifiers"),
    ]
    assert LONG not in (tmp_path / "found.json").read_text()


def test_bad_input_ends_with_one_line_and_code_2(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text("user,item,rating\na\x1b[2J,1,good\n")
    with pytest.raises(SystemExit) as stop:
        main(["inspect", "bad.csv", "--json", "found.json"])
    streams = capsys.readouterr()
    assert (stop.value.code, streams.out, streams.err.count("\n")) == (2, "", 1)
    assert "line 2: rating 'good'" in streams.err
    assert not (tmp_path / "found.json").exists()


def test_ids_in_an_error_do_not_command_the_terminal(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice.csv").write_text("user,item,rating\na\x1b[2J,1,4\na\x1b[2J,1,5\n")
    with pytest.raises(SystemExit):
        main(["audit", "twice.csv"])
    err = capsys.readouterr().err
    assert "\\x1b[2J" in err
    assert "\x1b" not in err


class TestBars:
    def test_the_longest_bar_fits(self):
        lines = bars(["1", "2-4"], [1, 1_000_000], 40)
        assert max(map(len, lines)) <= 40
        assert lines[0].count("█") == 1

    def test_nothing_has_no_bar(self):
        assert "█" not in "".join(bars(["1"], [0], 40))
        assert bars([], [], 40) == []


def test_likes_are_no_ratings_next_to_their_dates(tmp_path, capsys, monkeypatch):
    path = tmp_path / "likes.csv"
    path.write_text("user,item,date\nann,1,2020-01-01\nben,1,2020-01-01\nben,2,2020-01-03\n")
    result = shown(capsys, path, 200, monkeypatch)
    assert "the most frequent one has 2 likes; 33.3% of the likes have a unique time" in result


@pytest.mark.parametrize(
    ("hour", "shares"),
    [
        # Of three rows of 1 January, one is off the scale, and one rates an item again.
        ("", "2 different; the most frequent one has 1 rating; 100% of the ratings"),
        # Kept ratings have no time of day, so that all rows are counted.
        (" 07:0{}", "4 different; the most frequent one has 1 row; 100% of the rows"),
    ],
)
def test_dates_are_those_of_kept_ratings(tmp_path, capsys, monkeypatch, hour, shares):
    path = tmp_path / "dropped.csv"
    rows = [("ann,1,4", 1), ("ann,1,5", 1), ("ben,1,99", 1), ("ben,2,3", 3)]
    lines = [f"{row},2020-01-0{day}{hour.format(n)}" for n, (row, day) in enumerate(rows)]
    path.write_text("\n".join(["user,item,rating,date", *lines]))
    options = {"scale": "1:5:1", "drop_off_scale": True, "duplicates": "last"}
    assert f"{shares} have a unique time" in shown(capsys, path, 200, monkeypatch, **options)


def test_one_of_a_kind_is_counted_in_the_singular(capsys, tmp_path, monkeypatch):
    path = tmp_path / "one.csv"
    path.write_text("user,item,rating\n7,1,4\n")
    out = shown(capsys, path, 200, monkeypatch)
    assert out.startswith("Read 1 rating of 1 item by 1 user;")
    path.write_text("user,item,rating\n7,1,4\n7,2,3\n")
    out = shown(capsys, path, 200, monkeypatch)
    assert not re.search(r"\b1 (users|items|ratings|people|rows)\b", out)
    assert repr(inspect(path).ratings).startswith("Ratings(1 user × 2 items, 2 ratings")


def test_all_problems_of_the_columns_are_named_together(tmp_path, monkeypatch, capsys):
    """The error is the first; the lines below it are those that the workbench shows, too."""
    monkeypatch.chdir(tmp_path)
    names = ["Kunde", "Name", "Mail", "Alter", "Artikel", "Titel", "Gruppe", "Sterne", "Am"]
    rows = [
        f"K{n % 40};N;m@x;30;A{n % 33};T;G;{n % 5 + 1 if n % 50 else -1};{n % 28 + 1:02}.12.2024"
        for n in range(400)
    ]
    (tmp_path / "export.csv").write_text("\n".join([";".join(names), *rows, ""]))

    def problems(*words):
        with pytest.raises(SystemExit) as stop:
            main(["inspect", "export.csv", *words])
        assert stop.value.code == 2
        return capsys.readouterr().err.splitlines()

    error, *also = problems()
    assert all(repr(name) in error for name in names)
    assert [line.split(" (--")[1].split(")")[0] for line in also] == ["item", "rating"]
    (tmp_path / "export.csv").write_text("\n".join([";".join(names), "K;N;m@x;30;A;T;G;;", *rows]))
    named = ("--user", "Kunde", "--item", "Artikel", "--rating", "Sterne")
    error, *also = problems(*named)
    assert "line 2: the rating is missing" in error
    (line,) = also
    assert line.startswith("also: “Sterne”: -1 (8 times) among the first ")
    assert "--scale" in line
    with raises("rating.missing") as caught:
        inspect("export.csv", user="Kunde", item=5, rating="Sterne")
    assert caught.value.also == (line.removeprefix("also: "),)


def test_all_problems_of_a_table_below_a_title_are_named_together(tmp_path):
    path = tmp_path / "titled.csv"
    rows = "".join(f"{user};{user % 7};4\n" for user in range(30))
    path.write_text(f"Librairie Les Trois Hiboux\n\nclient;isbn;stars of it\n{rows}")
    with raises("input.header") as caught:
        inspect(path)
    assert any("recognized as the user" in line for line in caught.value.also)


def test_likes_with_missing_ids_lack_no_rating(tmp_path):
    file = tmp_path / "likes.csv"
    file.write_text("user,item\n1,2\n,3\n2,2\n3,\n", encoding="utf-8")
    with raises("id.missing") as caught:
        inspect(file)
    assert not any("the rating" in line for line in caught.value.also)
