"""Addresses lead to databases, and show nothing that is secret."""

from pathlib import Path

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.io import understand
from recveil.io.databases import address_of, is_given_as_path, scheme_of

SECRET = "postgresql://ann:geheim@db.example.org:5433/shop"


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("sqlite:///shop.db", "sqlite", "shop.db"),
        ("sqlite:////data/shop.db", "sqlite", "/data/shop.db"),
        ("SQLite:///my%20shop.db", "sqlite", "my shop.db"),
        ("duckdb:///../shop.duckdb", "duckdb", "../shop.duckdb"),
        ("postgresql://ann@host/shop", "postgresql", "postgresql://ann@host/shop"),
        ("Postgres:///shop", "postgresql", "postgresql:///shop"),
    ],
)
def test_where_it_leads(text, kind, place):
    assert address_of(text)[:2] == (kind, place)


@pytest.mark.parametrize("path", ["shop.db", "a:b/c.csv", "C:/shop.db", "-", Path("x.db"), 7])
def test_paths_are_no_addresses(path):
    assert scheme_of(path) is None
    assert address_of(path) is None


@pytest.mark.parametrize(
    "text", ["sqlite://shop.db", "sqlite:///", "duckdb://host/shop.db", "sqlite:///a.db?mode=rw"]
)
def test_what_names_no_file_is_refused(text):
    with raises("input.address") as error:
        address_of(text)
    assert "///" in str(error.value)


def test_nothing_of_it_is_shown():
    address = address_of(SECRET)
    for shown in (repr(address), str(address), address.name, address._repr_html_()):
        assert not any(word in shown for word in ("ann", "geheim", "example", "5433", "//"))


def test_a_path_loses_a_slash_and_is_refused_without_the_password():
    assert is_given_as_path(Path(SECRET))
    with raises("input.address") as refused:
        understand(Path(SECRET))
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        "verify {}",
        "audit shop.csv --release {}",
        "audit shop.csv --auxiliary {}",
        "anonymize shop.csv -o {} --k 2",
        "anonymize shop.csv -o out --k 2 --method predictive --privacy-levels {}",
        "convert shop.csv {}",
        "convert shop.csv {} --target-format csv",
        "audit shop.csv --json {}",
        "audit {} --table x --html {}",
        "sample {} -o out --n-users 7",
        "convert {} out.csv --table x --user geheim-not",
    ],
)
def test_no_verb_says_the_password_wherever_it_is_typed(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text("user,item,rating\n1,2,3\n2,2,4\n3,1,5\n4,1,1\n")
    address = SECRET.replace("db.example.org:5433", "127.0.0.1:1")
    with pytest.raises(SystemExit) as ended:
        main(words.replace("{}", address).split())
    assert ended.value.code
    result = "".join(capsys.readouterr())
    assert "geheim" not in result.replace("geheim-not", "")
    assert "ann" not in result.split()


def test_other_addresses_are_refused_by_their_scheme_alone():
    with raises("input.address") as refused:
        understand("mysql://ann:geheim@host/shop")
    assert "geheim" not in str(refused.value)
