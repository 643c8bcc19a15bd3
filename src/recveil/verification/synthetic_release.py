"""Verification of synthetic releases: their files, and epsilon from the ledger."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from recveil.release.claim import Claim
from recveil.release.earlier_formats import model_column
from recveil.release.manifest import MANIFEST, SHORT_USERS, Manifest
from recveil.release.noisy_answers import ITEMS
from recveil.release.synthetic_form import MOST_MISSED, MOST_SAMPLED, batch_size
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.memory import MemoryLimitError
from recveil.verification.ids_in_items import line_breaks_in_items
from recveil.verification.not_covered import limits_of_items, limits_of_release
from recveil.verification.other_files import (
    check_item_table,
    check_synthetic_attributes,
    foreign_files,
    n_short_users,
    wrong_card,
    wrong_counts,
    wrong_files,
    wrong_formulas,
)
from recveil.verification.private_data import PublishedNames
from recveil.verification.published_answers import check_answers
from recveil.verification.published_file import PublishedFile, model_table
from recveil.verification.results import Verification, Violation, Violations
from recveil.verification.rule_of_users import wrong_shares

# Larger values may make sums of a model's numbers overflow.
_LARGEST = 1e12
# The counts of the files by name, the compared columns, the items' ids, records by length, and the
# prefix of pseudonyms.
_Found = tuple[dict[str, int], tuple[str, ...], list[Any], Counter[int], str]


class Readers(Protocol):
    """Readers of the parts of a release that replace this process."""

    def checksums(self, folder: Path, manifest: Manifest) -> dict[str, bool]:
        """Return for each file whether its checksum matches."""

    def drawn(
        self, folder: Path, manifest: Manifest, violations: Violations
    ) -> tuple[dict[str, int], list[Any], Counter[int]]:
        """Append errors of the rows; return counts, ids of items, and records by length."""


def check_synthetic(
    folder: Path,
    manifest: Manifest,
    problems: list[str],
    names: PublishedNames,
    readers: Readers | None = None,
) -> Verification:
    """Check a release of synthetic users, or of the model for them; no classes are counted."""
    name, files = str(manifest.ratings_file), manifest.ratings_files
    if not files or not all((folder / each).is_file() for each in files):
        raise RecveilError(
            f"{folder}: the ratings or the model that release.json names is missing; write the "
            f"release again",
            code="release.damaged",
        )
    elsewhere = readers if manifest.layout != "model" else None
    checksums = (
        checksums_of(folder, manifest)
        if elsewhere is None
        else elsewhere.checksums(folder, manifest)
    )
    violations = Violations()
    violations += (Violation.of_file(MANIFEST, problem) for problem in problems)
    violations += wrong_files(folder, manifest, checksums)
    violations += foreign_files(folder, manifest)
    if not problems:
        violations += wrong_card(folder, manifest, name)
    violations += wrong_epsilon(manifest.claim)
    result = _verification(manifest, violations, checksums, name)
    read = _read_model if manifest.layout == "model" else _read_users
    try:
        if elsewhere is None:
            paths = [folder / each for each in files]
            counts, compared, items, lengths, prefix = read(paths, manifest, violations)
        else:
            counts, items, lengths = elsewhere.drawn(folder, manifest, violations)
            prefix = ""  # Spark checks no attributes
            compared = tuple(manifest.columns.names)
    except MemoryLimitError:  # no property of the file
        raise
    except RecveilError as error:
        if all(checksums[each] for each in files):
            raise RecveilError(
                f"{error}; fetch or write the release again", code=error.code
            ) from error
        problem = f"changed, and {str(error).removeprefix(f'{name}: ')}"
        violations.append(Violation.of_file(name, problem))
        return replace(result, compared=(), violations=violations.to_list())
    violations += _wrong_lengths(manifest, lengths, counts["items"])
    violations += wrong_counts(manifest, counts | {SHORT_USERS: n_short_users(lengths)})
    violations += wrong_formulas(manifest, items)
    violations += line_breaks_in_items(items, name)
    of_table, table_limits = check_item_table(folder, manifest, items)
    violations += of_table
    of_users = check_synthetic_attributes(folder, manifest, prefix, counts.get("users", 0))
    violations += of_users.problems
    answers, of_answers = check_answers(folder, manifest, items)
    violations += of_answers
    if answers is not None and not violations and manifest.layout != "model":
        wrong = wrong_shares(folder, manifest, answers)
        violations += (Violation.of_file(name, problem) for problem in wrong)
    if answers is not None:
        items = [*{*items, *answers[ITEMS].tolist()}]
    names.items.extend(items)
    return replace(
        result,
        users=counts.get("users", 0),
        records=counts.get("users", 0),
        compared=compared,
        not_covered=[
            *(*result.not_covered, *limits_of_items(items), *table_limits, *of_users.limits)
        ],
        violations=violations.to_list(),
        attributes=of_users.n_published,
    )


def checksums_of(folder: Path, manifest: Manifest) -> dict[str, bool]:
    """Return for each file of release.json whether its checksum matches."""
    return {name: entry.is_right(folder / name) for name, entry in manifest.files.items()}


def wrong_epsilon(claim: Claim) -> Iterator[Violation]:
    """Report a claimed epsilon below the sum of the ledger."""
    try:
        least = ledger_epsilon(claim)
    except RecveilError as error:
        yield Violation.of_file(MANIFEST, f"claim: {error}")
        return
    if least is not None and claim.epsilon is not None and least > claim.epsilon:
        problem = (
            f"claims epsilon {claim.epsilon:.10g} with delta {claim.delta:.10g}, but its ledger "
            f"adds up to {least:.10g}"
        )
        yield Violation.of_file(MANIFEST, problem)


def ledger_epsilon(claim: Claim) -> float | None:
    """Return the epsilon of the whole ledger; None if the claim has none."""
    if claim.ledger is None or claim.delta is None:
        return None
    return claim.ledger.epsilon(claim.delta)


def _verification(
    manifest: Manifest, violations: list[Violation], checksums: dict[str, bool], name: str
) -> Verification:
    """Return the verdict before counting; more violations may follow."""
    claim = manifest.claim
    try:
        least = ledger_epsilon(claim)
    except RecveilError:  # reported as a violation
        least = None
    return Verification(
        claim=claim.kind,
        k_required=0,
        k_achieved=0,
        users=0,
        records=0,
        classes=0,
        layout=manifest.layout,
        compared=(),
        violations=violations,
        checksums=checksums,
        not_covered=limits_of_release(manifest, name),
        contains_users=False,
        epsilon=claim.epsilon,
        delta=claim.delta,
        ledger_epsilon=least,
    )


def _read_users(paths: list[Path], manifest: Manifest, violations: Violations) -> _Found:
    file = PublishedFile(paths, manifest, manifest.claim.about)
    counts = {
        "users": sum(len(block.user_ids) for block in file.blocks(violations)),
        "values": file.n_values,
        "items": len(file.items),
    }
    return counts, tuple(file.schema.names), file.items, file.lengths, file.pseudonyms.prefix


def _wrong_lengths(
    manifest: Manifest, lengths: Mapping[int, int], n_items: int
) -> Iterator[Violation]:
    user_counts = manifest.settings.get("user_counts")
    if not lengths or not isinstance(user_counts, list) or not user_counts:
        return
    if not all(type(number) is float for number in user_counts):
        return  # reported with the settings
    wrong = wrong_length(user_counts, lengths, n_items)
    if wrong is not None:
        problem = (
            f"settings: records are not as long as user_counts say, such as the "
            f"{describe_count(lengths[wrong], 'record')} with {describe_count(wrong, 'item')}"
        )
        yield Violation.of_file(MANIFEST, problem)


def wrong_length(user_counts: list[float], lengths: Mapping[int, int], n_items: int) -> int | None:
    """Return the smallest length of records that the sampler does not make so often, if any.

    The sampler gives the users of each batch the quantiles of user counts. So the ranks of all
    users are right to half a rank per batch, and each count to less than `MOST_MISSED`.
    """
    found, of_length = (np.array(column) for column in zip(*sorted(lengths.items()), strict=True))
    last = np.cumsum(of_length)
    n_users = int(last[-1])
    off = math.ceil(n_users / batch_size(n_users)) / 2
    # Of the records of one length, the first has the smallest count, and the last the largest.
    ranks = np.stack([last - of_length + 0.5 + off, last - 0.5 - off])
    highest, least = np.quantile(user_counts, np.clip(ranks / n_users, 0, 1))
    least = np.minimum(least, MOST_SAMPLED * n_items)
    wrong = found[(found > highest + MOST_MISSED) | (found < least - MOST_MISSED)]
    return int(wrong[0]) if wrong.size else None


def _read_model(paths: list[Path], manifest: Manifest, violations: list[Violation]) -> _Found:
    (path,) = paths
    method = manifest.known_method
    if method is None or method.model_columns is None:
        raise RecveilError(
            f"{path.name}: this method has no model of users",
            code="release.damaged",
        )
    id_type = pa.string() if manifest.item_type == "text" else pa.int64()

    columns = method.model_columns

    def names(n_columns: int, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(model_column(name, manifest.number) for name in columns(n_columns, settings))

    # The number of factors is the number of columns; it is compared with the stated one below.
    kind = {"feedback": "implicit"} if manifest.scale.unary else {}
    table = model_table(path, lambda n_columns: names(n_columns, kind), id_type, violations)
    if tuple(table.column_names) != names(table.num_columns, manifest.settings):
        problem = "its number of factors is not that of the settings"
        violations.append(Violation.of_file(path.name, problem))
    if any(column.null_count for column in table.columns):
        raise RecveilError(
            f"{path.name}: it has missing values; a model has none", code="release.damaged"
        )
    violations += (Violation.of_file(path.name, problem) for problem in _odd_rows(table))
    items = table.column(0).to_pylist()
    return {"items": table.num_rows}, tuple(table.column_names), items, Counter(), ""


def _odd_rows(table: pa.Table) -> Iterator[str]:
    items = table.column(0).combine_chunks().to_numpy(zero_copy_only=False)
    if not (items[:-1] < items[1:]).all():
        yield "its items are not in ascending order, each once"
    if not table.num_rows:
        yield "it has no items, so no user can be sampled from it"
    for name in table.column_names[1:]:
        numbers = table[name].to_numpy()
        if not (np.abs(numbers) <= _LARGEST).all():
            yield f"column {name!r} contains values that are not numbers, or above {_LARGEST:g}"
