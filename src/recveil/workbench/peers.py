"""Peers: which user of this machine is at the other end of a connection.

Cookies do not tell ports apart. Whoever else has an account here can listen at another port, lead
the browser there, and is sent our cookie. So the cookie alone must not be enough.
"""

import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

# The system's lists of connections; in the second stand those of programs that speak both kinds.
_LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_OURS = "127.0.0.1"
_OPEN = "01"
_ADMINISTRATOR = 0


def is_of_somebody_else(asks: tuple[str, int] | None, to_port: int) -> bool:
    """Say whether a connection to us is another user's, or may be: whoever is not found is not us.

    Parameters
    ----------
    asks : (str, int) or None
        Address and port of the end that asks; None if that is not known, as where it has closed
        already.
    to_port : int
        Of our end.

    Returns
    -------
    bool
        False where the system does not tell, as everywhere but on Linux; and for the
        administrator, who can read everything anyway.

    Examples
    --------
    >>> is_of_somebody_else(("127.0.0.1", 1), 2) in (True, False)
    True
    """
    lines: list[str] = []
    for file in _LISTS:
        try:
            lines += file.read_text(encoding="ascii").splitlines()[1:]
        except (FileNotFoundError, PermissionError):  # there may be no second kind
            continue
        except OSError:  # as where somebody has used all files up that we may open
            return True
    return bool(lines) and not (asks and may_ask(lines, asks, to_port, os.geteuid()))


def may_ask(lines: Iterable[str], asks: tuple[str, int], to_port: int, user: int) -> bool:
    """Say whether a list of connections holds one that is a user's, or the administrator's.

    Parameters
    ----------
    lines : iterable of str
        As in /proc/net/tcp, without the header.
    asks : (str, int)
        Address and port of the end that asks.
    to_port : int
        Of our end.
    user : int
        The number of the user who may.

    Examples
    --------
    >>> line = "3: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 1000"
    >>> asks = ("127.0.0.1", 50_000)
    >>> may_ask([line], asks, 8_080, 1_000), may_ask([line], asks, 8_080, 1_001)
    (True, False)
    """
    here, there = _places(*asks), _places(_OURS, to_port)
    for line in lines:
        _, this, other, state, *_, owner = line.split()[:8]
        if this not in here or other not in there:
            continue
        # Of a connection that was closed at its own end, the system has forgotten whose it was,
        # and says the administrator's.
        if int(owner) in (user, _ADMINISTRATOR) and (int(owner) or state == _OPEN):
            return True
    return False


def _places(address: str, port: int) -> tuple[str, ...]:
    """Return how the system's lists write an address and a port; nothing for what is no address."""
    try:
        raw = socket.inet_pton(socket.AF_INET, address)
    except OSError:
        return ()
    # Words of 32 bits, each in the order of the machine.
    short, mark = (f"{int.from_bytes(word, sys.byteorder):08X}" for word in (raw, b"\0\0\xff\xff"))
    return f"{short}:{port:04X}", f"{'0' * 16}{mark}{short}:{port:04X}"
