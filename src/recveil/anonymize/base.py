"""Base: what all anonymizers share."""

from recveil.errors import RecveilError


def check_seed(seed: int | None) -> None:
    """Raise a RecveilError unless the seed is a whole number of at least 0, or not given."""
    if seed is not None and not (isinstance(seed, int) and seed >= 0):
        raise RecveilError(f"seed is {seed!r}; expected a whole number of at least 0")
