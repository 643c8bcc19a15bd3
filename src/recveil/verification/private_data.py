"""Search for private values in a published release."""

import getpass
import json
import math
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.io.worker import decoded_table, decoding
from recveil.ratings.arrow_columns import plain_column, python_values
from recveil.release.data_card import data_cards
from recveil.release.manifest import (
    CARD,
    CLASSES,
    HIDDEN_ITEMS_FILE,
    ITEM_TABLE,
    MANIFEST,
    PRIVATE_MANIFEST,
    USER_TABLE,
    FileEntry,
    Manifest,
)
from recveil.release.manifest_reader import read_manifest
from recveil.release.private_folder import assignment_files, read_assignment
from recveil.release.records import PREFIX
from recveil.release.settings import foreign_names
from recveil.release.user_table import MOST_NUMBERS
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, reason_of
from recveil.runtime.safe_repr import brief
from recveil.verification.ids_in_items import (
    SHORTEST,
    IdsInItems,
    columns_with_users,
    distinctive_values,
    find_as_words,
    find_within,
    ids_in_items,
)
from recveil.verification.published_file import csv_pieces
from recveil.verification.results import Limit, Violation

# Significance level of all tests together: a random order is reported this rarely.
FALSE_ALARMS = 1e-6
_TESTS = 3
_FAR = -NormalDist().inv_cdf(FALSE_ALARMS / _TESTS / 2)
# With fewer places, even the numbers from 1 on in a row are not unlikely enough.
FEWEST = math.ceil(_FAR**2) + 1


def ranks_of(ids: Sequence[Any]) -> NDArray[np.float64]:
    """Return the rank of each id, numeric if all are numbers (also as text), else alphabetic."""
    texts = [str(id_) for id_ in ids]
    if all(text.isascii() and text.isdigit() for text in texts):
        # Compare digit strings without converting them: published numbers may have any length.
        plain = [text.lstrip("0") for text in texts]
        order = sorted(range(len(texts)), key=lambda place: (len(plain[place]), plain[place]))
    else:
        order = sorted(range(len(texts)), key=lambda place: texts[place])
    ranks = np.empty(len(texts))
    ranks[order] = np.arange(1.0, len(texts) + 1)
    return ranks


def find_private_order(values: NDArray[np.float64]) -> str:
    """Describe how a published order correlates with private values; "" if it looks random.

    Spearman's rank correlation and that of neighbours are compared with their spread over all
    permutations, by a normal distribution, which has heavier tails.
    """
    n = values.size
    if n < FEWEST:
        return ""
    ranks = _mean_ranks(values) - (n + 1) / 2
    spread = float((ranks**2).sum())
    if spread == 0:
        return ""
    places = np.arange(n) - (n - 1) / 2
    rising = float(places @ ranks) / math.sqrt(spread * float((places**2).sum()))
    if abs(rising) * math.sqrt(n - 1) > _FAR:
        return "it rises" if rising > 0 else "it falls"
    together = float(ranks[1:] @ ranks[:-1]) / spread + 1 / n
    if abs(together) * math.sqrt(n) > _FAR:
        return "neighbours are similar" if together > 0 else "neighbours alternate"
    return ""


def order_within(unit_of: NDArray[np.int64], values: NDArray[np.float64]) -> str:
    """Describe whether values rise or fall within units, whose places are contiguous."""
    if unit_of.size < FEWEST:
        return ""
    _, unit_of, sizes = np.unique(unit_of, return_inverse=True, return_counts=True)
    places = _centred(np.arange(float(unit_of.size)), unit_of, sizes)
    ranks = _centred(_mean_ranks(values), unit_of, sizes)
    statistic = float(places @ ranks)
    # Exact over all permutations within each unit.
    spreads = np.bincount(unit_of, places**2) * np.bincount(unit_of, ranks**2)
    spread = float((spreads[sizes > 1] / (sizes[sizes > 1] - 1)).sum())
    if spread == 0 or abs(statistic) <= _FAR * math.sqrt(spread):
        return ""
    return "it rises" if statistic > 0 else "it falls"


