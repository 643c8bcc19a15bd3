"""Rows within ids in any notation, and catalogues that only look like it."""

import json
import random

import numpy as np
import pytest

from error_assertions import raises
from recveil import RatingScale, read_ratings
from recveil.io.columns.original_rows import find_original_rows
from recveil.io.columns.repeated_rows import find_repeated_rows
from recveil.io.columns.rows_within_ids import find_rows_within
from recveil.ratings.rating_scale import LIKES
from recveil.ratings.sorted_rows import Rows

TITLES = (
    *("Heat", "Alien", "Brazil", "The Sting", "Fargo", "Vertigo", "Psycho", "Jaws", "Rocky", "Big"),
    *("Toy Story", "Alien 3", "Mad", "Kill Bill", "Se7en", "Léon"),
)
NAMES = "Alice Bob Carol Dave Erin Frank Grace Heidi Ivan Judy".split()  # noqa: SIM905
USERS = {
    "numbers": [str(1000 + n) for n in range(40)],
    "short numbers": [str(n) for n in range(1, 41)],
    "numbered": [f"u{n}" for n in range(40)],
    "names": NAMES,
    "full names": [f"{name} Austen" for name in NAMES],
    "addresses": [f"{name.lower()}@example.org" for name in NAMES],
}
ITEMS = {
    "titles": TITLES,
    "numbered": [f"i{n}" for n in range(60, 90)],
    "mixed": [*map(str, range(100, 120)), *(f"b{n}" for n in range(5))],
}
SCALES = {
    "stars": RatingScale(1, 5, 1),
    "halves": RatingScale(0.5, 5, 0.5),
    "words": RatingScale.of_labels("hate,so so,love"),
    "likes": LIKES,
}


def _joined(between, *, columns="uiv", end=None, around=("", "")):
    def write(rows):
        lines = (between.join(row[column] for column in columns if row[column]) for row in rows)
        return (between if end is None else end).join(f"{around[0]}{x}{around[1]}" for x in lines)

    return write


def _each(template, end=" "):
    return lambda rows: end.join(template.format(**row) for row in rows)


# Of rows with a user u, an item i, a rating v and a day d.
NOTATIONS = {
    **{f"joined by {sign}": _joined(sign) for sign in "~^#/;|\t :*+"},
    "lines that are written as \\n": _joined(",", end="\\n"),
    "lines joined by <br>": _joined(";", end="<br>"),
    "rating first": _joined(" ", columns="vui"),
    "item first": _joined("~", columns="iuv"),
    "rating in the middle": _joined(" ", columns="uvi", end=" / "),
    "tuples": _joined(", ", end=", ", around=("(", ")")),
    "with days": _each("{u}~{d}~{i}~{v}", "~"),
    "days and blanks": _each("{d} {u} {i} {v}"),
    "names of fields": _each("user {u} item {i} rating {v}"),
    "query": _each("user={u}&item={i}&rating={v}", "&"),
    "tags": _each('<r u="{u}" i="{i}" v="{v}"/>', ""),
    "cells": _each("<tr><td>{u}</td><td>{i}</td><td>{v}</td></tr>", ""),
    "JSON": lambda rows: json.dumps([{"who": x["u"], "what": x["i"], "n": x["v"]} for x in rows]),
    "nested JSON": lambda rows: json.dumps({x["u"]: {x["i"]: x["v"]} for x in rows}),
    "arrows": _each("{u} -> {i} : {v}", " / "),
    "brackets": _each("{u} ({i}) {v},"),
    "braces": _each("{u}{{{i}}}[{v}]"),
    "sentences": _each("{u} saw {i} and gave {v} there.", " Then "),
    "YAML": _each("- user: {u} item: {i} rating: {v}"),
    "SQL": _each("INSERT INTO r VALUES ('{u}', '{i}', '{v}');", " "),
    "percent-encoded": _each("{u}%2C{i}%2C{v}", "%0A"),
    "other case": lambda rows: _joined("~")(rows).upper(),
    "zeros in front": _each("{zu} {i} {zv}", " ; "),
}


