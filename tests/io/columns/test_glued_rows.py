"""Rows within an id whose line breaks were dropped: a rating and the next user are one word."""

import itertools
import random
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil import read_ratings
from recveil.io.columns.glued_rows import GluedRows
from recveil.io.columns.rows_within_ids import find_rows_within

TITLES = ["Heat", "Alien", "Jaws", "The Sting", "Up", "Fargo", "Big Fish", "Se7en", "Toy Story 2"]
FIRST_NAMES = ["ann", "ben", "cid", "dora", "eve", "finn"]
NAMES = [f"{name}{tail}" for tail in ("", "a", "b") for name in FIRST_NAMES]


def _hex(seed: str, n: int) -> str:
    return uuid.uuid5(uuid.NAMESPACE_DNS, f"{seed} {n}").hex


STYLES = {
    "letters": ([str(1001 + n) for n in range(18)], [f"i{n + 1}" for n in range(9)]),
    "numbers": ([str(1001 + n) for n in range(18)], [str(501 + n) for n in range(9)]),
    "titles": ([str(1001 + n) for n in range(18)], TITLES),
    "names": (NAMES, TITLES),
    "short": ([str(101 + n) for n in range(18)], TITLES),
    "shop": (
        [f"A{_hex('user', n)[:13].upper()}" for n in range(18)],
        [f"B0{_hex('item', n)[:8].upper()}" for n in range(9)],
    ),
    "uuids": ([_hex("user", n) for n in range(18)], [_hex("item", n) for n in range(9)]),
}
ORDERS = ["uir", "iur", "uri", "uirt", "urti", "riu"]
DELIMITERS = ["\t", ",", ";", "|", "::"]


def _glue(rows: list[dict[str, str]], order: str, delimiter: str, end: str = "") -> str:
    """Return rows as one item id: from the first one's item to the last one's item."""
    at = order.index("i")
    lines = [[row[column] for column in order] for row in rows]
    lines[0], lines[-1] = lines[0][at:], lines[-1][: at + 1]
    return end.join(delimiter.join(line) for line in lines)


def _rows(users: list[str], items: list[str]) -> list[dict[str, str]]:
    """Return rows of these users, each with all of the items."""
    return [
        {"u": user, "i": item, "r": str((3 * n + m) % 5 + 1), "t": str(978_300_000 + 86_400 * m)}
        for n, user in enumerate(users)
        for m, item in enumerate(items)
    ]


@pytest.mark.parametrize("end", ["", "\ufeff", "u000a", "u000D"], ids=ascii)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("style", STYLES)
def test_rows_without_line_breaks_are_found(style, order, end):
    users, items = STYLES[style]
    label = _glue(_rows(users[3:5], items), order, ";", end)
    assert find_rows_within([*items, label], users, [*items, label]) == [len(items)]


@pytest.mark.parametrize("order", ["uir", "uirt"])
@pytest.mark.parametrize("delimiter", DELIMITERS, ids=ascii)
@pytest.mark.parametrize("style", ["letters", "titles", "shop", "names"])
def test_rows_of_a_user_who_is_nowhere_else_are_found(style, order, delimiter):
    users, items = STYLES[style]
    label = _glue(_rows(users[3:4], items), order, delimiter)
    others = [user for user in users if user != users[3]]
    assert find_rows_within([*items, label], others, [*items, label]) == [len(items)]


@pytest.mark.parametrize(
    "label", ["i5,11005,i1", "i5|31005|i1|4", "i5\t4.51005\ti1", "i5;1005i1;3"]
)
def test_one_row_is_enough(label):
    users, items = STYLES["letters"]
    assert find_rows_within([*items, label], users, [*items, label]) == [len(items)]


def test_likes_without_line_breaks_are_found():
    users, items = STYLES["letters"]
    label = _glue(_rows(users[3:4], items), "ui", ",")
    assert find_rows_within([label], users, [*items, label], is_unrated=True) == [0]


