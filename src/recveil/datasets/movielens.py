"""Download of GroupLens' public MovieLens data sets."""

import re
from pathlib import Path

from recveil.io import read
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError

_HOME = "https://files.grouplens.org/datasets/movielens/"
# The MD5 sums that GroupLens publishes with its archives. The "latest" archives change, so their
# sum is fetched with them.
_ARCHIVES = {
    "100k": ("ml-100k.zip", "u.data", "0e33842e24a9c977be4e0107933c0723"),
    "1m": ("ml-1m.zip", "ratings.dat", "c4d9eecfca2ab87c1945afe126590906"),
    "10m": ("ml-10m.zip", "ratings.dat", "ce571fd55effeba0271552578f2648bd"),
    "20m": ("ml-20m.zip", "ratings.csv", "cd245b17a1ae2cc31bb14903e1204af3"),
    "25m": ("ml-25m.zip", "ratings.csv", "6b51fb2759a8657d3bfcbfc42b592ada"),
    "latest-small": ("ml-latest-small.zip", "ratings.csv", None),
}


def fetch_movielens(name: str = "100k", *, folder: str | Path | None = None) -> Ratings:
    """Download a MovieLens data set, check it against the published MD5 sum, and read it.

    Parameters
    ----------
    name : {"100k", "1m", "10m", "20m", "25m", "latest-small"}
    folder : path, optional
        Folder of the archives; by default the user's cache folder. An existing archive is not
        downloaded again.

    Raises
    ------
    RecveilError
        For an unknown name, without network, or if the archive is not the published one.

    Notes
    -----
    The data belongs to GroupLens, University of Minnesota; its README states the terms of use.

    Examples
    --------
    >>> fetch_movielens("100m")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: MovieLens '100m': expected one of 100k, 1m, 10m, 20m, 25m,
    latest-small
    """
    if name not in _ARCHIVES:
        raise RecveilError(
            f"MovieLens {name!r}: expected one of {', '.join(_ARCHIVES)}", code="argument.value"
        )
    import pooch

    archive, member, md5 = _ARCHIVES[name]
    where = Path(folder) if folder is not None else Path(pooch.os_cache("recveil"))
    if folder is None and not where.is_absolute():
        raise RecveilError(
            f"MovieLens {name!r}: this user has no home to keep it in; name a folder, such as "
            f"folder='movielens'",
            code="option.required",
        )
    try:
        known = f"md5:{md5 or _published_sum(archive, where)}"
        files = pooch.retrieve(
            _HOME + archive, known, archive, where, processor=pooch.Unzip(), progressbar=False
        )
    except OSError as error:  # what pooch's downloader raises without a network is one, too
        raise RecveilError(
            f"MovieLens {name}: could not fetch {_HOME}{archive} ({type(error).__name__}); "
            f"check the network, or put the archive into {where} yourself",
            code="machine.network",
        ) from error
    except ValueError as error:  # pooch's word for a wrong checksum
        raise RecveilError(
            f"MovieLens {name}: {archive} is not the published archive ({known} expected); "
            f"delete it from {where} and fetch it again",
            code="input.damaged",
        ) from error
    return read(next(file for file in files if Path(file).name == member))


def _published_sum(archive: str, where: Path) -> str:
    import pooch

    page = pooch.retrieve(f"{_HOME}{archive}.md5", None, f"{archive}.md5", where)
    found = re.search(r"\b[0-9a-f]{32}\b", Path(page).read_text())
    if found is None:
        raise OSError("the published checksum holds no MD5 sum")
    return found.group()
