"""Opening: a release folder that is to be attacked, read before the work that takes long.

Whatever is refused of it is refused here: nobody shall wait for minutes to hear it.
"""

from os import PathLike
from pathlib import Path
from typing import NamedTuple

from recveil.attack import ReleasedTable
from recveil.audit.against import OtherRelease, read_other
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import Ratings
from recveil.ratings.feedback import option_of
from recveil.release.form import known_manifest
from recveil.release.made_of import is_made_of
from recveil.release.manifest import Manifest
from recveil.release.pseudonyms import hides_items
from recveil.release.reader import read_model, read_twin


@brief
class BehindPairs(NamedTuple):
    """Words without an order, and a release of them, where pairs of item and word are attacked.

    Attributes
    ----------
    ratings : Ratings
    table : ReleasedTable
    """

    ratings: Ratings
    table: ReleasedTable


@brief
class OpenedRelease(NamedTuple):
    """A release that was read from its folder.

    Attributes
    ----------
    name : str
    manifest : Manifest
        What it says of itself.
    table : ReleasedTable or None
        None for a model, from which people are still to be drawn.
    lone_share : float or None
        As in `recveil.release.reader.Twin`.
    other : OtherRelease or None
        Another release of the same people, to be held against it.
    words : BehindPairs or None
        Where `table` is of pairs of items and words: the words themselves.
    same_ratings : bool or None
        Whether it was made from these ratings; None if nobody can tell.
    """

    name: str
    manifest: Manifest
    table: ReleasedTable | None
    lone_share: float | None = None
    other: OtherRelease | None = None
    words: BehindPairs | None = None
    same_ratings: bool | None = None


def open_release(
    ratings: Ratings,
    folder: str | PathLike[str],
    *,
    against: str | PathLike[str] | None = None,
    has_catalogue: bool = False,
) -> OpenedRelease:
    """Read a release, its private twin where one is needed, and another one beside it.

    Parameters
    ----------
    ratings : Ratings
        The private ratings that were released.
    folder : path
        The published folder.
    against : path, optional
        Another release of the same people.
    has_catalogue : bool
        Whether there is a public table that may name hidden items.

    Raises
    ------
    RecveilError
        If a catalogue is given and the items are not hidden, nobody can be found in both, or a
        release or its twin cannot be read, or is not one of these ratings.
    """
    folder = Path(folder).resolve()  # its name is needed, and . has none
    manifest = known_manifest(folder)
    if has_catalogue and not hides_items(manifest.settings):
        raise RecveilError(
            f"catalogue: {folder.name} does not hide its items, so that there is nothing to match; "
            f"leave the catalogue out (--catalogue)",
            code="option.unsupported",
        )
    refuse_other_feedback(ratings, manifest, folder.name)
    if not manifest.holds_people:
        return _of_nobody(ratings, folder, manifest, against)
    table = ReleasedTable.from_folder(folder, ratings)
    other = None if against is None else read_other(ratings, table, against)
    if other is not None:
        refuse_other_feedback(ratings, other.manifest, other.name)
    return OpenedRelease(
        *(folder.name, manifest, table, read_twin(folder).lone_share, other),
        same_ratings=is_made_of(folder, ratings),
    )


def refuse_other_feedback(ratings: Ratings, manifest: Manifest, name: str) -> None:
    """Refuse likes as the truth behind a release with ratings, other words, and the reverse.

    Whoever knows ratings finds more by them: rates of likes would reassure for nothing.

    Parameters
    ----------
    ratings : Ratings
        What was read.
    manifest : Manifest
    name : str
        What the release is called.
    """
    if manifest.scale.unary and not ratings.is_unary:
        raise RecveilError(
            f"{name} is of likes, but these are ratings; read them as likes, as it did (--likes)",
            code="release.mismatch",
        )
    if ratings.is_unary and manifest.scale.range:  # older releases of likes called them ratings
        raise RecveilError(
            f"{name} holds ratings on the scale {manifest.scale}, but these are likes, and whoever "
            f"knows ratings finds more; give the ratings, with their scale (--scale)",
            code="release.mismatch",
        )
    own, told = ratings.scale, manifest.scale
    if (own.words or told.words) and own != told:
        raise RecveilError(
            f"{name} holds ratings on the scale {told}, but these were read on {own}, so that none "
            f"would be told from another as it is; name the same words in the same order "
            f"({option_of(told)})",
            code="release.mismatch",
        )


def _of_nobody(
    ratings: Ratings, folder: Path, manifest: Manifest, against: str | PathLike[str] | None
) -> OpenedRelease:
    """Read drawn people, or see to it that the model is the one that was written."""
    if against is not None:
        raise RecveilError(
            f"against (--against): no record of {folder.name} is anybody's, so that there is "
            f"nobody to be found in both; what the two tell adds up. Leave it out",
            code="option.unsupported",
        )
    if manifest.layout == "model":
        read_model(folder, manifest)
        table = None
    else:
        table = ReleasedTable.from_published(folder, ratings)
    same = is_made_of(folder, ratings)
    return OpenedRelease(folder.name, manifest, table, same_ratings=same)
