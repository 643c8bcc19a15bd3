"""Check of the noisy answers that a synthetic release publishes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.release.ledger import Ledger, Query
from recveil.release.manifest import ANSWERS, Manifest
from recveil.release.method import has_answers
from recveil.release.noisy_answers import (
    FACTORS,
    ITEMS,
    MOMENT_ITEMS,
    OFFSETS,
    RATING_MEANS,
    array_name,
    read_answers,
)
from recveil.release.reader import read_model
from recveil.runtime.errors import RecveilError
from recveil.verification.results import Violation

Answers = dict[str, NDArray[Any]]


def check_answers(
    folder: Path, manifest: Manifest, items: Sequence[Any]
) -> tuple[Answers | None, list[Violation]]:
    """Compare the answers with the ledger, the items of the release, and the model if it is one."""
    ledger = manifest.claim.ledger
    if ledger is None or not has_answers(manifest.settings):
        return None, []
    try:
        answers = read_answers(folder / ANSWERS)
        problems = [*_problems(answers, ledger, manifest, set(items))]
        if not problems and manifest.layout == "model":
            model = read_model(folder, manifest)
            problems += [] if _is_of(model, answers) else ["its model is not that of the release"]
    except (RecveilError, ValueError, TypeError) as error:
        return None, [Violation.of_file(ANSWERS, str(error))]
    return None if problems else answers, [Violation.of_file(ANSWERS, each) for each in problems]


def _problems(
    answers: Answers, ledger: Ledger, manifest: Manifest, items: set[Any]
) -> Iterator[str]:
    queries = {array_name(query.name): query for query in ledger.queries}
    means = [] if manifest.scale.unary else [RATING_MEANS]
    names = [*queries, ITEMS, MOMENT_ITEMS, OFFSETS, *means, FACTORS]
    if list(answers) != names:
        yield f"has the arrays {', '.join(answers)[:80]}, expected {', '.join(names)}"
        return
    ids, of_moments = answers[ITEMS], answers[MOMENT_ITEMS]
    kind = "U" if manifest.item_type == "text" else "i"
    if ids.ndim != 1 or ids.dtype.kind != kind or not (ids[:-1] < ids[1:]).all():
        yield "its items are not ids in ascending order, each once"
    elif not items.issubset(ids.tolist()):
        yield "its items lack some of the release"
    if len(set(of_moments.tolist()) & set(ids.tolist())) != of_moments.size:
        yield "moment_items are not some of its items, each once"
    for name, query in queries.items():
        if not _is_answer(answers[name], query, ids.size, manifest):
            yield f"{name} is not the {query.values:,} numbers of its query"
    n = of_moments.size
    if answers["moments"].size != n * (n + 1) // 2:
        yield "moments are not the upper triangle of those of moment_items"
    found = [answers[name] for name in (OFFSETS, *means, FACTORS)]
    n_factors = 1 + len(manifest.settings.get("slopes", [])) + manifest.settings.get("factors", 0)
    shapes = [*[(ids.size,)] * (len(found) - 1), (ids.size, n_factors)]
    if [each.shape for each in found] != shapes or not all(map(_are_small, found)):
        yield "its model is not one number per item and column"
    n_users = max(1, round(float(answers["users_by_user_count"].sum())))
    is_counted = manifest.settings.get("n_users") == "counted"
    if is_counted and manifest.counts.get("users", n_users) != n_users:
        yield f"the noisy number of users is {n_users:,}, not that of the synthetic users"


def _is_answer(answer: NDArray[Any], query: Query, n_items: int, manifest: Manifest) -> bool:
    n_values, is_whole = query.values, True
    if query.name == "item sums":  # of items that noise selects, only those of the release
        n_values = n_items * (1 if manifest.scale.unary else 2)
        is_whole = n_values == query.values or manifest.settings.get("item_catalog") == "selected"
    is_right = answer.dtype == np.float64 and answer.size == n_values <= query.values
    return is_right and is_whole and bool(np.isfinite(answer).all())


def _are_small(numbers: NDArray[Any]) -> bool:
    return numbers.dtype == np.float32 and bool((np.abs(numbers) <= 1e12).all())


def _is_of(model: pa.Table, answers: Answers) -> bool:
    ids, *columns = [column.to_numpy() for column in model.columns]
    numbers = [answers[name] for name in (OFFSETS, RATING_MEANS, FACTORS) if name in answers]
    is_same = np.array_equal(np.column_stack(columns), np.column_stack(numbers))
    return is_same and ids.tolist() == answers[ITEMS].tolist()
