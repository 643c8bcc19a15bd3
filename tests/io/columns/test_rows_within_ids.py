"""Rows of other users within ids, whatever separates their fields."""

import base64
import math
import random
import time
import uuid
from itertools import chain, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil import RatingScale, read_ratings
from recveil.io.columns.original_rows import find_original_rows
from recveil.io.columns.rows_within_ids import (
    _fewest_inside,
    find_rows_within,
)
from recveil.ratings.sorted_rows import Rows

USERS = [*range(1001, 1021), "u-7"]
ITEMS = [*(f"i{n}" for n in range(1, 9)), "i-9", "Alien", "Toy Story (1995)"]


@pytest.mark.parametrize(
    "label",
    [
        *(rf"i4{end}1002,i3,4{end}1003,i7,2" for end in (r"\n", r"\r\n", r"\012", "%0A", "<br>")),
        r"i4\t1002\ti3\t\N",
        "i4%2C1002%2Ci3",
        "4\\n1002,3",
        *(sign.join(["i4", "1002", "i3", "4"]) for sign in "^:-/~#=&@!+*.\u00b7\u2022\x1f"),
        *(sign.join(["i4", "1002", "i3"]) for sign in "^:-/~#,;\t| \x01"),
        *(sign.join(["i4", "u-7", "i-9", "4"]) for sign in "^:-/~ "),
        "i4 -> 1002 -> i3 -> 4",
        "1002: i3 (4)",
        "i4::1002::i3",
        "i4;1002;Toy Story (1995)",
        "i4,1,(1002,'i3',4.5)",
        '1","1002","i3","4',
    ],
    ids=ascii,
)
def test_a_row_within_an_id_is_found_whatever_separates_its_fields(label):
    items = [*ITEMS, 3, label]
    assert find_rows_within([label], USERS, items) == [0]


@pytest.mark.parametrize(
    "label",
    [
        "2001: A Space Odyssey",
        "Alien 3",
        "Alien 1003 (1992)",
        "Alien 1003.5",
        "Alien: 1003",
        "Up (2009)",
        "Alien|1003",
        "1001,1002,1003,4",
        "A Christmas, 1001",
        "Alien, 1003: Return",
        "i4,i3",
        "978-3-16-148410-0",
    ],
)
def test_a_title_with_a_number_is_no_row(label):
    users = [*USERS, 3, 16, 2001]
    assert find_rows_within([label], users, [*ITEMS, "A", 16, 148410, label]) == []


def test_a_row_of_a_table_without_ratings_is_a_user_and_an_item(tmp_path):
    assert find_rows_within(["1002,i3"], USERS, ITEMS, is_unrated=True) == [0]
    assert find_rows_within(["1002,i3"], USERS, ITEMS) == []
    (tmp_path / "likes.csv").write_text('user,item\n1001,"x,1002,i3"\n1002,i3\n1002,i4\n')
    with raises("id.row-within"):
        read_ratings(tmp_path / "likes.csv")


@pytest.mark.parametrize("sign", [*"^~", ","])
def test_rows_within_an_id_are_refused_with_the_line(tmp_path, sign):
    within = sign.join(["i4", "1002", "i3", "4", "1003", "i1"])
    rows = ["user,item,rating", "1001,i3,4", "1002,i1,5", f'1003,"{within}",2', "1001,i4,1"]
    (tmp_path / "r.csv").write_text("\n".join(rows))
    with raises("id.row-within"):
        read_ratings(tmp_path / "r.csv")


@pytest.mark.parametrize(
    "row",
    [
        *("31,1002,33,4", "31;1002;33;4;1003;35;2", r"31\n1002,33,4", "503 2001 507 4 2002 511 2"),
        *("user=1004&item=17&rating=4", "31x1004y17z4", '31"}{"user":"1004","item":"17","n":4'),
    ],
)
def test_numbers_within_an_id_are_a_row_where_nearly_all_ids_are_numbers(row):
    users, items = range(1000, 1030), [*map(str, range(10, 60))]
    assert find_rows_within([*items, row], users, [*items, row]) == [50]
    assert find_rows_within([*items, "31-2", "12.5"], users, items) == []
    lists = [f"{n}|{n + 1000}|{n + 1}" for n in range(10, 60)]
    assert find_rows_within([*items, *lists], users, items) == []


