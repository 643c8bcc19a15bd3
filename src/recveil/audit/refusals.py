"""Refusals: what an audit refuses before its work, of what was given beside the table."""

from os import PathLike
from pathlib import Path
from typing import Any

from recveil.attack.likelihood_ratio import check_shadows
from recveil.errors import RecveilError
from recveil.io.pipes import refuse_no_path
from recveil.ratings.frame import is_frame


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
            f"one (--release)",
            code="option.required",
        )
    if Path(release).resolve() == Path(against).resolve():
        raise RecveilError(
            f"against (--against) is the release {release} itself; name another one of the same "
            f"people",
            code="option.conflict",
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
            f"name one (--release)",
            code="option.required",
        )


def refuse_catalogue(catalogue: Any, release: Any) -> None:
    """Refuse a public table that is no file, or without a release whose items it could name.

    Examples
    --------
    >>> refuse_catalogue(None, "out")
    """
    if catalogue is None:
        return
    if not is_frame(catalogue):
        refuse_no_path("a public table of ratings", catalogue=catalogue)
    if release is None:
        raise RecveilError(
            "catalogue: given without a release, whose hidden items it could name; give the "
            "release, too (--release), or leave it out",
            code="option.required",
        )
