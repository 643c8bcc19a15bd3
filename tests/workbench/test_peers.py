"""Whose connection it is."""

import pytest

from recveil.workbench import peers
from recveil.workbench.peers import is_of_somebody_else, may_ask

HERE, MAPPED = "0100007F", "0000000000000000FFFF00000100007F"


def line(*, address=HERE, state="01", owner=1_000, port=50_000, to_port=8_080):
    ends = f"{address}:{port:04X} {address}:{to_port:04X}"
    return f"   7: {ends} {state} 00000000:00000000 00:00000000 00000000 {owner:5} 0 123 1"


@pytest.mark.parametrize("address", [HERE, MAPPED])
def test_the_owner_may(address):
    assert may_ask([line(address=address)], 50_000, 8_080, 1_000)


@pytest.mark.parametrize(
    "other",
    [
        line(owner=1_001),
        line(owner=1_001, address=MAPPED),
        line(port=50_001),
        line(to_port=8_081),
        line(address="0200007F"),
        line(owner=0, state="06"),  # closed: nobody's any more
        line(port=8_080, to_port=50_000),  # our own end
    ],
)
def test_nobody_else_may(other):
    assert not may_ask([other], 50_000, 8_080, 1_000)


def test_the_administrator_may():
    assert may_ask([line(owner=0)], 50_000, 8_080, 1_000)


def test_where_the_system_does_not_tell_the_token_decides(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "_LISTS", (tmp_path / "none",))
    assert not is_of_somebody_else(50_000, 8_080)
    (tmp_path / "none").write_text("header\n" + line(owner=12_345_678) + "\n")
    assert is_of_somebody_else(50_000, 8_080)
