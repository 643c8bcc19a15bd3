"""Assertions on errors."""

from contextlib import contextmanager

import pytest

from recveil.runtime.errors import RecveilError


@contextmanager
def raises(code, *names):
    """Assert that the block raises a RecveilError with this code; yield what pytest yields.

    Its message must name each of `names`: a file, an id, an option or a number, and no wording.
    """
    with pytest.raises(RecveilError) as info:
        yield info
    assert info.value.code == code, f"{info.value.code}: {info.value}"
    assert [name for name in names if str(name) not in str(info.value)] == [], str(info.value)