@pytest.mark.parametrize(
    ("users", "label"),
    [
        (["user_1", "user_2"], "B1-503;user_2001;B1-507;4;user_2002;B1-511;2"),
        (["user_1", "user_2"], "user_2001|B1-900|4"),
        (["ann@x.org", "b.b@y.com"], "heat|quentin@x.org|alien|4"),
        (["ann@x.org", "b.b@y.com"], "alien\tquentin@x.org\t4"),
        ([1003, 1004], "B1-503,2001,alien,4"),
        (["9f86d081", "60303ae2"], r"x\n2c26b46b,alien,4"),
    ],
)
def test_a_row_of_an_unknown_user_is_found_by_what_ids_look_like(users, label):
    items = ["B1-503", "B1-507", "B1-511", "alien", label]
    assert find_rows_within(items, users, items) == [4]


@pytest.mark.parametrize("label", ["B1-503;B1-507;4", "heat|alien|4", "u|2|x", "tag_1|tag_2|3"])
def test_a_list_of_items_is_no_row_of_an_unknown_user(label):
    items = ["B1-503", "B1-507", "alien", "heat", label]
    assert find_rows_within(items, ["user_1", "user_2"], items) == []


ENCODED = [
    "U-12 gave the film I7 a 4",
    '{"who": "u-12", "what": "i7", "n": 4}',
    "<r><u>u-12</u><i>i7</i><v>4</v></r>",
    "u-12%252Ci7%252C4",
    "u-12=2Ci7=2C4",
    "\uff55-12 \uff49\uff17 \uff14",
    "u-\u200b12 i\u200b7 04",
    "4 u&#45;12 i7",
    r"\u0075-12;i7;4",
]


@pytest.mark.parametrize("label", ENCODED, ids=ascii)
def test_an_original_row_within_an_item_is_refused_in_any_notation(tmp_path, label):
    quoted = label.replace('"', '""')
    lines = ["user,item,rating", "u-12,i7,4", "u-12,i8,2", "u-13,i7,1", f'u-13,"{quoted}",2']
    (tmp_path / "r.csv").write_text("\n".join(lines))
    with raises("id.row-within") as caught:
        read_ratings(tmp_path / "r.csv")
    assert "line 5" in str(caught.value)


@pytest.mark.parametrize("user", ["1,004", "1'004", "1.004e3", "1.004E+03"])
def test_a_row_is_found_whose_user_is_a_number_in_another_notation(user):
    items = ["i1", "i2", "i3", f"i1;{user};i2;5"]
    assert find_rows_within(items, range(1001, 1012), items) == [3]
    assert find_original_rows(
        np.array(["1004"], object),
        np.array(["i2", f"rated {user} i2 5"], object),
        Rows(np.array([0, 1]), np.array([0], np.int32), np.array([5.0], np.float32), None),
        RatingScale(1, 5, 1),
    ) == [1]


@pytest.mark.parametrize("label", ["i7 (4)", "Alien 3 (1992)"])
def test_no_item_is_refused_that_states_no_rating(tmp_path, label):
    lines = ["user,item,rating", "u-12,i7,4", "u-12,i8,2", "u-13,i7,1", f'u-13,"{label}",2']
    (tmp_path / "r.csv").write_text("\n".join(lines))
    assert read_ratings(tmp_path / "r.csv").n_items == 3


def test_two_likes_within_an_item_are_refused(tmp_path):
    lines = ["user,item", "u12,i7", "u13,i8", "u13,i7", 'u12,"u12 likes I7 and u13 likes I8"']
    (tmp_path / "r.csv").write_text("\n".join(lines))
    with raises("id.row-within"):
        read_ratings(tmp_path / "r.csv")


HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
APART = [
    "i1 4 u2 2020-01-02 i5 2 u3 2020-01-03 i6",
    r"i4\t1\t2020-01-11\n12\tu2\tTitle i3\ti3\t1\t2020-01-12",
    '{"user": "u2", "item": "i3", "rating": 5}',
    "{&quot;user&quot;:&quot;u2&quot;,&quot;item&quot;:&quot;i3&quot;,&quot;n&quot;:4}",
    "%7B%22user%22:%22u2%22,%22item%22:%22i3%22,%22n%22:4%7D",
    "user=u2&item=i3&rating=5",
    "user=u2;item=i3;rating=4.5",
    "<td>u2</td><td>i3</td><td>5</td>",
    "u2_x0009_i3_x0009_4_x000D_u3_x0009_i4_x0009_1",
    "i4, 1; 1002, Nameu2, i3, 1",
    "u2 2020-01-02 Toy Story (1995) 4",
    f"Alien\t12\n{HEX}\tmbid\ti3\t57",
    f"Alien 12 {HEX[::-1]} mbid i3 57",
    "user=ann&item=Alien&rating=5",
    "1002 2020-01-02 i3 4 1003 2020-01-03 i4 5",
]


@pytest.mark.parametrize("label", APART, ids=ascii)
def test_a_row_is_found_whose_user_and_item_have_other_columns_between_them(label):
    users = ["u2", "u3", "ann", HEX, *(f"u{n}" for n in range(10, 20)), 1002, 1003]
    assert find_rows_within([label], users, [*ITEMS, label]) == [0]


@pytest.mark.parametrize("label", ["user=u2&item=i3", "u2 2020-01-02 i3", "user=ann;item=Alien"])
def test_a_like_is_found_whose_user_and_item_have_names_between_them(label):
    assert find_rows_within([label], ["u2", "ann"], ITEMS, is_unrated=True) == [0]


@pytest.mark.parametrize("is_unrated", [False, True])
@pytest.mark.parametrize("users", [[f"u{n}" for n in range(1, 30)], range(1, 611), ["ann", "ted"]])
def test_a_composite_item_id_is_no_row(users, is_unrated):
    skus = [f"sku{n}-red-{size}" for n in range(9) for size in (38, 40)]
    others = ["genre|Drama", "sku-12-red", "978-3-16-148410-0", "Heat 2 (1999)", "Bob & Ted & Heat"]
    items = [*skus, *others, *(f"sku{n}" for n in range(9)), "Heat", "Drama", "Bob"]
    assert find_rows_within(items, users, items, is_unrated=is_unrated) == []


@pytest.mark.parametrize(
    ("label", "value"),
    [
        *(("u12 i7 4.5", 4.5), ("u12 i7 4,5", 4.5), ("u12=i7=-4", -4), ("u12 i7 \u22124", -4)),
        *(("u12 i7 .5", 0.5), ("u12 i7 4.1", 4.1), ("u12 i7 04.50", 4.5), ("u12 i7 -4.5", -4.5)),
    ],
    ids=ascii,
)
def test_a_rating_with_decimals_or_a_sign_is_found_with_its_user_and_item(label, value):
    items = np.array(["i7", label], object)
    rows = Rows(np.array([0, 1]), np.array([0]), np.array([value], np.float32), None)
    scale = RatingScale(-5, 5)
    assert find_original_rows(np.array(["u12"], object), items, rows, scale) == [1]
    rows = rows._replace(values=np.array([3], np.float32))
    assert find_original_rows(np.array(["u12"], object), items, rows, scale) == []


@pytest.mark.parametrize(
    "label", ["105;2;1023;107;5;1024;108", "0803;5;2720;107;4", "107|2720|4|108|2721|5"]
)
def test_numbers_within_an_id_are_a_row_where_a_part_of_the_ids_are_numbers(label):
    users, items = [*range(1020, 1030)], ["b1", "b2", "0803", "107", "108", label]
    assert find_rows_within(items, users, items) == [5]


@pytest.mark.parametrize(
    "label",
    ["3f2c9d1e-7b64-4a1c-9d20-8e5f17b3a2c4", "978-3-16-148410-0", "gift-card-10-25-50", "9/11/01"],
)
def test_no_id_is_a_row_without_a_number_as_long_as_a_user_id(label):
    users, items = range(80_000, 80_030), [*map(str, range(4001, 4051)), label]
    assert find_rows_within(items, users, items) == []


PLACES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 3)).map(lambda at: range(at[0], sum(at))),
    max_size=5,
)


@given(PLACES, PLACES, st.sets(st.integers(0, 12)))
def test_two_users_and_items_alternate_as_the_simplest_way_finds(users, items, numbers):
    counted = [[(at, len(numbers & {*at})) for at in places] for places in (users, items)]
    inside = (
        len(numbers & {*chain(*each)})
        for each in product(users, items, users, items)
        if all(one.stop <= other.start for one, other in pairwise(each))
    )
    assert _fewest_inside(counted * 2) == min(inside, default=math.inf)


