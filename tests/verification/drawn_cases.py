"""What both checkers refuse of releases of drawn users, whatever these were drawn from."""

from collections.abc import Iterable, Mapping
from typing import Any

import forging
import independent
import pytest

from recveil.runtime.errors import RecveilError
from recveil.verification import verify


def refused(folder):
    try:
        return not verify(folder).holds
    except RecveilError:
        return True


def check_forged(folder):
    assert refused(folder)
    assert list(independent.problems(folder)), "the second checker holds it"


def refused_by_both(
    noisy: Iterable[str],
    exact: str,
    of_rows: Iterable[str],
    promises: Mapping[str, Any] = forging.OF_A_PROMISE,
    rows: Mapping[str, Any] = forging.OF_DRAWN_ROWS,
) -> type:
    """Return a class of tests; its module has a fixture `copy_of`, which takes a release's name.

    Parameters
    ----------
    noisy, exact, of_rows
        Names of releases: with noise, without, and with users in a file of text.
    promises, rows
        What is forged of a promise, and of users.
    """
    noisy = list(noisy)

    class RefusedByBoth:
        @pytest.mark.parametrize("name", [*noisy, exact])
        def test_what_was_not_changed_holds(self, copy_of, name):
            folder = copy_of(name)
            assert (refused(folder), list(independent.problems(folder))) == (False, [])
            forging.forge(folder, lambda result: None)
            assert (refused(folder), list(independent.problems(folder))) == (False, [])

        @pytest.mark.parametrize("name", noisy)
        @pytest.mark.parametrize("change", promises)
        def test_a_false_promise(self, copy_of, name, change):
            folder = copy_of(name)
            forging.forge(folder, promises[change])
            check_forged(folder)

        @pytest.mark.parametrize("name", [*noisy, exact])
        @pytest.mark.parametrize("change", forging.OF_DRAWN)
        def test_what_is_no_part_of_drawn_users(self, copy_of, name, change):
            folder = copy_of(name)
            forging.forge(folder, forging.OF_DRAWN[change])
            check_forged(folder)

        @pytest.mark.parametrize("change", forging.OF_EXACT)
        def test_false_sums(self, copy_of, change):
            folder = copy_of(exact)
            forging.forge(folder, forging.OF_EXACT[change])
            check_forged(folder)

        @pytest.mark.parametrize("name", of_rows)
        @pytest.mark.parametrize("change", rows)
        def test_changed_users(self, copy_of, name, change):
            folder = copy_of(name)
            forging.forge_rows(folder, rows[change])
            check_forged(folder)

    return RefusedByBoth
