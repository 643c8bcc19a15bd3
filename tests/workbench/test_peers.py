"""Whose connection it is."""

import os

import pytest

from recveil.workbench import guard
from recveil.workbench.guard import has_connection, is_of_another_user

HERE, MAPPED = "0100007F", "0000000000000000FFFF00000100007F"
ASKS = ("127.0.0.1", 50_000)


def line(*, address=HERE, state="01", owner=1_000, port=50_000, to_port=8_080):
    ends = f"{address}:{port:04X} {address}:{to_port:04X}"
    return f"   7: {ends} {state} 00000000:00000000 00:00000000 00000000 {owner:5} 0 123 1"


@pytest.mark.parametrize("address", [HERE, MAPPED])
def test_the_owner_may(address):
    assert has_connection([line(address=address)], ASKS, 8_080, 1_000)


@pytest.mark.parametrize(
    "other",
    [
        line(owner=1_001),
        line(owner=1_001, address=MAPPED),
        line(port=50_001),
        line(to_port=8_081),
        line(address="0200007F"),
        line(owner=0, state="06"),  # closed: of no process
        line(port=8_080, to_port=50_000),  # our own end
    ],
)
def test_no_other_account_may(other):
    assert not has_connection([other], ASKS, 8_080, 1_000)


def test_the_administrator_may():
    assert has_connection([line(owner=0)], ASKS, 8_080, 1_000)


@pytest.mark.parametrize("state", ["04", "05", "06", "08"])
def test_what_was_closed_is_nobodys_where_the_administrator_asks_too(state):
    """The system says 0 of it, whosever it was."""
    assert has_connection([line(owner=0)], ASKS, 8_080, 0)
    assert not has_connection([line(owner=0, state=state)], ASKS, 8_080, 0)


@pytest.mark.parametrize("address", ["0200007F", "0501A8C0"])
def test_another_address_of_this_machine_is_asked_for_as_well(address):
    ours = f"7: {address}:C350 {HERE}:1F90 01 0:0 0:0 0 1000 0 123 1"
    host = {"0200007F": "127.0.0.2", "0501A8C0": "192.168.1.5"}[address]
    assert has_connection([ours], (host, 50_000), 8_080, 1_000)
    assert not has_connection([ours], (host, 50_000), 8_080, 1_001)
    assert not has_connection([ours], ASKS, 8_080, 1_000)


@pytest.fixture
def list_of(monkeypatch, tmp_path):
    """The system's list of connections."""
    monkeypatch.setattr(guard, "_CONNECTION_LISTS", (tmp_path / "list",))
    return tmp_path / "list"


def test_where_the_system_does_not_report_peers_the_token_decides(list_of):
    assert not is_of_another_user(ASKS, 8_080)
    list_of.write_text("header\n" + line(owner=12_345_678) + "\n")
    assert is_of_another_user(ASKS, 8_080)


@pytest.mark.parametrize("asks", [None, ("", 0), ("testclient", 50_000), ("127.0.0.2", 50_000)])
def test_a_peer_that_is_not_found_is_another_account(list_of, asks):
    list_of.write_text("header\n" + line(owner=os.geteuid()) + "\n")
    assert not is_of_another_user(ASKS, 8_080)
    assert is_of_another_user(asks, 8_080)


def test_a_list_that_cannot_be_read_for_now_lets_no_peer_in(list_of):
    """A client that holds many connections open uses up the files that we may open."""
    list_of.mkdir()  # a folder cannot be read, and is there
    assert is_of_another_user(ASKS, 8_080)