def test_many_users_and_items_within_an_id_take_no_time():
    draw = random.Random(1)
    users, items = range(1, 301), [f"b{n}" for n in range(120)]
    bundles = [
        " ".join([*draw.sample(items, 40), "x", *map(str, draw.sample(range(1, 41), 40))])
        for _ in range(100)
    ]
    began = time.process_time()
    assert find_rows_within([*items, *bundles], users, [*items, *bundles]) == []
    assert time.process_time() - began < 10, "each took 2 seconds"


TITLES = ["Heat", "Alien", "Toy Story", "Up", "Jaws", "Fargo"]
ABSENT = {
    "addresses": ([f"{name}@x.org" for name in ("ann", "bob", "cid", "dora")], "zoe.b@x.org"),
    "numbers": ([*range(1001, 1031)], "1061"),
    "long numbers": ([*range(100_001, 100_031)], "100061"),
    "UUIDs": ([str(uuid.UUID(int=draw.getrandbits(128))) for draw in map(random.Random, "abcd")],),
}
ABSENT["UUIDs"] += (str(uuid.UUID(int=random.Random("e").getrandbits(128))),)
SWALLOWED = [
    *(r"{i},3\n{u},{o},4", "{i};3;{u};{o};4", "{i}|3|{u}|{o}|4", "{i}::3::{u}::{o}::4"),
    *("{i},3 {u},{o},4", "{i}   3   {u}   {o}   4", "{i}~{u}~{o}~4", "{i}#3#{u}#{o}#4"),
    '{i}","rating":3}},{{"user":"{u}","item":"{o}","rating":4}}',
    "{i}', 3), ('{u}', '{o}', 4), ('{u}', '{i}', 2",
]


@pytest.mark.parametrize("users", ABSENT)
@pytest.mark.parametrize("title", ["{}", "{} (1995)", "{}!", "*{}", "\u00ab{}\u00bb", "{}+", "{}."])
@pytest.mark.parametrize("form", SWALLOWED)
def test_a_row_of_a_user_who_is_nowhere_else_is_found_next_to_any_title(users, title, form):
    """Titles without the punctuation at their ends were compared with whole fields."""
    users, absent = ABSENT[users]
    items = [*map(title.format, TITLES)]
    label = form.format(i=items[0], u=absent, o=items[3])
    assert find_rows_within([*items, label], users, [*items, label]) == [6]


@pytest.mark.parametrize("sign", ["~", "/", " - ", "_", ":", " ", " rated ", "\u2192", "*", "."])
@pytest.mark.parametrize("users", ["addresses", "UUIDs"])
@pytest.mark.parametrize("items", [TITLES, [*map(str, range(101, 107))]], ids=["titles", "numbers"])
def test_an_address_or_uuid_next_to_an_item_is_a_row_whatever_separates_them(sign, users, items):
    users, absent = ABSENT[users]
    if sign in "_." and "@" in absent:
        absent = f"<{absent}>"  # a part of the address otherwise
    label = sign.join([items[0], absent, items[3], "4"])
    assert find_rows_within([*items, label], users, [*items, label]) == [6]
    honest = [f"{items[0]} 4", f"{items[0]} and {items[1]} 3", absent]
    assert find_rows_within([*items, *honest], users, [*items, *honest]) == []


def test_words_name_a_user_and_an_item_among_ids_of_any_kind():
    items = [*TITLES, "i7", "Heat user 12 item Up rating 4", "i7 customer: 13, product: Alien"]
    items += ["Alien: user guide, item 8", "7 users, 12 items"]
    assert find_rows_within(items, range(1, 31), items) == [7, 8]


@pytest.mark.parametrize("sign", [" / ", "-", " - ", ":", "_", "+"])
def test_two_users_who_are_nowhere_else_are_found_between_signs_of_titles(sign):
    label = sign.join(["Heat", "3", "1061", "Alien", "4", "1062", "Up"])
    assert find_rows_within([*TITLES, label], range(1001, 1031), [*TITLES, label]) == [6]
    honest = [sign.join(["Heat", "1061", "Alien"]), sign.join(["Heat", "1994", "Up", "1996"])]
    assert find_rows_within([*TITLES, *honest], range(1001, 1031), [*TITLES, *honest]) == []