def _rows(users, items, scale, generator, n=3):
    rows = []
    for user, item in zip(generator.sample(users, n), generator.sample(items, n), strict=True):
        value = (
            generator.choice(scale.labels)
            if scale.labels
            else f"{generator.choice(scale.levels):g}"
        )
        day = f"20{generator.randint(10, 20)}-0{generator.randint(1, 9)}-1{generator.randint(0, 9)}"
        value = "" if scale.unary else value
        padded = {
            f"z{key}": f"00{x}" if x.isdigit() else x for key, x in (("u", user), ("v", value))
        }
        rows.append({"u": user, "i": item, "v": value, "d": day, **padded})
    return rows


def _finds(label, users, items, scale):
    is_unrated = scale.unary
    return bool(
        find_rows_within([*items, label], users, [*items, label], is_unrated=is_unrated)
        or find_repeated_rows([label], users, [*items, label], scale)
    )


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("scale", ["stars", "halves", "words"])
def test_three_rows_are_found_in_any_notation(notation, scale):
    generator = random.Random(f"{notation} {scale}")
    missed = []
    for kind, users in USERS.items():
        for other_kind, items in ITEMS.items():
            for _ in range(3):
                label = NOTATIONS[notation](_rows(users, [*items], SCALES[scale], generator))
                if not _finds(label, users, [*items], SCALES[scale]):
                    missed.append((kind, other_kind, label))
    assert missed == []


@pytest.mark.parametrize("notation", [each for each in NOTATIONS if "rating" not in each])
def test_three_likes_are_found_in_any_notation(notation):
    generator = random.Random(notation)
    missed = []
    for kind, users in USERS.items():
        for other_kind, items in ITEMS.items():
            label = NOTATIONS[notation](_rows(users, [*items], LIKES, generator))
            if not _finds(label, users, [*items], LIKES):
                missed.append((kind, other_kind, label))
    assert missed == []


@pytest.mark.parametrize(
    ("label", "users"),
    [
        ("1020~1970-01-01~Alien~4~1021~2020-02-02~Heat~5", USERS["numbers"]),
        ("user 1020 item ALIEN rating 4 user 1021 item HEAT rating 5", USERS["numbers"]),
        ('<r u="1020" i="Alien" v="4"/><r u="1021" i="Heat" v="5"/>', USERS["numbers"]),
        ("0001020 Alien 4 0001021 Heat 5", USERS["numbers"]),
        ("u1020 Alien 4 u1021 Heat 5", USERS["numbers"]),
        ("12 Alien 4 13 Heat 5", USERS["numbered"]),
        ("i_12: Alien = 4.0, i_13: Heat = 5.0", USERS["short numbers"]),
        ('{"Carol": {"Alien": 2}, "Bob": {"Heat": 3}}', NAMES),
        ('{"Carol": {"Alien": 2, "Heat": 3}}', NAMES),
        ('{"Alien": {"Carol": 2, "Bob": 3}}', NAMES),
        ("Brazil 3 Carol Alien 2", NAMES),
        ("Heat;5;1020;Alien", USERS["numbers"]),
        ("1003.0 107.0 4.0 1004.0 108.0 5.0", USERS["numbers"]),
    ],
)
def test_rows_are_found_whose_ids_are_written_otherwise(label, users):
    items = [*TITLES, "107", "108"]
    assert find_repeated_rows([label], users, items, SCALES["stars"]) == [0]


def test_numbers_alone_are_rows_where_the_letters_of_both_ids_are_lost():
    users, items = [f"user:{n}" for n in range(40)], [f"movie:{n}" for n in range(25)]
    labels = ["12 4 5.0 13 7 2.0 14 8 3.0", "12 4 5.0 13 7 2.0", "1 2 3 4 5 6 7 8 9"]
    assert find_repeated_rows(labels, users, items, SCALES["stars"]) == [0]


