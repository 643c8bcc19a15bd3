"""Private values: whether something of a release's private side stands in the published one."""

import getpass
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recveil.brief import brief
from recveil.decoding import decoding
from recveil.errors import describe_count
from recveil.release.data_card import data_cards
from recveil.release.form import read_manifest
from recveil.release.manifest import CARD, CLASSES, MANIFEST, Manifest
from recveil.release.pseudonyms import PREFIX
from recveil.release.settings import foreign_names
from recveil.verify.ids_in_items import IdsInItems, ids_in_items
from recveil.verify.order_told import FALSE_ALARMS, FEWEST, order_told, order_within, ranks_of
from recveil.verify.private_side import PrivateSide
from recveil.verify.telling_text import SHORTEST, found_as_words, found_within, telling
from recveil.verify.verification import Violation

_CLASS_LINE = re.compile(rb"[0-9a-f]{32},\d+\n|\"?digest\"?,\"?people\"?\n")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b")
_DIGITS = re.compile(r"\d[\d,_]*")
# Shorter seeds are numbers that stand anywhere.
_LONG_SEED = 9
_SHORTEST_NAME = 3
# The root and the first folder are everybody's.
_ROOTS = 2
_LARGEST_FILE = 1 << 26


@brief
class PublishedNames(NamedTuple):
    """What a checker has read of the published ratings.

    Attributes
    ----------
    user_ids : list of str
        Of the records, in published order; empty if no record is anybody's.
    shared : list of bytes
        For each record, what is equal for those that share it.
    items : list of str or int
        The ids of the items.
    """

    user_ids: list[str]
    shared: list[bytes]
    items: list[Any]

    def _facts(self) -> dict[str, object]:
        return {"records": len(self.user_ids), "items": len(self.items)}


def private_values(
    folder: Path, names: PublishedNames, side: PrivateSide
) -> tuple[list[Violation], list[str]]:
    """Look for values of the private side in a release.

    Ids of people, and of hidden items, as whole values and within other text; the order of records
    and pseudonyms; the seed; this machine's name, its user's name and the paths that lead here; and
    times of day. No value is repeated in what is returned.

    Parameters
    ----------
    folder : Path
        The published folder.
    names : PublishedNames
    side : PrivateSide

    Returns
    -------
    found : list of Violation
    untold : list of str
        What the scan cannot tell, in sentences.
    """
    violations, in_items = found_values(folder, names, side)
    return violations, not_looked_for(len(side.users), in_items)


def found_values(
    folder: Path, names: PublishedNames, side: PrivateSide
) -> tuple[list[Violation], IdsInItems]:
    """Look for them, and return what ids of items hold of people's, too; see `private_values`."""
    manifest, problems = read_manifest(folder / MANIFEST)
    kind = {"can_hide": manifest.holds_people, "is_unrated": manifest.scale.unary}
    in_items = ids_in_items(side.users, names.items, **kind)
    found = [
        *_among_ids(names, side),
        *([("item_id", in_items.problem)] if in_items.problem else []),
        *_in_free_text(folder, manifest, problems, names, side),
        *_seed(folder, side),
        *_in_order(manifest, names, side),
    ]
    return [Violation(where, None, None, problem) for where, problem in found], in_items


def not_looked_for(n_people: int, in_items: IdsInItems) -> list[str]:
    """Say what the scan cannot tell, and of how many ids.

    Parameters
    ----------
    n_people : int
    in_items : IdsInItems
        What the ids of items hold of theirs.

    Examples
    --------
    >>> not_looked_for(2, ids_in_items(["ann", "ben"], ["Annie Hall", "Ben-Hur"]))[1]
    'Of 2 user ids, 2 are short, words or numbers, and may occur in the ids of items by \
chance: 1 does, whole or as words. If that is no chance, hide the items or give them other ids.'
    """
    told, n_met = [_NOT_LOOKED_FOR, *_OF_ORDER_AND_PLACE], in_items.n_met
    if in_items.n_untold:
        met = f"{n_met:,} {'does' if n_met == 1 else 'do'}, whole or as words. If that is no chance"
        told.insert(
            1,
            f"Of {describe_count(n_people, 'user id')}, {in_items.n_untold:,} are short, words or "
            f"numbers, and may occur in the ids of items by chance: "
            f"{f'{met}, hide the items or give them other ids.' if n_met else 'none does.'}",
        )
    return told


_NOT_LOOKED_FOR = (
    f"The private values that were looked for: ids of fewer than {SHORTEST} characters, numbers of "
    f"few digits, and words cannot be told from ratings, counts and titles, and were looked for "
    f"among pseudonyms, in free text, and as words of the ids of items, where many of them are "
    f"named; values that were coded anew were not found, nor was what labels tell of people."
)
_OF_ORDER_AND_PLACE = (
    f"The order of records was compared with that of the ids, in two ways that take one random "
    f"order in {round(1 / FALSE_ALARMS):,} for a leak; for fewer than {FEWEST} records nothing can "
    f"be told, and orders by anything else were not looked for.",
    "Names and paths are those of this machine and its user, and not of another one on which the "
    "release may have been made.",
)

_Found = Iterator[tuple[str, str]]


def _among_ids(names: PublishedNames, side: PrivateSide) -> _Found:
    """Look for original ids in the stand of pseudonyms."""
    for what, column, private, published in (
        ("a person", "user_id", side.users, names.user_ids),
        ("an item", "item_id", side.items, names.items if side.items else ()),
    ):
        both = set(map(str, private)).intersection(map(str, published))
        if both:
            yield column, f"the original id of {what} stands here {_times(both)}"