def test_a_like_of_an_unknown_number_is_found_between_two_items():
    labels = ["Heat,1061,Alien", "Heat,1994,Alien", "Heat, 1061"]
    items = [*TITLES, *labels]
    assert find_rows_within(items, range(1001, 1031), items, is_unrated=True) == [6]


def test_a_row_is_found_between_signs_that_were_read_in_another_encoding(tmp_path):
    for sign in "\u00b7\u00a6\u2192\u2022":
        wrong = sign.encode().decode(
            "cp1252" if sign > "\u2000" and sign != "\u2192" else "latin-1"
        )
        rows = [
            "user,item,rating",
            "u8,Up,4",
            "u9,Heat,2",
            f"u9,{wrong.join(['Heat', 'u8', 'Up', '4'])},3",
        ]
        (tmp_path / "r.csv").write_text("\n".join(rows))
        with raises("id.row-within"):
            read_ratings(tmp_path / "r.csv")


def test_a_word_with_digits_is_no_user_of_the_same_length():
    users = [f"anna{n}" for n in range(1000, 1030)]
    items = [*TITLES, "Ghosts", "Thirteen Ghosts (a.k.a. Thir13en Ghosts)"]
    for is_unrated in (False, True):
        assert find_rows_within(items, users, items, is_unrated=is_unrated) == []


@pytest.mark.parametrize("sign", [",", ";", "|", "~"])
@pytest.mark.parametrize("line", [r"\n", r"\r\n", r"\u000a", "&#10;", "<br>", "\u2028", "\u2424"])
@pytest.mark.parametrize("user", ["9F3AB1", "Ada Dunn", "dunn.a", "483920"])
def test_a_line_break_as_text_between_fields_is_a_row_whatever_the_ids_look_like(sign, line, user):
    swallowed = [f"Net, The (1995){sign}3", f"{user}{sign}Heat (aka Heat!){sign}like"]
    label = line.join(swallowed)
    honest = [f"Red{line}blue", f"Red, S{line}Blue, M", f"C:{line}ew{sign}2", f"3{line}4"]
    items = [*TITLES, "Net, The (1995)", "Heat (aka Heat!)", *honest, label]
    assert find_rows_within(items, ["A10B2C", "Bo Lee", "1061"], items) == [len(items) - 1]


