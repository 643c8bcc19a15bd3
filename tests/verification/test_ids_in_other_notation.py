"""User ids within item ids that have other punctuation, and items that only look like it."""

import random
import uuid

import pytest

from recveil.verification.ids_in_items import ids_in_items
from recveil.verification.ids_in_other_notation import find_in_other_notation

DRAW = random.Random(4)
UUIDS = [str(uuid.UUID(int=DRAW.getrandbits(128), version=4)) for _ in range(12)]
PHONES = [f"+49 170 55512{n:02}" for n in range(12)]
SPREAD = [str(DRAW.randrange(10**11, 10**12)) for _ in range(12)]
COUNTED = [str(49_170_555_120_000 + n) for n in range(12)]
ADDRESSES = [f"ann.b{n}@example.org" for n in range(12)]
TOKENS = [f"a{n:x}B3-7dQ9-x2Y8k-5wZ1" for n in range(3, 15)]


def compact(user):
    return user.replace("-", "").replace(" ", "").replace("+", "")


@pytest.mark.parametrize(
    ("users", "written"),
    [
        (UUIDS, compact),
        (UUIDS, lambda user: compact(user).upper()),
        ([compact(user) for user in UUIDS], lambda user: str(uuid.UUID(user))),
        (UUIDS, lambda user: compact(user).translate({48 + n: 0xFF10 + n for n in range(10)})),
        (PHONES, compact),
        (PHONES, lambda user: user.replace(" ", "-").replace("+", "(00) ")),
        (SPREAD, lambda user: f"{user[:4]}-{user[4:]}"),
        (ADDRESSES, lambda user: user.replace("@", " (at) ").replace(".org", " [dot] org")),
        (ADDRESSES, lambda user: user.replace("@", "(at)")),
        (TOKENS, compact),
    ],
)
def test_one_user_in_other_notation_is_found(users, written):
    items = [*(f"item {n}" for n in range(40)), f"i1;{written(users[3])};i2;5"]
    assert find_in_other_notation(users, items) == {users[3]}
    assert ids_in_items(users, items).problem
    assert not ids_in_items(users, items[:-1]).problem


def test_counted_numbers_are_ids_where_each_is_in_several_items():
    keys = [f"{user[:4]}-{user[4:]}/i{n}" for user in COUNTED for n in range(2)]
    assert find_in_other_notation(COUNTED, keys) == {*COUNTED}
    assert not find_in_other_notation(COUNTED, keys[::2])


TITLES = [
    *("Apollo 13", "2 Fast 2 Furious", "Spider-Man 2 (2004)", "13 Going on 30", "Airport 1975"),
    *("4 Months, 3 Weeks and 2 Days", "Elton John Live at Wembley", "20,000 Days on Earth"),
]
NUMBERS = range(10_000_000_001, 10_000_000_300)


@pytest.mark.parametrize(
    ("users", "items"),
    [
        (range(1001, 1500), [f"{10 + n // 100}-{n % 100:02}" for n in range(500)]),
        (range(10_000_001, 10_000_300), [f"1000-{n:04}" for n in range(300)]),
        (NUMBERS, [f"1000-{n:07}" for n in range(100)]),
        ([f"A{n}" for n in NUMBERS], [f"A-{n}" for n in NUMBERS]),
        ([f"2019{n // 28 + 1:02}{n % 28 + 1:02}1530" for n in range(336)], ["2019-01-02 15:30"]),
        (["".join(filter(str.isalnum, title.lower())) for title in TITLES], TITLES),
        (["john@live.at"], TITLES),
        ([f"{DRAW.getrandbits(32):08x}" for _ in range(500)], [f"{n:04x}-beef" for n in range(99)]),
    ],
    ids=["short", "eight", "eleven", "letter", "dates", "titles", "address", "hexadecimal"],
)  # fmt: skip
def test_no_title_or_catalogue_is_an_id_of_a_user(users, items):
    assert not find_in_other_notation(users, items)
