"""Assertions on errors."""

from contextlib import contextmanager

import pytest

from recveil.errors import RecveilError


@contextmanager
def raises(code):
    """Assert that the block raises a RecveilError with this code; yield what pytest yields."""
    with pytest.raises(RecveilError) as info:
        yield info
    assert info.value.code == code, f"{info.value.code}: {info.value}"