@pytest.mark.parametrize(
    "rows",
    [
        "user,item,rating|1020,Brazil,2|1021,Brazil,3|1025,Heat,4|1025,Alien,1|1026,Alien,2|1026,{},4",
        "user,item,rating|u2,Brazil,2|u2,Heat,4|u3,Alien,1|u3,{},4",
    ],
)
@pytest.mark.parametrize(
    "form", ["{0} saw Alien: 4 / {1} saw Brazil: 3", "{0}~d~Alien~1~{1}~d~Heat~4"]
)
def test_such_a_table_is_refused_with_the_line(tmp_path, rows, form):
    users = ("1020", "1021") if "1020" in rows else ("u2", "u3")
    lines = rows.format(form.format(*users)).split("|")
    (tmp_path / "r.csv").write_text("\n".join(lines))
    with raises("id.row-within") as caught:
        read_ratings(tmp_path / "r.csv")
    assert f"line {len(lines)}" in str(caught.value)


def test_a_user_id_with_rows_is_refused(tmp_path):
    lines = ["user,item,rating", "1020,Heat,4", "1021,Alien,5", "1022,Alien,1"]
    (tmp_path / "r.csv").write_text("\n".join([*lines, "1020~Heat~d~4~1021~Alien~d~5,Heat,2"]))
    with raises("id.row-within") as caught:
        read_ratings(tmp_path / "r.csv")
    assert "line 5: the user contains" in str(caught.value)


def test_a_rating_is_found_next_to_a_sign_that_mail_programs_encode():
    items = np.array(["Alien", "user=1020 item=Alien rating=4"], object)
    rows = Rows(np.array([0, 1]), np.array([0]), np.array([4], np.float32), None)
    assert find_original_rows(np.array(["1020"], object), items, rows, SCALES["stars"]) == [1]


def test_a_word_is_found_as_the_rating_of_a_user():
    items = np.array(["Alien", "1020 thinks of Alien: so so", "1020 and Alien: love"], object)
    rows = Rows(np.array([0, 1]), np.array([0]), np.array([2], np.float32), None)
    assert find_original_rows(np.array(["1020"], object), items, rows, SCALES["words"]) == [1]


@pytest.mark.parametrize(
    ("users", "items"),
    [
        (["Max", "Lea"], ["Mad", "Heat", "Mad Max", "Mad Max 2", "Mad Max 3: Heat"]),
        (
            ["Max", "Man", "Bill"],
            ["Mad", "Iron", "Kill", "Mad Max 2", "Iron Man 2", "Kill Bill: Vol. 2"],
        ),
        (["Jane Austen", "Lea"], ["Emma", "Emma by Jane Austen", "Emma, Jane Austen, 1815"]),
        (
            ["Jane Austen", "Lea"],
            ["Emma", "Emma by Jane Austen, 4", "Emma, Jane Austen, 2nd ed, 3"],
        ),
        (["Jack", "Mary", "Emma"], ["Mary", "Emma", "Jack, Mary, Emma, 5", "Peter, Paul, Mary"]),
        (
            ["Bob", "Ted"],
            ["Heat", "Alien", "Bob & Heat & Ted & Alien", "Bob and Heat, Ted and Alien"],
        ),
        ([f"user_{n}" for n in range(40)], ["listing", "user_30/listing/1", "user_31/listing/2"]),
        (
            [f"user_{n}" for n in range(40)],
            [*(f"user_{n}/listing/{n % 5}" for n in range(25)), "listing"],
        ),
        (
            USERS["short numbers"],
            ["Apollo 13", "Apollo", "Part", "Friday the 13th Part 2", "Part 3: 3D"],
        ),
        (USERS["short numbers"], [f"ep-{n}-{m}" for n in range(1, 6) for m in range(1, 6)]),
        (
            USERS["short numbers"],
            [f"Show {n}, Season {m}, Episode 3" for n in (1, 2) for m in (1, 2)],
        ),
        (
            USERS["numbered"],
            [*(f"sku{n}-red-{m}" for n in range(9) for m in (2, 38)), "sku1", "red"],
        ),
        (
            USERS["numbers"],
            [*map(str, range(100, 120)), "b1", "100, 101, 102, 103", "box 100 101 102"],
        ),
    ],
)
@pytest.mark.parametrize("scale", SCALES)
def test_a_catalogue_that_looks_like_rows_is_read(users, items, scale):
    is_unrated = SCALES[scale].unary
    assert find_rows_within(items, users, items, is_unrated=is_unrated) == []
    assert find_repeated_rows(items, users, items, SCALES[scale]) == []
    assert find_repeated_rows(items, users, items, None) == []


