"""How much memory may be taken, and how too little of it is recognized."""

import errno

import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.runtime import memory
from recveil.runtime.errors import RecveilError, is_of_machine
from recveil.runtime.memory import (
    lacks_memory,
    machine_memory,
    memory_limit,
    memory_limited,
    parse_memory,
)


@pytest.mark.parametrize("size", ["", "lots", "-4GB", "4XB", "9MB", "1e9", "nan", "10" * 20, 0])
def test_what_is_no_amount_of_memory_is_refused(size):
    with raises("option.value"):
        parse_memory(size)


def test_half_of_the_machine_unless_set_otherwise():
    assert memory_limit() == machine_memory() // 2
    with memory_limited("123MB"):
        assert memory_limit() == 123_000_000
        with memory_limited(None):
            assert memory_limit() == 123_000_000
    assert memory_limit() == machine_memory() // 2


@pytest.mark.parametrize("content", ["64000000\n", "max\n", "9223372036854771712\n"])
def test_a_container_has_what_it_may_take(tmp_path, monkeypatch, content):
    before = machine_memory()
    (tmp_path / "memory.max").write_text(content)
    monkeypatch.setattr(memory, "_OF_CONTAINER", (tmp_path / "none", tmp_path / "memory.max"))
    monkeypatch.setattr(memory, "address_space", lambda: None)
    assert machine_memory() == (64_000_000 if content.startswith("64") else before)


def test_a_limit_of_addresses_counts(monkeypatch):
    monkeypatch.setattr(memory, "address_space", lambda: 700_000_000)
    assert memory_limit() == 350_000_000


def hidden(error):
    """The error, behind another one that says nothing of it."""
    try:
        try:
            raise error
        except type(error):
            raise RecveilError("the file cannot be read") from None
    except RecveilError as found:
        return found


NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "error", [MemoryError(), pa.ArrowMemoryError("malloc of size 64"), OSError(errno.ENOMEM, "no")]
)
def test_too_little_memory_is_recognized_behind_other_words(error):
    assert lacks_memory(error)
    assert lacks_memory(hidden(error))
    assert is_of_machine(hidden(error))
    assert not lacks_memory(NO_SPACE)
    assert is_of_machine(hidden(NO_SPACE))
    assert not is_of_machine(hidden(KeyError("k")))


def test_libraries_that_cannot_be_loaded_lack_memory_only_where_it_is_limited(monkeypatch):
    failed = ImportError("libarrow.so: failed to map segment from shared object")
    monkeypatch.setattr(memory, "address_space", lambda: None)
    assert not lacks_memory(failed)
    monkeypatch.setattr(memory, "address_space", lambda: 10**9)
    assert lacks_memory(failed)


@pytest.mark.parametrize(
    "said",
    [
        "can't start new thread",
        "std::bad_alloc",
        "error return without exception set",
        "<function _find_and_load at 0x7fb1c5317ce0> returned NULL without setting an exception",
        "Unknown error: Failed to launch worker thread: Resource temporarily unavailable",
    ],
)
def test_what_libraries_say_of_too_little_memory(monkeypatch, said):
    failed = RecveilError("ratings.csv: cannot be read; check that the file is complete")
    failed.__cause__ = pa.ArrowException(said)
    monkeypatch.setattr(memory, "address_space", lambda: None)
    assert not lacks_memory(failed)
    monkeypatch.setattr(memory, "address_space", lambda: 10**9)
    assert lacks_memory(failed)
