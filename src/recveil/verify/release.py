"""Checking a release folder, block by block, from the published files alone."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from recveil.errors import RecveilError, reason_of
from recveil.ratings import RatingScale
from recveil.verify.classes import Classes
from recveil.verify.diversity import Diversity, check_diversity, check_parameters
from recveil.verify.links import LinkPosterior, links_of_rows
from recveil.verify.published import PublishedFile
from recveil.verify.supports import Supports
from recveil.verify.verification import Verification, Violation

_FORMAT = "recveil-release-1"
CLAIMS = ("identical-rows", "co-rated")
_PRIVATE = ("assignment.parquet", "private.json")
_UNREAD = "Nothing is told of links, as the ratings cannot be read."


def check_release(
    folder: Path,
    k: int | None = None,
    b: int | None = None,
    l: int | None = None,  # noqa: E741
    *,
    claim: str | None = None,
    links: bool = False,
) -> Verification:
    """Check a release against its own claim, or against a given one; see `verify`."""
    manifest = _read_manifest(folder)
    required = manifest["k"] if k is None else k
    checked = manifest["claim"] if claim is None else claim
    claimed = manifest.get("diversity") or {"b": 1, "l": 1}
    wanted = (claimed["b"] if b is None else b, claimed["l"] if l is None else l)
    why_not = _filled_in(manifest)
    checksums = {name: _is_as_written(folder / name, manifest) for name in manifest["files"]}
    violations = [_not_as_written(folder / name) for name, right in checksums.items() if not right]
    ratings_name = _ratings_name(manifest, folder)
    violations += _foreign_files(folder, ratings_name)
    file = PublishedFile(folder / ratings_name, manifest, checked)
    classes, supports = Classes(), Supports()
    try:
        for block in file.blocks(violations):
            classes.add(block.digests, block.sizes, block.user_ids, block.rows, block.promised)
            if wanted[1] > 1 or links:
                supports.add(block.digests, block.indptr, block.items)
    except RecveilError as error:
        if checksums[ratings_name]:
            raise RecveilError(f"{error}; write the release again") from error
        # That it was changed is certain, whatever stands there now.
        problem = f"what stands there now: {str(error).removeprefix(f'{ratings_name}: ')}"
        unread = Violation(ratings_name, None, None, problem)
        nothing = _nothing_shown(file, checked, required, [*violations, unread], checksums)
        return replace(nothing, no_links=_UNREAD if links else "")
    violations += classes.below(required, file.locate, file.what)
    diversity = None
    if wanted[1] > 1:
        diversity = check_diversity(supports.matrix(), *wanted, supports.n_groups)
        violations += _rare_sets(diversity, file)
    if checked == manifest["claim"]:  # classes are counted, and their digests kept, for the claim
        violations += _changed_records(folder, classes, file)
        violations += _wrong_counts(manifest, classes)
    return Verification(
        claim=checked,
        k_required=required,
        k_achieved=classes.smallest,
        users=classes.users,
        records=len(classes.records),
        classes=len(classes.people),
        layout=manifest["layout"],
        compared=["item", *([] if file.items_only else ["rating"]), *(["k"] * file.has_levels)],
        violations=violations,
        checksums=checksums,
        alone=sum(people == 1 for people in classes.people.values()),
        has_levels=file.has_levels,
        diversity=diversity,
        links=_links(supports, classes) if links and not why_not else None,
        no_links=why_not if links else "",
    )


def _not_as_written(file: Path) -> Violation:
    """Tell a file that is gone from one that was changed."""
    what = "not the file that was written (SHA-256)" if file.is_file() else "the file is missing"
    return Violation(file.name, None, None, what)


def _nothing_shown(
    file: PublishedFile,
    claim: str,
    k: int,
    violations: list[Violation],
    checksums: dict[str, bool],
) -> Verification:
    """Return the verdict over ratings that cannot be read: nobody is shown to share anything."""
    return Verification(
        claim=claim,
        k_required=k,
        k_achieved=0,
        users=0,
        records=0,
        classes=0,
        layout="groups" if file.in_groups else "users",
        compared=[],
        violations=violations,
        checksums=checksums,
        has_levels=file.has_levels,
    )


def _filled_in(manifest: dict[str, Any]) -> str:
    """Say why nothing is told of links: fills hide who rated what, so that it would look safer."""
    settings = manifest.get("settings")
    method = settings.get("method") if isinstance(settings, dict) else None
    if manifest["claim"] != "co-rated" and method != "k-coRating":
        return ""
    return (
        "How sure a row makes it that a member rated an item is not told of k-coRating: the rows "
        "were filled up, so that the file does not say how many people rated an item, and what it "
        "lets one estimate is too low."
    )


def _links(supports: Supports, classes: Classes) -> LinkPosterior | None:
    """Return what the rows tell about links; None if all hold the same items."""
    if supports.n_groups.size < 2:
        return None
    places = np.array(list(supports.place_of.values()))
    sizes = np.array([classes.people[digest] for digest in supports.place_of])
    return links_of_rows(supports.matrix()[places], sizes)


def _rare_sets(diversity: Diversity, file: PublishedFile) -> Iterator[Violation]:
    """Name a set of items that stands in too few groups, if there is one."""
    if diversity.example is None:
        return
    items = ", ".join(str(file.items[number]) for number in diversity.example)
    items = f"item {items} stands" if diversity.b == 1 else f"items {items} stand"
    problem = (
        f"{diversity.below:,} of {diversity.sets:,} sets of b = {diversity.b} items stand in fewer "
        f"than l = {diversity.l} different rows; {items} in {diversity.smallest}"
    )
    yield Violation(file.path.name, None, None, problem)


def _read_manifest(folder: Path) -> dict[str, Any]:
    file = folder / "release.json"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        if manifest["format"] != _FORMAT:
            raise ValueError(f"format {manifest['format']!r}; this recveil reads {_FORMAT!r}")
        if manifest["claim"] not in CLAIMS:
            raise ValueError(f"claim {manifest['claim']!r}; this recveil can check {CLAIMS}")
        RatingScale(**manifest["scale"])
        if manifest.get("diversity") is not None:
            check_parameters(manifest["diversity"]["b"], manifest["diversity"]["l"])
        right = (
            type(manifest["k"]) is int,
            manifest["k"] >= (1 if manifest.get("levels") else 2),
            manifest.get("levels", False) in (True, False),
            all(Path(name).name == name for name in manifest["files"]),
            all(isinstance(entry["sha256"], str) for entry in manifest["files"].values()),
            "classes.csv" in manifest["files"],
            manifest["layout"] in ("users", "groups"),
            manifest["item_type"] in ("integer", "text"),
            isinstance(manifest["counts"], dict),
        )
        if not all(right):
            raise ValueError("k, files, layout, item_type or counts make no sense")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecveilError) as error:
        raise RecveilError(
            f"{file}: not the description of a release that can be checked ({reason_of(error)}); "
            f"fetch or write the release again"
        ) from error
    return dict(manifest)


def _foreign_files(folder: Path, ratings_name: str) -> Iterator[Violation]:
    """Name each file that is no part of a release, above all the private ones."""
    own = {"release.json", "classes.csv", "README.md", ratings_name}
    for file in sorted(folder.iterdir()):
        if file.name in _PRIVATE:
            problem = "this file tells who is who; take it out of the folder, and out of the world"
            yield Violation(file.name, None, None, problem)
        elif file.name not in own or file.is_symlink():
            problem = "the file is no part of the release; nobody has checked what it tells"
            yield Violation(file.name, None, None, problem)


def _ratings_name(manifest: dict[str, Any], folder: Path) -> str:
    for name in manifest["files"]:
        if name in ("ratings.parquet", "ratings.csv") and (folder / name).is_file():
            return str(name)
    raise RecveilError(f"{folder}: no ratings.parquet or ratings.csv; write the release again")


def _is_as_written(file: Path, manifest: dict[str, Any]) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return bool(digest == manifest["files"][file.name].get("sha256"))


def _changed_records(folder: Path, classes: Classes, file: PublishedFile) -> Iterator[Violation]:
    """Name each record whose content is not among the digests written beside the ratings."""
    listed = _listed_classes(folder)
    if listed is None:
        return  # the checksum says already that the list is not the one that was written
    for digest, user_id, row in classes.records:
        if digest.hex() not in listed:
            problem = (
                f"its {file.what} are not those that were written (no such digest in classes.csv)"
            )
            yield Violation(file.locate(row), row, user_id, problem)
        elif classes.people[digest] != listed[digest.hex()]:
            problem = (
                f"its {file.what} are shared by {classes.people[digest]} people, "
                f"but {listed[digest.hex()]} were written (classes.csv)"
            )
            yield Violation(file.locate(row), row, user_id, problem)


def _listed_classes(folder: Path) -> dict[str, int] | None:
    try:
        lines = (folder / "classes.csv").read_text(encoding="utf-8").splitlines()[1:]
        return {digest: int(people) for digest, people in (line.split(",") for line in lines)}
    except (OSError, ValueError):
        return None


def _wrong_counts(manifest: dict[str, Any], classes: Classes) -> Iterator[Violation]:
    found = {
        "users": classes.users,
        "records": len(classes.records),
        "classes": len(classes.people),
    }
    for name, number in found.items():
        if manifest["counts"].get(name) != number:
            problem = f"counts {manifest['counts'].get(name)} {name}, but the ratings hold {number}"
            yield Violation("release.json", None, None, problem)