FILMS = """Mad Max|Max|Heat|Alien|Alien 3|Home|Home Alone|Home Alone 2: Lost in New York|Lost|Her|It
Final Destination|Final Destination, The (Final Destination 4) (Final Destination in 3-D, The)|Gun
Naked Gun 2 1/2: The Smell of Fear, The|Naked Gun 33 1/3: The Final Insult|Fear|Naked|Halloween
Halloween H20: 20 Years Later (Halloween 7: The Revenge of Laurie Strode)|Revenge|Super|Z|Android
Dragon Ball Z: Super Android 13! (Doragon bôru Z 7: Kyokugen batoru!! San dai sûpâ saiyajin)
Road Warrior, The (Mad Max 2)|Friday the 13th|Friday the 13th Part 3: 3D|11'09"01 - September 11
10 Cloverfield Lane|Cloverfield|Nine to Five (a.k.a. 9 to 5)|9to5: Days in Porn (a.k.a. 9 to 5: Days
F/X2 (a.k.a. F/X 2 - The Deadly Art of Illusion)|F/X|Crazy, Stupid, Love.|Crazy|Love|I, Frankenstein
Frankenstein|Tinker, Tailor, Soldier, Spy|Spy|Soldier|Spring|Spring, Summer, Fall, Winter... and
Step Up|Step Up 2 the Streets|Up|2 Fast 2 Furious|Bob & Carol & Ted & Alice|Alice|Mystery, Alaska
Spy Kids 3-D: Game Over|Game|Kids|Rush|Rush Hour 2|Hour|Sharknado 4: The 4th Awakens|The Amazing
Spider-Man 2|Stuart Little 3: Call of the Wild|Stuart|Little|Wild|1984|300|21|House of 1000 Corpses
House|Gone|Gone in 60 Seconds|Big|Big Hero 6|Hero|Police Academy 2: Their First Assignment|Police"""


@pytest.mark.parametrize("scale", ["stars", "halves", "likes"])
@pytest.mark.parametrize("kind", [*USERS, "words of titles", "610 numbers"])
def test_no_title_is_a_row(kind, scale):
    items = FILMS.replace("\n", "|").split("|")
    found = {word for item in items for word in item.replace("(", " ").split() if word.isalnum()}
    users = {"words of titles": sorted(found), "610 numbers": [*map(str, range(1, 611))]} | USERS
    assert find_rows_within(items, users[kind], items, is_unrated=scale == "likes") == []
    assert find_repeated_rows(items, users[kind], items, SCALES[scale]) == []


def test_a_title_that_contains_a_rating_by_chance_is_read():
    users, items = np.array(["Max", "Lea"], object), np.array(["Mad", "Mad Max 2", "Heat"], object)
    rows = Rows(
        np.array([0, 2, 4]), np.array([0, 2, 0, 1]), np.array([2, 5, 3, 4], np.float32), None
    )
    assert find_original_rows(users, items, rows, SCALES["stars"]) == []
    users = np.array(["Max", *(f"user {n}" for n in range(1000))], object)
    indptr, indices = np.array([0, 1, *[2] * 1000]), np.array([0, 2])
    rows = Rows(indptr, indices, np.array([2, 5], np.float32), None)
    assert find_original_rows(users, items, rows, SCALES["stars"]) == [1]
