"""Checks of the files of a release other than its ratings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.io.item_features import UNSHOWN
from recveil.io.write import is_formula
from recveil.release.coverage import FEWEST_RATINGS
from recveil.release.data_card import data_cards
from recveil.release.manifest import (
    ASSIGNMENT,
    CARD,
    CLASSES,
    FORMULAS_SINCE,
    HIDDEN_ITEMS_FILE,
    ITEM_TABLE,
    MANIFEST,
    PRIVATE_MANIFEST,
    PROTECTED,
    SHORT_USERS,
    USER_TABLE,
    Manifest,
    class_list,
    counts_of,
    is_part,
)
from recveil.release.records import ITEM_PREFIX, hides_items, pseudonyms
from recveil.release.user_table import LONGEST_CELL, SUPPRESSED, is_cell
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief
from recveil.verification.equivalence_classes import Classes
from recveil.verification.not_covered import formulas_of
from recveil.verification.published_file import PublishedFile, csv_pieces
from recveil.verification.results import Limit, Violation
from recveil.verification.succession import wrong_class_parts


def wrong_formulas(manifest: Manifest, items: Iterable[Any]) -> Iterator[Violation]:
    """Compare the formulas among item ids with those of release.json, required since format 5."""
    stated, found = manifest.formulas, formulas_of(items)
    if stated == found or (stated is None and manifest.number < FORMULAS_SINCE):
        return
    n_stated, n_found = (formulas.items if formulas else 0 for formulas in (stated, found))
    problem = (
        f"states {n_stated:,} item ids that begin like a formula, but the files contain "
        f"{n_found:,}{', or another first one' if n_stated and n_found else ''}"
    )
    yield Violation.of_file(MANIFEST, problem)


_LIST_BYTES = 1_000_000
_PRIVATE = (ASSIGNMENT, HIDDEN_ITEMS_FILE, PRIVATE_MANIFEST, PROTECTED)


def wrong_files(
    folder: Path, manifest: Manifest, checksums: dict[str, bool]
) -> Iterator[Violation]:
    """Report each file that was changed, is missing, or has another size than stated."""
    for name, right in checksums.items():
        file = folder / name
        if not right:
            there = file.is_file()
            what = "not the file that was written (SHA-256)" if there else "the file is missing"
            yield Violation.of_file(name, what)
        elif manifest.files[name].bytes != (size := file.stat().st_size):
            problem = f"files: {name} has {size} bytes, not as many as stated"
            yield Violation.of_file(MANIFEST, problem)


def foreign_files(folder: Path, manifest: Manifest) -> Iterator[Violation]:
    """Report each file that is not part of a release, above all private ones."""
    expected = {MANIFEST, *manifest.files_next_to_ratings, *manifest.ratings_files}
    for file in sorted(folder.iterdir()):
        if file.name in _PRIVATE or is_part(file.name, "assignment"):
            what = "items" if file.name == HIDDEN_ITEMS_FILE else "users"
            problem = f"a private file that re-identifies {what}; remove it, and do not publish it"
            yield Violation.of_file(file.name, problem)
        elif file.name not in expected or file.is_symlink():
            problem = "not a part of a release, so its content was not checked"
            yield Violation.of_file(file.name, problem)


def wrong_card(folder: Path, manifest: Manifest, ratings_name: str) -> Iterator[Violation]:
    """Compare the data card with the one that release.json implies."""
    file = folder / CARD
    cards = [card.encode() for card in data_cards(manifest, ratings_name)]
    if file.is_file() and not any(_holds_just(file, card) for card in cards):
        problem = "not the data card of this release: its text was changed"
        yield Violation.of_file(CARD, problem)


def _holds_just(file: Path, content: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(content) + 1) == content


def wrong_classes(
    folder: Path, manifest: Manifest, classes: Classes, file: PublishedFile
) -> Iterator[Violation]:
    """Compare classes.csv byte for byte with the classes of the ratings, in both directions."""
    listing = folder / CLASSES
    if not listing.is_file():
        return
    if manifest.previous:
        yield from wrong_class_parts(folder, manifest.claim.k, classes)
        return
    right = class_list(classes.user_counts, manifest.number)
    if _holds_just(listing, right):
        return
    # A list of other classes is reported line by line; a far longer file is not such a list.
    most = 2 * len(right) + _LIST_BYTES
    listed = _listed(listing.read_bytes()) if listing.stat().st_size <= most else None
    if listed is not None:
        yield from _changed_records(listed, classes, file)
        for digest in sorted(set(listed) - {digest.hex() for digest in classes.user_counts}):
            yield Violation.of_file(CLASSES, f"no record has the digest {digest!r:.40}")
    yield Violation.of_file(CLASSES, "not the list of the classes of these ratings, line for line")


def _listed(content: bytes) -> dict[str, int] | None:
    try:
        lines = content.decode().splitlines()[1:]
        return {digest: int(n_users) for digest, n_users in (line.split(",") for line in lines)}
    except ValueError:
        return None


def _changed_records(
    listed: dict[str, int], classes: Classes, file: PublishedFile
) -> Iterator[Violation]:
    """Report each record whose content is not among the digests in classes.csv."""
    for digest, user_id, row in classes.records:
        if digest.hex() not in listed:
            problem = (
                f"its {file.what} are not those that were written (no such digest in classes.csv)"
            )
            yield Violation(file.locate(row), row, user_id, problem)
        elif classes.user_counts[digest] != listed[digest.hex()]:
            problem = (
                f"its {file.what} are shared by "
                f"{describe_count(classes.user_counts[digest], 'user')}, "
                f"but {listed[digest.hex()]} were written (classes.csv)"
            )
            yield Violation(file.locate(row), row, user_id, problem)


def counts_of_ratings(classes: Classes, file: PublishedFile) -> dict[str, int]:
    """Return the counts of the ratings by name."""
    return {
        "users": classes.users,
        "records": len(classes.records),
        "values": file.n_values,
        "items": len(file.items),
        "classes": len(classes.user_counts),
        "singletons": classes.singletons,
        SHORT_USERS: n_short_users(file.lengths),
    }


def n_short_users(lengths: Mapping[int, int]) -> int:
    """Return how many users have records too short to learn from, by users of each length."""
    return sum(n_users for length, n_users in lengths.items() if length < FEWEST_RATINGS)


def wrong_counts(manifest: Manifest, found: Mapping[str, int]) -> Iterator[Violation]:
    """Compare each stated count with the files; how many rows were dropped, they do not show."""
    names = counts_of(manifest.format, manifest.claim.about, manifest.layout)
    for name in (*names, *({SHORT_USERS} & manifest.counts.keys())):
        stated = manifest.counts.get(name)
        if name in found and stated != found[name]:
            problem = f"counts {stated!r:.40} {name}, but the files contain {found[name]}"
            yield Violation.of_file(MANIFEST, problem)


def has_clusters(manifest: Manifest) -> bool:
    """Return whether the settings name clusters of users, whose rows share the values of items."""
    return "cluster_size" in manifest.settings


def wrong_settings(manifest: Manifest, counts: Mapping[str, int]) -> Iterator[Violation]:
    """Report each setting that contradicts the rows."""
    method, settings, users = manifest.known_method, manifest.settings, counts["users"]
    if method is None:
        return
    for setting in method.expected(settings):
        stated = settings.get(setting.name)
        if setting.counts_users and isinstance(stated, int) and stated > users:
            problem = (
                f"settings: {setting.name} is {stated:,} users, but the ratings contain {users:,}"
            )
            yield Violation.of_file(MANIFEST, problem)
            return
    for problem in method.problems_of_rows(settings, manifest.claim.k, counts):
        yield Violation.of_file(MANIFEST, problem)


def wrong_items(manifest: Manifest, items: Sequence[Any], where: str) -> Iterator[Violation]:
    """Require that ids of hidden items are pseudonyms with one prefix and without gaps.

    Other names may reveal what an item is.
    """
    if not hides_items(manifest.settings):
        return
    names = [str(item) for item in items]
    found = ITEM_PREFIX.match(names[0]) if names else None
    prefix = found.group() if found else ""
    if not prefix or sorted(names) != pseudonyms(prefix, len(names), 0, len(names)):
        problem = (
            f"its {len(names)} item ids are not the pseudonyms of hidden items, such as "
            f"'i4773-07', numbered from 0 on without a gap"
        )
        yield Violation.of_file(where, problem)


def check_item_table(
    folder: Path, manifest: Manifest, items: Iterable[Any]
) -> tuple[list[Violation], list[Limit]]:
    """Require one row per item of the release in the item table, and no others."""
    if not manifest.item_table:
        return [], []
    found, n_formulas, problems = [], 0, list[Violation]()
    if hides_items(manifest.settings):
        problem = "a table of items reveals what hidden items are"
        problems.append(Violation.of_file(ITEM_TABLE, problem))
    try:
        for table in csv_pieces(folder / ITEM_TABLE, manifest.item_columns, problems):
            found += table["item_id"].to_pylist()
            texts = [text for name in manifest.item_table for text in table[name].to_pylist()]
            n_formulas += sum(map(is_formula, texts))
            if any(map(UNSHOWN.search, texts)):
                problem = "a cell has a line break or another character that is not shown"
                problems.append(Violation.of_file(ITEM_TABLE, problem))
    except (pa.ArrowException, OSError, UnicodeDecodeError, RecveilError):
        problem = "cannot be read as the table of items that release.json states"
        return [*problems, Violation.of_file(ITEM_TABLE, problem)], []
    if found != sorted(items):
        problem = "its items are not those of the release, each once, in ascending order"
        problems.append(Violation.of_file(ITEM_TABLE, problem))
    return problems, [Limit("item-table", (n_formulas,))]


@brief
class CheckedUsers(NamedTuple):
    """What the table of users of a release shows."""

    problems: list[Violation]
    limits: list[Limit]
    # Users who share a record with its attributes, at least; None without attributes
    smallest: int | None = None
    # Users with a value of each attribute
    n_published: dict[str, int] | None = None


def check_user_table(
    folder: Path,
    manifest: Manifest,
    records: Sequence[tuple[bytes, str, int]],
    sizes: Sequence[int],
    k: int,
) -> CheckedUsers:
    """Require one row per record, k users with each record and its attributes, and l-diversity."""
    about, problems = manifest.user_columns, list[Violation]()
    if about is None:
        return CheckedUsers([], [])
    columns = _read_attributes(folder, manifest, [user_id for _, user_id, _ in records], problems)
    if columns is None:
        return CheckedUsers(problems, [], 0)
    texts = [text for column in columns for text in column]
    if not all(map(is_cell, texts)):
        problem = (
            f"a cell is empty, is not shown whole, or has over {LONGEST_CELL} characters; unknown "
            f'values are "{SUPPRESSED}"'
        )
        problems.append(Violation.of_file(USER_TABLE, problem))
    rows = [*zip(*columns[: len(about.shared)], strict=True)] or [()] * len(records)
    keys = [(digest, *row) for (digest, _, _), row in zip(records, rows, strict=True)]
    users = Counter[tuple[Any, ...]]()
    for key, size in zip(keys, sizes, strict=True):
        users[key] += size
    smallest = min(users.values(), default=0)
    if smallest < k:
        problem = (
            f"a record and its attributes are shared by {describe_count(smallest, 'user')}; at "
            f"least {k} required"
        )
        problems.append(Violation.of_file(USER_TABLE, problem))
    if about.sensitive:
        problems += _undiverse(keys, columns[-1], about.l)
    published = {
        name: sum(size for text, size in zip(column, sizes, strict=True) if text != SUPPRESSED)
        for name, column in zip(about.names, columns, strict=True)
    }
    return CheckedUsers(
        problems, [Limit("user-table", (sum(map(is_formula, texts)),))], smallest, published
    )


def _read_attributes(
    folder: Path, manifest: Manifest, ids: list[str], problems: list[Violation]
) -> list[list[str]] | None:
    # None, with a problem, unless all of it is in order
    try:
        pieces = [*csv_pieces(folder / USER_TABLE, manifest.user_table_columns, problems)]
    except (pa.ArrowException, OSError, UnicodeDecodeError, RecveilError):
        problem = "cannot be read as the table of users that release.json states"
        problems.append(Violation.of_file(USER_TABLE, problem))
        return None
    found, *columns = (
        (pa.concat_tables(pieces) if pieces else pa.table({"": []})).to_pydict().values()
    )
    if found != ids:
        problem = "its users are not the records of the release, each once, in their order"
        problems.append(Violation.of_file(USER_TABLE, problem))
        return None
    return columns


def check_synthetic_attributes(
    folder: Path, manifest: Manifest, prefix: str, n_users: int
) -> CheckedUsers:
    """Require one row per synthetic user, and of each column only values of its public list."""
    about, problems = manifest.user_columns, list[Violation]()
    if about is None or not about.values:  # without them reported with release.json
        return CheckedUsers([], [])
    ids = pseudonyms(prefix, n_users, 0, n_users)
    columns = _read_attributes(folder, manifest, ids, problems)
    if columns is None:
        return CheckedUsers(problems, [])
    for name, texts, values in zip(about.names, columns, about.all_values, strict=True):
        if not {*texts} <= {*values}:
            problem = f"column {name} has a value that release.json does not list"
            problems.append(Violation.of_file(USER_TABLE, problem))
    n_formulas = sum(map(is_formula, (text for column in columns for text in column)))
    published = {
        name: sum(text != SUPPRESSED for text in column)
        for name, column in zip(about.names, columns, strict=True)
    }
    limit = Limit("synthetic-attributes", (n_formulas,))
    return CheckedUsers(problems, [limit], n_published=published)


def _undiverse(
    keys: Sequence[tuple[Any, ...]],
    texts: Sequence[str],
    l: int,  # noqa: E741
) -> Iterator[Violation]:
    """Report classes of which a sensitive value has more than 1 / l of the known ones."""
    known = [(key, text) for key, text in zip(keys, texts, strict=True) if text != SUPPRESSED]
    n_known = Counter(key for key, _ in known)
    above = {key for (key, _), n in Counter(known).items() if n * l > n_known[key]}
    if above:
        problem = (
            f"in {describe_count(len(above), 'class', 'classes')} a sensitive value has more than "
            f"1/{l} of the users with a value"
        )
        yield Violation.of_file(USER_TABLE, problem)