HONEST = [
    *("Good, the Bad and the Ugly, The", "Heat, 1995", "Heat,1995,Alien,1979", "Heat|Alien|Jaws"),
    *("Action|Comedy", "Heat|Action|Comedy", "Up, Up, 13, and Away", "10,000 BC", "12 Angry Men"),
    *("Heat|3D|Up", "Heat|2x|Up|3x", "Apollo 13,Seven,Se7en", "Heat,2nd,Up,3rd", "Heat;12.99;Up"),
]


@pytest.mark.parametrize("label", HONEST)
@pytest.mark.parametrize("users", [range(1001, 1041), range(3001, 9000), ["ann", "u12"]], ids=str)
def test_lists_of_items_and_titles_with_numbers_are_no_rows(users, label):
    assert find_rows_within([*TITLES, label], users, [*TITLES, label]) == []


def test_a_file_with_such_an_id_is_refused_with_the_line(tmp_path):
    users, items = STYLES["letters"]
    rows = _rows(users, items)
    label = _glue(rows[28:36], "uir", ",")
    lines = [f"{row['u']};{row['i']};{row['r']}" for row in rows[:27] + rows[36:]]
    text = "\n".join(["user;item;rating", *lines[:27], f"1004;{label};2", *lines[27:]])
    (tmp_path / "r.csv").write_text(text)
    with raises("id.row-within") as caught:
        read_ratings(tmp_path / "r.csv")
    assert "line 29" in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_glued_rows_of_random_tables_are_found(data):
    users, items = STYLES[data.draw(st.sampled_from(sorted(STYLES)))]
    order, delimiter = data.draw(st.sampled_from(ORDERS)), data.draw(st.sampled_from(DELIMITERS))
    draw = random.Random(data.draw(st.integers(0, 2**32)))
    rows = draw.sample(_rows(users, items), draw.randint(3, 20))
    label = _glue(rows, order, delimiter)
    assert find_rows_within([*items, label], users, [*items, label]) == [len(items)], label


def test_a_long_id_takes_no_time():
    users, items = STYLES["letters"]
    labels = [*items, "1" * 300_000, ",".join(["1" * 240] * 400), ",".join(items * 5_000)]
    search = GluedRows.among(users, labels, lambda text: False)
    began = time.process_time()
    assert [search.forms(label) for label in labels] == [[]] * len(labels)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("items", "delimiter"),
    [
        (["Secret Girl, 2003", "Golden Mountain, 1938", "Red Night, 1967", "Old Fog, 1990"], ","),
        (["Great Game|War", "Hot Heart|Drama|War", "Dark King|Comedy", "Wild Sea|War"], ";"),
    ],
)
def test_items_may_contain_delimiters_themselves(items, delimiter):
    """An attacker published titles with a year, and with genres, whose rows were glued."""
    users = ["u66", "u11", "u8", "u43", "u12"]
    glued = [
        delimiter.join((item, "4")) + user for item, user in zip(items, users[1:], strict=True)
    ]
    bundle = delimiter.join([*glued, items[0], "3"])
    assert find_rows_within(items, users, items) == []
    assert find_rows_within([*items, bundle], users, items) == [len(items)]


SIGNS = [*";|~#^/-_$ \u2192", " - ", "::", "%2C", "&#59;"]
UNKNOWN = {"1061": SIGNS, "61": SIGNS, "9F3AB1": SIGNS, "Ada Dunn": ";|~#^", "dunn.a": ";|~#^"}


@pytest.mark.parametrize("order", ["uir", "iur", "uirt", "riu", "rui"])
@pytest.mark.parametrize("form", ["{} (aka {}!)", "{}, The (1995)", "{} 6 Uhr", "BC-{}-01"])
@pytest.mark.parametrize("user", UNKNOWN)
def test_rows_of_users_of_whom_nothing_is_known_are_found_between_items(user, form, order):
    titles = [form.format(title, title) for title in TITLES[:7]]
    users = [f"person no. {n}" for n in range(20)]
    row = {"u": user, "i": titles[3], "r": "4", "t": "978300760"}
    own = {"u": users[0], "i": titles[0], "r": "3", "t": "978300761"}
    for sign in UNKNOWN[user]:
        whole = sign.join([own[each] for each in order] + [row[each] for each in order])
        items = [*titles, whole[whole.index(titles[0]) :]]
        assert find_rows_within(items, users, items) == [len(titles)], items[-1]