@pytest.mark.parametrize("user", ["1061", "483920"])
def test_a_delimiter_within_titles_does_not_hide_a_user_between_two_of_them(user):
    titles = [f"{title}, The (1995)" for title in TITLES]
    users = [str(int(user) // 1000 * 1000 + n) for n in range(1, 31)]
    label = f"{titles[0]},{user},{titles[3]},4"
    assert find_rows_within([*titles, label], users, [*titles, label]) == [6]


def test_a_part_of_a_uuid_is_no_user_of_the_same_length():
    users = [f"A{n:013d}"[:10] + f"X{n:03d}" for n in range(60)]
    items = ["winter", "paper", "winter 8a849019-887c-bba8-f458-65b83d83cd3f 3"]
    assert find_rows_within(items, users, items) == []


@pytest.mark.parametrize("users", ["addresses", "UUIDs"])
@pytest.mark.parametrize("form", ["wishlist of {}", "Up - 3 - {} - Heat", "item=11&user={}"])
def test_a_few_ids_that_contain_addresses_or_uuids_are_found_where_users_are_such(users, form):
    users, absent = ABSENT[users]
    items = [*TITLES, form.format(absent.replace("@", "%40") if "&" in form else absent)]
    assert find_rows_within(items, users, items) == [len(TITLES)]
    many = [f"{title} {absent}" for title in TITLES]
    assert find_rows_within(many, ["Ann", "Ben"], many) == []


@pytest.mark.parametrize("sign", [", ", ";", " ", "/", " and "])
def test_an_id_that_lists_users_is_found_unless_numbers_are_users_by_chance(sign):
    six, named = [*range(300_000, 900_000, 9001)], [f"user_{n}" for n in range(30)]
    for users, n in ((six, 3), (named, 2)):
        listed = sign.join(map(str, users[:n]))
        items = [*TITLES, listed, f"11: {listed}", f"by {users[0]}"]
        assert find_rows_within(items, users, items) == [6, 7]
    dense = range(100_000, 900_000, 7)
    items = [*TITLES, sign.join(map(str, dense[:3]))]
    assert find_rows_within(items, dense, items) == []


FEW = [f"{word} (aka {word}!)" for word in ("Toy Story", "Heat", "Up", "Alien", "Big", "Fargo")]
SIX_DIGITS = [str(number) for number in range(100_003, 999_999, 15_013)]
SIX_LETTERS = [f"{number * 7919 % 16**6:06X}" for number in range(1, 60)]


@pytest.mark.parametrize("sign", [",", ";", "|", "\t", "::", "~", "^", "#"])
def test_a_delimiter_and_what_looks_like_users_are_a_row(sign):
    for users, user in ((SIX_DIGITS, "483920"), (SIX_LETTERS, "9F3AB1")):
        rows = [[FEW[0], user, FEW[1], "4"], [FEW[0], user, "Brand New Film", "4"]]
        rows += [[FEW[0], user]] * (sign not in "~#") + [[FEW[0], "3", user]] * (sign not in "~#")
        for label in map(sign.join, rows):
            assert find_rows_within([*FEW, label], users, [*FEW, label]) == [len(FEW)], label


@pytest.mark.parametrize(
    "label",
    [
        *(
            "Wit, 483920",
            "Wit;1995;4",
            "Wit,483;4",
            "20,000 Leagues",
            "1,000,000 B.C.",
            "10,483920",
        ),
        *("https://x.org/p#483920", "Cable;048392;m", "Wit 483920 10:30", "John 3:16 4:5"),
        "Project A ('A' gai waak) (1983)",
    ],
)
def test_a_number_that_is_no_field_of_users_is_no_row(label):
    assert find_rows_within([*FEW, label], SIX_DIGITS, [*FEW, label]) == []


def test_a_catalogue_of_ids_with_numbers_between_delimiters_is_read():
    items = [f"S{n % 9}|{483_920 + n}|x" for n in range(40)]
    assert find_rows_within(items, SIX_DIGITS, items) == []


def test_a_row_of_libsvm_is_found():
    for user in ("483920", SIX_DIGITS[3]):
        for label in (f"{FEW[0]} {user} 5:4 8:2 9:5", f"{user} 7:4 9:5"):
            assert find_rows_within([*FEW, label], SIX_DIGITS, [*FEW, label]) == [6]


@pytest.mark.parametrize(
    "form",
    [
        "{{'{0}': {{'{1}': 4, 'Other': 2}}}}",
        '{{"{0}": {{"{1}": 4}}}}',
        "{{{0}: {{'{1}': 4}}}}",
        "{{('{0}', '{1}'): 4}}",
        "[['{0}', '{1}', 4]]",
        "{{'12': 3, '{0}': 4, '719204': 2}}",
    ],
)
def test_dictionaries_and_lists_of_python_and_json_are_rows(form):
    label = form.format("483920", FEW[1])
    assert find_rows_within([*FEW, label], SIX_DIGITS, [*FEW, label]) == [6]


def test_rows_in_base64_or_hexadecimal_digits_are_found():
    rows = f"{FEW[0]},3\n483920,{FEW[1]},4\n719204,{FEW[2]},2".encode()
    for label in (base64.b64encode(rows), base64.urlsafe_b64encode(rows).rstrip(b"=")):
        for items in ([*FEW, label.decode()], [*FEW, rows.hex()]):
            assert find_rows_within(items, SIX_DIGITS, items) == [6]
    product = base64.b64encode(b"gid://shop/Product/123").decode()
    assert find_rows_within([*FEW, product], SIX_DIGITS, [*FEW, product]) == []


@pytest.mark.parametrize("text", ["Toy Story#", "a@", "%25", "483920,"])
def test_an_id_of_many_words_takes_time_in_proportion_to_it(text, tmp_path):
    rows = [f"{user},{item},{3}" for user in SIX_DIGITS for item in ("Toy Story", "a", "25", "Up")]
    label = text * (100_000 // len(text))
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["user,item,rating", *rows, f'{SIX_DIGITS[0]},"{label}",3']))
    began = time.process_time()
    read_ratings(path, scale="1:5:1")
    assert time.process_time() - began < 5, "one with 7 seconds takes one now"
