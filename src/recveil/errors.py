"""The one error that recveil raises on purpose: bad input or impossible settings."""


class RecveilError(ValueError):
    """Bad input or settings, in words that its reader can act on.

    The message names the thing, what was expected, what came, and what to do. The command line
    prints it without a traceback and exits with code 2.

    Examples
    --------
    >>> raise RecveilError("k is 0, but a group needs at least one person; give --k 2 or more")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: k is 0, but a group needs at least one person; give --k 2 or more
    """