@pytest.mark.parametrize(
    "row",
    [
        *("{0}1061{1}4", "{0},1061,{1},\u2605\u2605", "{0},61,{1},like", "{0} 1061 {1} 4"),
        *("{0} 3 {1} user=9F3AB1 item={1} rating=4", "{0}:3, Ada Dunn:{1}:4"),
        '{0}","rating":3}},{{"user":"9F3AB1","item":"Heat","rating":4}}',
        '{0}","rating":3}},{{"user":"Ada Dunn","item":"{1}","rating":4}}',
    ],
)
def test_numbers_between_and_after_two_items_are_a_row(row):
    titles = [*(f"{title} (1995)" for title in TITLES), *TITLES]
    items = [*titles, row.format(titles[3], titles[4])]
    assert find_rows_within(items, ["person no. 1", "person no. 2"], items) == [len(titles)]


@pytest.mark.parametrize(
    "label",
    [
        *("Up (2009) / Heat (1995) [2 discs, 1080p]", "Up (2009) & Heat (1995), 2010, 3 h 40 min"),
        *("Saw (2004) 2005 Jaws (1975)", "Up (2009) 2 Heat", "Up (2009), Heat (1995), 2, 3"),
        *("Saw 3 and Saw 4", "Up (2009) 4K, Up (2009) Director's Cut", "Up 2009: 5, Heat: 4"),
    ],
)
def test_box_sets_are_no_rows_of_users_of_whom_nothing_is_known(label):
    items = ["Up (2009)", "Heat (1995)", "Saw (2004)", "Jaws (1975)", "Saw", "Heat", label]
    users = [f"person no. {n}" for n in range(20)]
    assert find_rows_within(items, users, items) == []


@pytest.mark.parametrize("users", [range(4001, 4041), range(300_000, 900_000, 9001)])
@pytest.mark.parametrize("sign", [" & ", "/", "<br>", " ", "-", "%2C"])
def test_what_looks_like_users_between_items_of_one_word_is_a_row(users, sign):
    user = "4071" if users[0] < 10_000 else "583920"
    items = [*TITLES, sign.join(["Heat", "3", user, "Fargo", "4"])]
    assert find_rows_within(items, users, items) == [len(TITLES)]


@pytest.mark.parametrize("n", [1, 2])
def test_an_item_with_a_rating_before_rows_of_numbers_is_found(n):
    items = [*map(str, range(11, 51))]
    rows = " ".join(["11", "3", "583920", "16", "4", "483920", "19", "2"][2 - n :])
    label = f"{items[0]} {rows}" if n == 1 else rows
    users = range(300_000, 900_000, 9001)
    assert find_rows_within([*items, label], users, [*items, label]) == [40]


@pytest.mark.parametrize(
    "users",
    [[f"a{n}@x.org" for n in range(40)], range(300_000, 900_000, 9001), range(4001, 4041)],
    ids=["addresses", "six digits", "four digits"],
)
@pytest.mark.parametrize(
    "bundle",
    [
        *(
            "Lost: Season 1 (4 DVD) / Lost: Season 2 (4 DVD)",
            "Phone 11 Case (2 pack) + Phone 12 Case",
        ),
        *(
            "Cola 330ml x 12 with Lemonade 330ml x 12",
            "Symphony No. 5, Op. 67; Symphony No. 6, Op. 68",
        ),
        *("KIT-0005 x2 + KIT-0006 x1", "Phone 12 Case, Phone 11 Case (6.1 inch), 3 colours"),
    ],
)
def test_bundles_with_sizes_and_volumes_are_no_rows(bundle, users):
    items = ["Lost: Season 1", "Lost: Season 2", "Phone 11 Case", "Phone 12 Case", "Cola 330ml"]
    items += ["Lemonade 330ml", "Symphony No. 5", "Symphony No. 6", "KIT-0005", "KIT-0006", bundle]
    for is_unrated in (False, True):
        assert find_rows_within(items, users, items, is_unrated=is_unrated) == []


