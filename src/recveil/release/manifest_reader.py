"""Strict reader of release.json: any deviation from recveil's form could carry hidden data."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from recveil.io.item_features import are_item_columns
from recveil.ratings import RatingScale
from recveil.release.claim import (
    ClaimKind,
    claim_kind,
    claim_of_json,
    problems_of_claim,
    published_claims,
    stated_kind,
)
from recveil.release.earlier_formats import RENAMED_SINCE, with_names_of, with_todays_names
from recveil.release.manifest import (
    FORMATS,
    FORMULAS_SINCE,
    MANIFEST,
    MODEL,
    RATINGS,
    SHORT_USERS,
    Manifest,
    content_files,
    counts_of,
    files_next_to_ratings,
    is_part,
    part_name,
    to_bytes,
)
from recveil.release.method import has_answers
from recveil.release.records import hides_items
from recveil.release.settings import SHA256, problems_of_settings, repr_start
from recveil.release.user_table import ATTRIBUTE_FORMAT, problem_of_columns
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, named_twice, reason_of

_KEYS = (
    *("format", "recveil", "claim", "k", "levels", "diversity", "layout", "item_type"),
    *("scale", "settings", "counts", "files"),
)
# Versions as in PEP 440, with at most three numbers: four may be an address, and longer numbers
# could carry hidden data.
_VERSION = re.compile(
    r"(?=.{1,20}$)[0-9]{1,3}(\.[0-9]{1,3}){1,2}((a|b|rc)[0-9]{1,3})?"
    r"(\.post[0-9]{1,3})?(\.dev[0-9]{1,3})?"
)
# Maximum length of an example id.
MOST_OF_EXAMPLE = 40
# Upper bounds of valid ratings, and of counts of users, values and bytes.
_LARGEST_RATING, _LARGEST_COUNT = 1e12, 10**15


def read_manifest(file: Path) -> tuple[Manifest, list[str]]:
    """Read release.json, and report deviations from the form that recveil writes."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(named_twice(name for name, _ in pairs))
        return dict(pairs)

    try:
        content = read_whole(file)
        original = json.loads(
            content.decode(), object_pairs_hook=once, parse_constant=_reject_constant
        )
        manifest = _todays(original)
        _check_essentials(manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        code = _code(error)
        raise RecveilError(
            f"{file}: not the description of a release that can be checked ({_reason(error)}); "
            f"fetch or write the release again",
            code=code,
        ) from error
    problems = [f"the key {repr_start(name)} occurs twice" for name in twice]
    problems += _problems(manifest)
    if with_names_of(_number(manifest), manifest) != original:
        problems.append("it has names of a later format")
    if not problems and not _is_canonical(original, content):
        problems.append(
            "it is not written as recveil writes it: spaces, line ends, numbers or escapes differ"
        )
    return _read_from(content, manifest), problems


def known_manifest(folder: Path) -> Manifest:
    """Read release.json for an attack or an evaluation; its content is checked, not its form."""
    if not folder.is_dir():
        what = "is a file, and no folder" if folder.exists() else "there is no such folder"
        raise RecveilError(
            f"{folder}: {what}; expected the folder of a release", code="release.not-found"
        )
    file = folder / MANIFEST
    try:
        content = read_whole(file)
        manifest = _todays(json.loads(content.decode()))
        _check_essentials(manifest)
        problems = list(problems_of_settings(manifest))
    except KeyError as error:
        raise RecveilError(
            f"{file}: cannot be read as a release ({_reason(error)}); ask recveil verify what is "
            f"wrong with it",
            code="release.damaged",
        ) from error
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        code = _code(error)
        raise RecveilError(
            f"{file}: cannot be read ({_reason(error)}); expected the folder of a release, with "
            f"its private folder next to it",
            code=code,
        ) from error
    if problems:
        raise RecveilError(
            f"{file}: {problems[0]}; ask recveil verify what is wrong with it",
            code="release.damaged",
        )
    return _read_from(content, manifest)


def _read_from(content: bytes, manifest: dict[str, Any]) -> Manifest:
    """Return the manifest with the digest of its file."""
    return replace(Manifest.from_json(manifest), sha256_read=hashlib.sha256(content).hexdigest())


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _reason(error: Exception) -> str:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else reason_of(error)
    return reason if len(reason) <= 160 else f"{reason[:160]}…"


def _code(error: Exception) -> str:
    """Return the code of a release that is missing, unknown to this recveil, or damaged."""
    if isinstance(error, FileNotFoundError):
        return "release.not-found"
    code = getattr(error, "code", "")
    return code if code in ("release.unknown-format", "claim.unknown") else "release.damaged"


def _is_canonical(manifest: dict[str, Any], content: bytes) -> bool:
    try:
        return to_bytes(manifest) == content
    except UnicodeEncodeError:  # an unpaired surrogate, written as an escape
        return False


def _todays(manifest: Any) -> dict[str, Any]:
    """Return the content of release.json in today's names."""
    if manifest["format"] not in FORMATS:
        raise RecveilError(
            f"format {repr_start(manifest['format'])}; this recveil reads {FORMATS[0]!r} to "
            f"{FORMATS[-1]!r}",
            code="release.unknown-format",
        )
    return with_todays_names(manifest, _number(manifest))


def _number(manifest: dict[str, Any]) -> int:
    return FORMATS.index(manifest["format"]) + 1


def _check_essentials(manifest: dict[str, Any]) -> None:
    """Raise unless all that checking needs is present and valid."""
    kind = stated_kind(manifest["claim"])
    if kind not in published_claims():
        claims = published_claims()
        raise RecveilError(
            f"claim {repr_start(kind)}; this recveil can check {claims}", code="claim.unknown"
        )
    scale = manifest["scale"]
    RatingScale.from_json(scale)
    diversity, about = manifest["diversity"], claim_kind(kind)
    claim_of_json(manifest)
    right = (
        _is_count(manifest["k"], 2 if about.contains_users and not manifest["levels"] else 1),
        type(manifest["levels"]) is bool,
        _is_count(diversity["b"], 1) and _is_count(diversity["l"], 1),
        diversity["b"] in (1, 2, 3) or _number(manifest) >= RENAMED_SINCE,
        all(Path(name).name == name for name in manifest["files"]),
        all(isinstance(entry["sha256"], str) for entry in manifest["files"].values()),
        all(name in manifest["files"] for name in files_next_to_ratings(about)[:-1]),
        manifest["layout"] in ("users", "groups" if about.contains_users else "model"),
        manifest["item_type"] in ("integer", "text"),
        isinstance(manifest["counts"], dict),
        isinstance(manifest["settings"], dict),
        isinstance(scale.get("labels", []), list) and type(scale.get("ordered", True)) is bool,
        _makes_sense(manifest.get("formulas", {"items": 1, "example": ""})),
        isinstance(manifest.get("previous", ""), str),
    )
    if not all(right):
        raise ValueError(
            "k, levels, diversity, files, layout, item_type, counts, settings, formulas or "
            "previous make no sense"
        )
    if not are_item_columns(manifest.get("item_table", ["title"])):
        raise ValueError("item_table has no names of columns of items")
    if "user_attributes" in manifest and (
        problem := problem_of_columns(manifest["user_attributes"])
    ):
        raise ValueError(problem)


def _problems(manifest: dict[str, Any]) -> Iterator[str]:
    """Report each part that deviates from recveil's form."""
    yield from _key_problems("it", manifest, _keys_of(manifest))
    version = manifest.get("recveil")
    if not (isinstance(version, str) and _VERSION.fullmatch(version)):
        yield f"recveil is {repr_start(version)}; expected a version such as '1.0.0'"
    yield from _key_problems("diversity", manifest["diversity"], ("b", "l"))
    scale = manifest["scale"]
    labelled = ("labels", "ordered") if "labels" in scale else ()
    yield from _key_problems("scale", scale, ("low", "high", "step", *labelled))
    for name in ("low", "high", "step"):
        number = scale[name]
        if number is None and name == "step":
            continue
        if type(number) is not float or abs(number) > _LARGEST_RATING:
            yield f"scale: {name} is {repr_start(number)}; expected a number such as 5.0"
    yield from problems_of_settings(manifest)
    yield from problems_of_claim(manifest, _number(manifest))
    about = claim_kind(stated_kind(manifest["claim"]))
    yield from _count_problems(manifest, about)
    usual = MODEL if manifest["layout"] == "model" else RATINGS[0]
    content = content_files(manifest["files"], manifest["layout"]) or (usual,)
    if is_part(content[0]):  # all of them, from the first on
        content = tuple(part_name(number) for number in range(len(content)))
    has_item_table, has_user_table = "item_table" in manifest, "user_attributes" in manifest
    tables = {"has_item_table": has_item_table, "has_user_table": has_user_table}
    tables["has_answers"] = has_answers(manifest["settings"])
    names = (*content, *files_next_to_ratings(about, **tables))
    yield from _key_problems("files", manifest["files"], names)
    yield from _problems_of_attributes(manifest)
    for name, entry in manifest["files"].items():
        yield from _key_problems(f"files: {repr_start(name)}", entry, ("sha256", "bytes"))
        if not SHA256.fullmatch(entry["sha256"]):
            yield f"files: {repr_start(name)}: sha256 is no SHA-256 of 64 digits"


def _problems_of_attributes(manifest: dict[str, Any]) -> Iterator[str]:
    """Report attributes of users that no such release has, or their lack."""
    if ("user_attributes" in manifest) != (_number(manifest) == ATTRIBUTE_FORMAT):
        yield f"format {ATTRIBUTE_FORMAT} is that of releases with user_attributes, and only theirs"
    if "user_attributes" not in manifest:
        return
    about, settings = manifest["user_attributes"], manifest["settings"]
    is_sparse, has_values = settings.get("method") == "sparse rows", "values" in about
    is_noisy = settings.get("method") == "synthetic users" and settings.get("noise") == "gaussian"
    if has_values and (not is_noisy or manifest["layout"] == "model"):
        yield "user_attributes: only synthetic users from noisy sums have values of a public list"
        return
    if not has_values and (not is_sparse or hides_items(settings)):
        yield "user_attributes: only sparse rows of named items have some"
    if about.get("l", 1) > manifest["k"]:
        yield "user_attributes: l is above k"
    if "sensitive" in about and manifest["layout"] == "groups":
        yield "user_attributes: a group has no sensitive value of its own"


def _count_problems(manifest: dict[str, Any], about: ClaimKind) -> Iterator[str]:
    counts, expected = manifest["counts"], counts_of(manifest["format"], about, manifest["layout"])
    if SHORT_USERS in counts and _number(manifest) >= RENAMED_SINCE and len(expected) > 1:
        expected = (*expected, SHORT_USERS)
    yield from _key_problems("counts", counts, expected)
    for name in expected:
        if name in counts and not _is_count(counts[name], int(name == SHORT_USERS)):
            yield f"counts: {name} is {repr_start(counts[name])}; expected a whole number"


def _keys_of(manifest: dict[str, Any]) -> tuple[str, ...]:
    """Return the expected keys of a release.json, with those that not every release has."""
    since = {"formulas": FORMULAS_SINCE, "previous": RENAMED_SINCE, "item_table": RENAMED_SINCE}
    since["user_attributes"] = ATTRIBUTE_FORMAT
    more = (n for n, first in since.items() if n in manifest and _number(manifest) >= first)
    return (*_KEYS[:-1], *more, _KEYS[-1])


def _makes_sense(formulas: Any) -> bool:
    """Return whether this is a valid count of formula ids with an example."""
    return (
        isinstance(formulas, dict)
        and tuple(formulas) == ("items", "example")
        and _is_count(formulas["items"], 1)
        and isinstance(formulas["example"], str)
        and len(formulas["example"]) <= MOST_OF_EXAMPLE
    )


def _key_problems(where: str, found: dict[str, Any], expected: Iterable[str]) -> Iterator[str]:
    """Compare keys with the expected ones: all, no others, in their order."""
    names = tuple(expected)
    for name in found:
        if name not in names:
            yield f"{where} carries {repr_start(name)}, which no release has"
    for name in names:
        if name not in found:
            yield f"{where} lacks {name!r}"
    if set(found) == set(names) and tuple(found) != names:
        yield f"{where} has its keys in another order than recveil writes them"


def _is_count(number: Any, least: int) -> bool:
    return type(number) is int and least <= number <= _LARGEST_COUNT