def _in_free_text(
    folder: Path,
    manifest: Manifest,
    problems: Sequence[str],
    names: PublishedNames,
    side: PrivateSide,
) -> _Found:
    """Look for people, places and times wherever somebody could write what they like."""
    machine = _of_this_machine(folder)
    for where, text in _free_texts(folder, manifest, problems, names):
        if not text:
            continue
        people = [*side.users, *side.items]
        found = found_as_words(people, text) | found_within(telling(people, len(text)), text)
        if found:
            yield where, f"a private id stands here {_times(found)}"
        for what, values in machine.items():
            if found_as_words(values, text):
                yield where, f"{what} stands here"
        if _TIME.search(text):
            yield where, "a time of day stands here"


def _free_texts(
    folder: Path, manifest: Manifest, problems: Sequence[str], names: PublishedNames
) -> _Found:
    """Yield all text that does not follow from what is published elsewhere, and where it stands.

    The card follows from release.json, and the list of classes from the ratings. In a release.json
    that is as recveil writes it, names of somebody's own classes are the only free words.
    """
    # A word of ratings that looks like an address or a long number may be somebody's id.
    free = " ".join(
        [name for _, name in foreign_names(manifest.settings)] + telling(manifest.scale.words, 1)
    )
    yield MANIFEST, _text(folder / MANIFEST) if problems else free
    ratings_name = manifest.ratings_file or ""
    cards = [] if problems else data_cards(manifest, ratings_name)
    told = set(_text(folder / CARD).splitlines())
    yield CARD, "\n".join(told.difference(line for card in cards for line in card.splitlines()))
    yield CLASSES, _CLASS_LINE.sub(b"", _bytes(folder / CLASSES)).decode(errors="replace")
    own = {MANIFEST, CARD, CLASSES, *manifest.ratings_files}
    for file in sorted(folder.iterdir()):
        if file.name not in own:
            yield "another file, or its name", f"{file.name}\n{_text(file)}"
    odd = (user_id for user_id in names.user_ids if not _is_pseudonym(user_id))
    yield "user_id", "\n".join(odd)
    for name in manifest.ratings_files:
        own_columns = [] if manifest.layout == "model" else manifest.columns.names
        yield name, _beside_values(folder / name, own_columns)


def _beside_values(file: Path, own_columns: Sequence[str]) -> str:
    """Return what more columns are called, and the metadata of a Parquet file."""
    try:
        if file.suffix == ".csv":
            with file.open("rb") as stream:
                columns = stream.readline(_LARGEST_FILE).decode(errors="replace").split(",")
            return " ".join({name.strip('"\r\n') for name in columns}.difference(own_columns))
        with decoding(file) as found:
            more = set(found.schema.names).difference(own_columns)
            pairs = (part for pair in found.metadata.items() for part in pair)
            return "\n".join([*(more if own_columns else ()), *pairs])
    except (pa.ArrowException, OSError, EOFError):
        return ""


def _seed(folder: Path, side: PrivateSide) -> _Found:
    if side.seed is None or len(str(side.seed)) < _LONG_SEED:
        return
    for name in (MANIFEST, CARD):
        numbers = {re.sub("[,_]", "", digits) for digits in _DIGITS.findall(_text(folder / name))}
        if str(side.seed) in numbers:
            yield name, "the seed stands here, from which all that was drawn follows"


def _in_order(manifest: Manifest, names: PublishedNames, side: PrivateSide) -> _Found:
    """Compare the order of records with that of people's ids, and pseudonyms' with items' ids."""
    place_of = {user_id: place for place, user_id in enumerate(names.user_ids)}
    places = np.array([place_of.get(record or "", -1) for record in side.records], dtype=np.int64)
    ranks = ranks_of(side.users)[places >= 0]
    places = places[places >= 0]
    if names.shared and places.size:
        # People who share a record may be alike, and so may be their ids: groups are in order.
        starts = [one != other for one, other in zip(names.shared[1:], names.shared, strict=False)]
        unit = np.cumsum([False, *starts])[places]
        people = np.bincount(unit)
        means = (np.bincount(unit, ranks) / np.maximum(people, 1))[people > 0]
        told = order_told(means)
        if not told and "rating" not in manifest.claim.about.compared:
            # Their records differ, so that it matters which comes first within the group.
            order = np.argsort(places, kind="stable")
            told = order_within(unit[order], ranks[order])
        if told:
            yield "user_id", f"the order of the records goes with that of people's ids: {told}"
    if side.items:
        order = np.argsort(np.array(side.pseudonyms))
        if told := order_told(ranks_of(side.items)[order]):
            yield "item_id", f"the order of the pseudonyms goes with that of items' ids: {told}"


def _of_this_machine(folder: Path) -> dict[str, list[str]]:
    """Return what would tell where a release was made."""
    homes, user = list[Path](), ""
    with suppress(RuntimeError):  # in some containers a user has neither a home nor a name
        homes = [Path.home()]
    with suppress(KeyError, OSError):
        user = getpass.getuser()
    paths = [str(path) for path in (*homes, *folder.resolve().parents) if len(path.parts) > _ROOTS]
    host = socket.gethostname()
    long = [name for name in (host, host.partition(".")[0]) if len(name) >= _SHORTEST_NAME]
    return {
        "the name of this machine": long,
        "the name of this machine's user": [user] if len(user) >= _SHORTEST_NAME else [],
        "a path of this machine": paths,
    }


def _is_pseudonym(name: str) -> bool:
    found = PREFIX.match(name)
    return found is not None and name[found.end() :].isdigit()


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_LARGEST_FILE)
    except OSError:
        return b""


def _text(file: Path) -> str:
    return _bytes(file).decode(errors="replace")


def _times(found: set[str]) -> str:
    """Say how many there are; never which."""
    return "once" if len(found) == 1 else f"({len(found):,} of them at least)"