_WORDS = ["ocean", "golden", "castle", "forest", "thunder", "velvet", "marble", "island", "copper"]
_ITEMS = {
    "slugs": [
        f"{one}-{two.lower()}-{1950 + 7 * n}"
        for n, (one, two) in enumerate(zip(_WORDS, TITLES, strict=True))
    ],
    "titles": [f"{one.title()} {two.title()}" for one, two in itertools.pairwise(_WORDS)],
    "words": _WORDS,
    "numbers": [str(10_007 + 7_919 * n) for n in range(9)],
}
_USERS = {
    "names": ([f"{one.title()} Berg" for one in NAMES], ["Tara Hahn", "Jo Smith"]),
    "one name": (NAMES, ["zoe", "maximilian"]),
    "addresses": ([f"{one}@x.org" for one in NAMES], ["zoe@y.net", "li@w.cn"]),
    "numbers": ([str(1001 + 61 * n) for n in range(18)], ["5061", "6062"]),
    "codes": ([f"user_{n}" for n in range(18)], ["user_61", "user_62"]),
}


@pytest.mark.parametrize("delimiter", [" ", "  ", ", ", " | ", *DELIMITERS])
@pytest.mark.parametrize("kind", _USERS)
@pytest.mark.parametrize("style", _ITEMS)
def test_two_users_glued_to_ratings_are_rows(style, kind, delimiter):
    items, (known, unknown) = _ITEMS[style], _USERS[kind]
    for one, other in (known[3:5], unknown):
        for ratings in ("43", ("4.5", "3.0"), ("4 978300760", "3 978386411")):
            first, second = (value.replace(" ", delimiter) for value in ratings)
            fields = [items[0], f"{first}{one}", items[4], f"{second}{other}", items[6]]
            quoted = [f'"{field}"' for field in fields]
            quoted[1::2] = [f'"{first}""{one}"', f'"{second}""{other}"']
            for label in (delimiter.join(fields), delimiter.join(quoted)):
                labels = [*items, label]
                assert find_rows_within(labels, known, labels) == [len(items)], label


@pytest.mark.parametrize("delimiter", [" ", ", ", *DELIMITERS])
@pytest.mark.parametrize("style", ["slugs", "titles", "words"])
def test_two_items_glued_to_ratings_are_rows(style, delimiter):
    items, (known, unknown) = _ITEMS[style], _USERS["names"]
    for one, other in (known[3:5], unknown):
        fields = [items[0], one, f"4{items[4]}", other, f"3{items[6]}"]
        labels = [*items, delimiter.join(fields)]
        assert find_rows_within(labels, known, labels) == [len(items)], one


def test_units_of_numbers_between_items_are_no_users():
    items = ["Heat", "Up", "Alien", "Cola", "Rice", "Heat 2nd Edition Up 3rd Edition Alien"]
    items += ["Cola 330ml Rice 2kg Up", "Heat 2pack Up 3pack Alien", "Up 3D Heat 4K Alien", "3D Up"]
    items += ["Alien 1979 Heat 1995 Up", "Heat 24 Up 13 Alien"]
    for users in (NAMES, range(1, 19), range(1001, 1019)):
        assert find_rows_within(items, users, items) == []


@pytest.mark.parametrize("text", ["1" * 100_000, "1x " * 40_000, "Up 4" + "zoe" * 40_000])
def test_long_fields_are_searched_in_proportion_to_their_length(text):
    search = GluedRows.among(NAMES, TITLES, lambda _: False)
    began = time.monotonic()
    assert not search.has_rows(f"Heat {text} Jaws")
    assert time.monotonic() - began < 2
