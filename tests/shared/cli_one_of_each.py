"""What the fast and the slow tests of `test_one_of_each.py` share."""

import re

import pytest

from recveil.cli import main

MANY = [f"u{n % 9},i{n // 9},{n % 5 + 1}" for n in range(54)]

TABLES = {
    "one rating": ["u1,i1,4"],
    "one user": [f"u1,i{n},{n % 5 + 1}" for n in range(6)],
    "one item": [f"u{n},i1,{n % 5 + 1}" for n in range(6)],
    "two users": ["u1,i1,4", "u2,i1,5"],
    "off the scale": [*MANY, "u1,i9,99"],
    "missing": [*MANY, "new,i9,"],
    "twice": [*MANY, "u0,i0,3"],
    "of one user": [*MANY, "u1,i9,9"],
}


@pytest.fixture
def said(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        with pytest.raises(SystemExit):
            main([*map(str, words)])
        result = capsys.readouterr()
        return " ".join(re.sub(r"[│┃]", ";", result.out + result.err).split())

    return run
