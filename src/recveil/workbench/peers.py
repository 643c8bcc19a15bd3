"""Peers: which user of this machine is at the other end of a connection.

Cookies do not tell ports apart. Whoever else has an account here can listen at another port, lead
the browser there, and is sent our cookie. So the cookie alone must not be enough.
"""

import os
from collections.abc import Iterable
from pathlib import Path

# The system's lists of connections; in the second stand those of programs that speak both kinds.
_LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_THIS_MACHINE = ("0100007F", "0000000000000000FFFF00000100007F")
_OPEN = "01"
_ADMINISTRATOR = 0


def is_of_somebody_else(port: int, to_port: int) -> bool:
    """Say whether a connection of this machine to itself is another user's.

    Parameters
    ----------
    port, to_port : int
        Of the end that asks, and of ours.

    Returns
    -------
    bool
        False where the system does not tell, as everywhere but on Linux; and for the
        administrator, who can read everything anyway.

    Examples
    --------
    >>> is_of_somebody_else(1, 2) in (True, False)
    True
    """
    lines: list[str] = []
    for file in _LISTS:
        try:
            lines += file.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, ValueError):  # there may be no second kind
            continue
    return bool(lines) and not may_ask(lines, port, to_port, os.geteuid())


def may_ask(lines: Iterable[str], port: int, to_port: int, user: int) -> bool:
    """Say whether a list of connections holds one that is a user's, or the administrator's.

    Parameters
    ----------
    lines : iterable of str
        As in /proc/net/tcp, without the header.
    port, to_port : int
        Of the end that asks, and of ours.
    user : int
        The number of the user who may.

    Examples
    --------
    >>> line = "3: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 1000"
    >>> may_ask([line], 50_000, 8_080, 1_000), may_ask([line], 50_000, 8_080, 1_001)
    (True, False)
    """
    for line in lines:
        _, here, there, state, *_, owner = line.split()[:8]
        if not (_is_at(here, port) and _is_at(there, to_port)):
            continue
        # Of a connection that was closed at the other end, the system has forgotten whose it was.
        if int(owner) == user or (int(owner) == _ADMINISTRATOR and state == _OPEN):
            return True
    return False


def _is_at(place: str, port: int) -> bool:
    address, _, number = place.partition(":")
    return address in _THIS_MACHINE and int(number, 16) == port