def _mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value; ties share their mean rank."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(times) - (times - 1) / 2)[place]
    return ranks


def _centred(
    values: NDArray[np.float64], unit_of: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    centred: NDArray[np.float64] = values - (np.bincount(unit_of, values) / sizes)[unit_of]
    return centred


@brief
class PrivateSide(NamedTuple):
    """The private data of a release, for its publisher only."""

    # The original ids of the users
    users: list[Any]
    # The published id of each; None if no record belongs to a user
    records: list[str | None]
    # The original ids, if the published items have pseudonyms
    items: list[Any]
    # The pseudonym of each of these items
    pseudonyms: list[str]
    seed: int | None

    def _facts(self) -> dict[str, object]:
        return {"": "private", "users": len(self.users)}


def read_private_side(folder: Path, private: Path) -> PrivateSide:
    """Read the private folder that belongs to a release."""
    try:
        content = json.loads(read_whole(private / PRIVATE_MANIFEST).decode())
        digest, seed = content["release"]["sha256"], content["seed"]
        assignment = read_assignment(private, assignment_files(content))
        hidden, names = private / HIDDEN_ITEMS_FILE, ["item_id", "published_id"]
        named = decoded_table(hidden, columns=names) if hidden.is_file() else None
        columns = [assignment["user_id"], assignment["published_id"]]
        columns += [] if named is None else [named["item_id"], named["published_id"]]
        users, records, *of_items = (python_values(plain_column(column)) for column in columns)
        items, pseudonyms = of_items or ([], [])
        if not users:
            raise ValueError("its assignment has no users")
        seed = seed if type(seed) is int else None
        side = PrivateSide(users, records, items, pseudonyms, seed)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"{private}: cannot be read as the private folder of a release ({reason_of(error)}); "
            f"expected {folder.name}.private, as recveil wrote it",
            code="private.not-found" if isinstance(error, FileNotFoundError) else "private.damaged",
        ) from None
    require_same_release(folder, private, digest)
    return side


def require_same_release(folder: Path, private: Path, digest: object) -> None:
    """Raise unless the private folder has the digest of the release's manifest."""
    if digest != FileEntry.of(folder / MANIFEST).sha256:
        raise RecveilError(
            f"{private}: the private folder belongs to another release (SHA-256 of {MANIFEST}); "
            f"name the one that was written with {folder.name}",
            code="private.mismatch",
        )


