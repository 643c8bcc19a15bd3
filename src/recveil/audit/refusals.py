"""Refusals: what an audit refuses before its work, of what was given beside the table."""

from os import PathLike
from pathlib import Path

from recveil.attack.likelihood_ratio import check_shadows
from recveil.errors import RecveilError
from recveil.io.pipes import refuse_no_path


def refuse_releases(
    release: str | PathLike[str] | None, against: str | PathLike[str] | None
) -> None:
    """Refuse another release without one, or beside itself.

    Examples
    --------
    >>> refuse_releases("out", None)
    """
    if release is not None:
        refuse_no_path("a release folder", release=release)
    if against is None:
        return
    refuse_no_path("a release folder", against=against)
    if release is None:
        raise RecveilError(
            f"against (--against) is {against}, but there is no release to hold against it; name "
            f"one (--release)"
        )
    if Path(release).resolve() == Path(against).resolve():
        raise RecveilError(
            f"against (--against) is the release {release} itself; name another one of the same "
            f"people"
        )


def refuse_shadows(shadows: int | None, release: str | PathLike[str] | None) -> None:
    """Refuse shadow releases of none, and too few of them.

    Examples
    --------
    >>> refuse_shadows(None, None)
    """
    if shadows is None:
        return
    check_shadows(shadows)
    if release is None:
        raise RecveilError(
            f"shadows (--shadows) is {shadows}, but there is no release whose like could be made; "
            f"name one (--release)"
        )