_CLASS_LINE = re.compile(
    rb"[0-9a-f]{32},\d+(?:,(?:[0-9a-f]{32})?)?\n"
    rb"|\"?digest\"?,\"?(?:people|users)\"?(?:,previous)?\n"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b")
_DIGITS = re.compile(r"\d[\d,_]*")
# Shorter seeds are numbers that occur anywhere.
_LONG_SEED = 9
_SHORTEST_NAME = 3
# The root and the top-level folder identify no machine.
_ROOTS = 2
_LARGEST_FILE = 1 << 26


@brief
class PublishedNames(NamedTuple):
    """Names and classes that a checker has read from the published ratings."""

    # The ids of the records, in published order; empty if no record belongs to a user
    user_ids: list[str]
    # Per record, a value that is equal for the records of one class
    shared: list[bytes]
    # The ids of the items
    items: list[Any]
    # The users of each record
    sizes: list[int]

    def _facts(self) -> dict[str, object]:
        return {"records": len(self.user_ids), "items": len(self.items)}


def private_values(
    folder: Path, names: PublishedNames, side: PrivateSide
) -> tuple[list[Violation], list[Limit]]:
    """Search a release for values of its private folder.

    The search covers ids of users and of hidden items, as whole values and within other text; the
    order of records and pseudonyms; the seed; this machine's name, its user's name and paths; and
    times of day. The result repeats no value.
    """
    violations, in_items = find_values(folder, names, side)
    return violations, limits_of_search(len(side.users), in_items)


def find_values(
    folder: Path, names: PublishedNames, side: PrivateSide
) -> tuple[list[Violation], IdsInItems]:
    """Search as `private_values` does, and also return the user ids within item ids."""
    manifest, problems = read_manifest(folder / MANIFEST)
    kind = {"can_hide": manifest.contains_users, "is_unrated": manifest.scale.unary}
    in_items = ids_in_items(side.users, names.items, **kind)
    found = [
        *_among_ids(names, side),
        *([("item_id", in_items.problem)] if in_items.problem else []),
        *_in_free_text(folder, manifest, problems, names, side),
        *_in_tables(folder, manifest, side),
        *_seed(folder, side),
        *_in_order(manifest, names, side),
    ]
    return [Violation.of_file(where, problem) for where, problem in found], in_items


def limits_of_search(n_users: int, in_items: IdsInItems) -> list[Limit]:
    """Return what the search cannot decide.

    >>> limits_of_search(2, ids_in_items(["ann", "ben"], ["Annie Hall", "Ben-Hur"]))[1].values
    (2, 2, 1)
    """
    undecided = (n_users, in_items.n_undecided, in_items.n_matched)
    return [
        Limit("private-values", (SHORTEST,)),
        *([Limit("undecided-ids", undecided)] if in_items.n_undecided else []),
        Limit("private-order", (round(1 / FALSE_ALARMS), FEWEST)),
        Limit("machine"),
    ]


_Found = Iterator[tuple[str, str]]


def _among_ids(names: PublishedNames, side: PrivateSide) -> _Found:
    """Search the pseudonyms for original ids."""
    for what, column, private, published in (
        ("a user", "user_id", side.users, names.user_ids),
        ("an item", "item_id", side.items, names.items if side.items else ()),
    ):
        if both := set(map(str, private)).intersection(map(str, published)):
            yield column, f"contains the original id of {what}{_times(both)}"


def _in_free_text(
    folder: Path,
    manifest: Manifest,
    problems: Sequence[str],
    names: PublishedNames,
    side: PrivateSide,
) -> _Found:
    """Search all free text for users, locations and times."""
    machine = _of_this_machine(folder)
    for where, text in _free_texts(folder, manifest, problems, names):
        if not text:
            continue
        ids = [*side.users, *side.items]
        found = find_as_words(ids, text) | find_within(distinctive_values(ids, len(text)), text)
        if found:
            yield where, f"contains a private id{_times(found)}"
        for what, values in machine.items():
            if find_as_words(values, text):
                yield where, f"contains {what}"
        if _TIME.search(text):
            yield where, "contains a time of day"


def _free_texts(
    folder: Path, manifest: Manifest, problems: Sequence[str], names: PublishedNames
) -> _Found:
    """Yield all text that does not follow from other published content, and its location."""
    # The card follows from release.json, and classes.csv from the ratings. In a valid release.json,
    # names of custom classes are the only free text.
    # A word rating that looks like an address or a long number may be the id of a user.
    free = " ".join(
        [name for _, name in foreign_names(manifest.settings)]
        + distinctive_values(manifest.scale.labels, 1)
        + distinctive_values(manifest.item_table, 1)
        + distinctive_values(manifest.user_columns.names if manifest.user_columns else (), 1)
    )
    yield MANIFEST, _text(folder / MANIFEST) if problems else free
    ratings_name = manifest.ratings_file or ""
    cards = [] if problems else data_cards(manifest, ratings_name)
    card_lines = set(_text(folder / CARD).splitlines())
    yield (
        CARD,
        "\n".join(card_lines.difference(line for card in cards for line in card.splitlines())),
    )
    yield CLASSES, _CLASS_LINE.sub(b"", _bytes(folder / CLASSES)).decode(errors="replace")
    known_files = {MANIFEST, *manifest.files_next_to_ratings, *manifest.ratings_files}
    for file in sorted(folder.iterdir()):
        if file.name not in known_files:
            yield "another file, or its name", f"{file.name}\n{_text(file)}"
    odd = (user_id for user_id in names.user_ids if not _is_pseudonym(user_id))
    yield "user_id", "\n".join(odd)
    for name in manifest.ratings_files:
        expected_columns = [] if manifest.layout == "model" else manifest.columns.names
        yield name, _adjacent_values(folder / name, expected_columns)


def _in_tables(folder: Path, manifest: Manifest, side: PrivateSide) -> _Found:
    """Search the cells of the tables of items and users, column by column, for users."""
    of_users = manifest.user_columns.names if manifest.user_columns else ()
    ids = {*map(str, side.users)}
    for file, names, schema in (
        (ITEM_TABLE, manifest.item_table, manifest.item_columns),
        (USER_TABLE, of_users, manifest.user_table_columns),
    ):
        try:
            pieces = [*csv_pieces(folder / file, schema, [])] if names else []
        except (pa.ArrowException, OSError, UnicodeDecodeError, RecveilError):
            continue  # reported as a violation
        if not pieces:
            continue
        table = pa.concat_tables(pieces)
        columns = {name: table[name].unique().to_pylist() for name in names}
        found = columns_with_users(side.users, columns)
        if file == USER_TABLE:
            found += [name for name in names if len(ids & {*columns[name]}) > MOST_NUMBERS]
        for name in dict.fromkeys(found):
            yield file, f"column {names.index(name) + 2} contains ids of users"


def _adjacent_values(file: Path, expected_columns: Sequence[str]) -> str:
    """Return the names of extra columns and the metadata of a Parquet file."""
    try:
        if file.suffix == ".csv":
            with file.open("rb") as stream:
                columns = stream.readline(_LARGEST_FILE).decode(errors="replace").split(",")
            return " ".join({name.strip('"\r\n') for name in columns}.difference(expected_columns))
        with decoding(file) as found:
            more = set(found.schema.names).difference(expected_columns)
            pairs = (part for pair in found.metadata.items() for part in pair)
            return "\n".join([*(more if expected_columns else ()), *pairs])
    except (pa.ArrowException, OSError, EOFError):
        return ""


def _seed(folder: Path, side: PrivateSide) -> _Found:
    if side.seed is None or len(str(side.seed)) < _LONG_SEED:
        return
    for name in (MANIFEST, CARD):
        numbers = {re.sub("[,_]", "", digits) for digits in _DIGITS.findall(_text(folder / name))}
        if str(side.seed) in numbers:
            yield name, "contains the seed, from which every random choice follows"


def _in_order(manifest: Manifest, names: PublishedNames, side: PrivateSide) -> _Found:
    """Compare the order of records with that of user ids, and of pseudonyms with item ids."""
    place_of = {user_id: place for place, user_id in enumerate(names.user_ids)}
    places = np.array([place_of.get(record or "", -1) for record in side.records], dtype=np.int64)
    ranks = ranks_of(side.users)[places >= 0]
    places = places[places >= 0]
    if names.shared and places.size:
        # Users who share a record may be similar, and so may their ids; the order of groups counts.
        starts = [one != other for one, other in zip(names.shared[1:], names.shared, strict=False)]
        unit = np.cumsum([False, *starts])[places]
        n_users = np.bincount(unit)
        means = (np.bincount(unit, ranks) / np.maximum(n_users, 1))[n_users > 0]
        trend = find_private_order(means)
        if not trend and "rating" not in manifest.claim.about.compared:
            # Their records differ, so the order within the group matters.
            order = np.argsort(places, kind="stable")
            trend = order_within(unit[order], ranks[order])
        if trend:
            yield "user_id", f"the order of the records correlates with that of users' ids: {trend}"
    if side.items:
        order = np.argsort(np.array(side.pseudonyms))
        if trend := find_private_order(ranks_of(side.items)[order]):
            yield (
                "item_id",
                f"the order of the pseudonyms correlates with that of items' ids: {trend}",
            )


def _of_this_machine(folder: Path) -> dict[str, list[str]]:
    """Return names and paths that would reveal where a release was made."""
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
    """Describe how many values were found; empty for one."""
    return "" if len(found) == 1 else f" (at least {len(found):,} of them)"
