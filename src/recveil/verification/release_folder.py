"""Block-wise verification of a release folder from its published files alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from recveil.io.columns.rows_above_chance import find_rows_above_chance
from recveil.ratings import Ratings
from recveil.ratings.ratings import in_likes
from recveil.ratings.sorted_rows import Rows
from recveil.release.claim import claim_kind
from recveil.release.manifest import (
    CLASSES,
    MANIFEST,
    PRIVATE_MANIFEST,
    RATINGS,
    USER_TABLE,
    Manifest,
    private_folder,
)
from recveil.release.manifest_reader import read_manifest
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.memory import MemoryLimitError, reject_beyond_limit
from recveil.verification.diversity import Diversity, check_diversity, describe_rare_sets
from recveil.verification.equivalence_classes import Classes, DistinctRows, ItemCounts, Supports
from recveil.verification.ids_in_items import describe_rows_within, line_breaks_in_items
from recveil.verification.link_posterior import LinkPosterior, links_of_rows
from recveil.verification.means import ImputedValues, MeansOfLevels
from recveil.verification.not_covered import limits_of_items, limits_of_release
from recveil.verification.other_files import (
    check_item_table,
    check_user_table,
    counts_of_ratings,
    foreign_files,
    has_clusters,
    wrong_card,
    wrong_classes,
    wrong_counts,
    wrong_files,
    wrong_formulas,
    wrong_items,
    wrong_settings,
)
from recveil.verification.private_data import (
    PrivateSide,
    PublishedNames,
    private_values,
    read_private_side,
)
from recveil.verification.published_file import Block, PublishedFile
from recveil.verification.results import Limit, Verification, Violation, Violations
from recveil.verification.succession import (
    ClassOfUser,
    changed_attributes,
    classes_of_users,
    count_moved,
    problems_against,
)
from recveil.verification.synthetic_release import Readers, check_synthetic, checksums_of
from recveil.verification.value_limits import LimitedValues

# Memory per record: its digest, its pseudonym, its location, and its user count.
_A_RECORD = 400
# Copies of the distinct rows while they are compared.
_COPIES = 4


def check_release(
    folder: Path,
    k: int | None = None,
    b: int | None = None,
    l: int | None = None,  # noqa: E741
    *,
    claim: str | None = None,
    links: bool = False,
    private: PrivateSide | None = None,
    against: Path | None = None,
    ratings: Ratings | None = None,
) -> Verification:
    """Check a release against its own claim or a given one; see `verify`."""
    result = _check_release(folder, k, b, l, claim, private, against, ratings, links=links)
    if result.holds or {k, b, l, claim} == {None}:
        return result
    verdict = _check_release(folder, None, None, None, None, private, against, ratings)
    return replace(result, k_claimed=verdict.k_required) if verdict.holds else result


def _check_release(
    folder: Path,
    k: int | None,
    b: int | None,
    l: int | None,  # noqa: E741
    claim: str | None,
    private: PrivateSide | None,
    against: Path | None,
    ratings: Ratings | None,
    *,
    links: bool = False,
) -> Verification:
    names = PublishedNames([], [], [], [])
    result = check_published(folder, names, k, b, l, claim, links=links)
    if against is not None:
        of_previous = PublishedNames([], [], [], [])
        result = _check_against(folder, against, result, names, of_previous)
        of_private = private_folder(against)
        if private is not None and (of_private / PRIVATE_MANIFEST).is_file():
            side = read_private_side(against, of_private)
            before = classes_of_users(against, side, of_previous)
            after = classes_of_users(folder, private, names)
            result = _check_users(folder, result, before, after)
    if private is None:
        return result
    found, limits = private_values(folder, names, private)
    if names.user_ids and not found:
        found = [*_rows_within_items(folder, names, private)]
    if ratings is not None:
        result = _count_behind_means(folder, result, ratings, private, names)
    return result.with_private(found, limits)


def has_limited_means(folder: Path) -> bool:
    """Return whether a release limits the ratings behind its means."""
    limited = LimitedValues(read_manifest(folder / MANIFEST)[0])
    return limited.limits is not None and limited.has_means


def _count_behind_means(
    folder: Path,
    result: Verification,
    ratings: Ratings,
    private: PrivateSide,
    names: PublishedNames,
) -> Verification:
    """Add whether the ratings behind the published means are within the stated limits."""
    manifest, _ = read_manifest(folder / MANIFEST)
    limited, method = LimitedValues(manifest), manifest.known_method
    if result.violations or limited.limits is None or method is None:
        return result  # what is not a release has no limits
    assigned = [record for record in private.records if record is not None]
    if {*assigned} != {*names.user_ids} or len(assigned) != manifest.counts.get("users"):
        raise RecveilError(
            f"the private folder of {folder.name}: its assignment does not name each record of "
            f"the release; restore it from a backup",
            code="private.damaged",
        )
    # The members of a group share a row, whether it is published once or for each.
    first = dict(zip(names.shared, names.user_ids, strict=True))
    number = {shared: at for at, shared in enumerate(first)}
    rows = _read_rows(folder, [*first.values()])
    class_of = dict(zip(names.user_ids, map(number.get, names.shared), strict=True))
    class_of_user = {
        str(user): class_of[record]
        for user, record in zip(private.users, private.records, strict=True)
        if record is not None
    }
    class_of_users = np.array([class_of_user.get(str(user), -1) for user in ratings.users.tolist()])
    place_of = {str(item): at for at, item in enumerate(ratings.items.tolist())}
    original = dict(zip(private.pseudonyms, private.items, strict=True))
    item_of = np.array([place_of[str(original.get(item, item))] for item in names.items])
    name = str(manifest.ratings_file)
    violations = [*limited.recount(ratings, class_of_users, rows, item_of, name)]
    stated = {Limit("method", (text,)) for text in method.publishers_word(manifest.settings)}
    return replace(
        result,
        violations=violations,
        value_limits=limited.limits.describe(),
        not_covered=[each for each in result.not_covered if each not in stated],
    )


def _check_against(
    folder: Path,
    previous: Path,
    result: Verification,
    names: PublishedNames,
    before: PublishedNames,
) -> Verification:
    """Check that a release continues the classes of the one that it follows; fill in `before`."""
    manifest, _ = read_manifest(previous / MANIFEST)
    if not manifest.contains_users:
        raise RecveilError(
            f"against (--against) is {quoted(previous.name)}: no record of it belongs to a user "
            f"who could keep a class; name the release that was continued",
            code="release.kind",
        )
    of_previous = check_published(previous, before)
    violations = [*result.violations]
    if not of_previous.holds:
        problem = f"the previous release does not keep its claim: recveil verify {previous.name}"
        violations.append(Violation.of_file(f"{previous.name}/{MANIFEST}", problem))
    else:
        problems = problems_against(folder, previous)
        violations += (Violation.of_file(CLASSES, problem) for problem in problems)
        if result.holds and not violations:
            problems = changed_attributes(folder, previous, names, before)
            violations += (Violation.of_file(USER_TABLE, problem) for problem in problems)
    return replace(
        result,
        violations=violations,
        n_continued=of_previous.classes,
        not_covered=[each for each in result.not_covered if each.code != "previous-release"],
    )


def _check_users(
    folder: Path,
    result: Verification,
    before: Mapping[str, ClassOfUser],
    after: Mapping[str, ClassOfUser],
) -> Verification:
    """Add whether all users of the previous release keep their classes and attributes."""
    n_moved = count_moved(folder, before, after)
    if n_moved:
        problem = (
            f"{describe_count(n_moved, 'user')} of the previous release "
            f"{'is' if n_moved == 1 else 'are'} not in the class that continues theirs"
        )
        violation = Violation.of_file("private folder", problem)
        return replace(result, violations=[*result.violations, violation])
    return replace(
        result, not_covered=[each for each in result.not_covered if each.code != "kept-classes"]
    )


def _rows_within_items(
    folder: Path, names: PublishedNames, private: PrivateSide
) -> Iterator[Violation]:
    """Report ids of items that contain rows of the users more often than by chance."""
    class_of = dict(zip(names.user_ids, names.shared, strict=True))
    sides = zip(private.users, private.records, strict=True)
    users, records = zip(*(each for each in sides if each[1] in class_of), strict=True)
    read = partial(_read_rows, folder, records)
    classes = [class_of[record] for record in records]
    if items := find_rows_above_chance(users, names.items, read, classes):
        yield Violation.of_file("item_id", describe_rows_within(len(items)))


def _read_rows(folder: Path, records: Sequence[str]) -> Rows:
    """Read the published rows again, one for the record of each user."""
    manifest, _ = read_manifest(folder / MANIFEST)
    paths = [folder / name for name in _ratings_files(manifest, folder)]
    blocks = [*PublishedFile(paths, manifest, manifest.claim.about).blocks(Violations())]
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    ids = [user_id for block in blocks for user_id in block.user_ids]
    place_of = {user_id: at for at, user_id in enumerate(ids)}
    places = np.array([place_of[record] for record in records])
    starts = (np.cumsum(lengths) - lengths)[places]
    indptr = np.concatenate([[0], np.cumsum(lengths[places])])
    cells = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths[places])
    items, values = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("items", "values")
    )
    return Rows(indptr, items[cells], values[cells].astype(np.float32), None)


def check_published(
    folder: Path,
    names: PublishedNames,
    k: int | None = None,
    b: int | None = None,
    l: int | None = None,  # noqa: E741
    claim: str | None = None,
    *,
    links: bool = False,
    readers: Readers | None = None,
) -> Verification:
    """Check the published side of a release, and collect the names of its records and items."""
    manifest, problems = read_manifest(folder / MANIFEST)
    if not manifest.contains_users:
        options = {"k": k, "b": b, "l": l, "links": links or None, "claim": claim}
        _reject_for_synthetic(manifest, options)
        return check_synthetic(folder, manifest, problems, names, readers)
    if claim is not None and not claim_kind(claim).contains_users:
        raise RecveilError(
            f"claim {claim!r} (--claim): it follows only from the manifest of a synthetic release, "
            f"not from rows; name another claim, or leave it out",
            code="option.unsupported",
        )
    claimed = manifest.claim
    required = claimed.k if k is None else k
    checked = claimed.kind if claim is None else claim
    wanted = (claimed.b if b is None else b, claimed.l if l is None else l)
    no_links = _no_links(manifest) if links else None
    checksums = checksums_of(folder, manifest)
    violations = Violations()
    violations += (Violation.of_file(MANIFEST, problem) for problem in problems)
    violations += wrong_files(folder, manifest, checksums)
    names_of_files = _ratings_files(manifest, folder)
    ratings_name = str(manifest.ratings_file)
    violations += foreign_files(folder, manifest)
    if not problems:  # otherwise the card cannot be right
        violations += wrong_card(folder, manifest, ratings_name)
    limits = limits_of_release(manifest, ratings_name)
    paths = [folder / name for name in names_of_files]
    file = PublishedFile(paths, manifest, claim_kind(checked))
    classes, supports, rows = Classes(), Supports(), DistinctRows()
    means, imputed = MeansOfLevels(manifest), ImputedValues(manifest)
    limited, item_counts = LimitedValues(manifest), ItemCounts()
    sizes: list[int] = []
    stated = classes if checked == claimed.kind else Classes()
    try:
        for block in file.blocks(violations):
            _note(block, classes, stated, ratings_name, rows if has_clusters(manifest) else None)
            means.add(block.stated_digests, block.indptr, block.values)
            imputed.add(block.items, block.values)
            limited.add(block.stated_digests, block.indptr, block.items, block.values)
            item_counts.add(block.items)
            sizes += block.sizes if manifest.user_columns else []
            if wanted[1] > 1 or links:
                supports.add(block.digests, block.indptr, block.items)
    except MemoryLimitError:  # no property of the file
        raise
    except RecveilError as error:
        if all(checksums[name] for name in names_of_files):
            raise RecveilError(
                f"{error}; fetch or write the release again", code=error.code
            ) from error
        # The file was certainly changed, whatever it contains now.
        problem = f"changed, and {str(error).removeprefix(f'{ratings_name}: ')}"
        unread = Violation.of_file(ratings_name, problem)
        nothing = _nothing_shown(
            file, checked, required, [*violations.to_list(), unread], checksums
        )
        return replace(nothing, no_links=Limit("unread") if links else None, not_covered=limits)
    names.user_ids.extend(user_id for _, user_id, _ in stated.records)
    names.shared.extend(digest for digest, _, _ in stated.records)
    names.items.extend(file.items)
    names.sizes.extend(sizes)
    violations += classes.below(required, file.locate, file.what)
    diversity = None
    if wanted[1] > 1:
        diversity = check_diversity(supports.rows(), *wanted, supports.n_groups)
        violations += _rare_sets(diversity, file)
    violations += wrong_classes(folder, manifest, stated, file)
    violations += wrong_counts(manifest, counts_of_ratings(stated, file))
    more = {"clusters": rows.fewest_clusters(), "rarest": item_counts.rarest}
    violations += wrong_settings(manifest, counts_of_ratings(stated, file) | more)
    violations += means.violations(stated)
    violations += imputed.violations()
    violations += limited.violations(stated, file.name)
    violations += wrong_items(manifest, file.items, file.name)
    violations += wrong_formulas(manifest, file.items)
    violations += line_breaks_in_items(file.items, file.name)
    of_table, table_limits = check_item_table(folder, manifest, file.items)
    violations += of_table
    of_users = check_user_table(folder, manifest, stated.records, sizes, required)
    violations += of_users.problems
    smallest = [each for each in (classes.smallest, of_users.smallest) if each is not None]
    return Verification(
        claim=checked,
        k_required=required,
        k_achieved=min(smallest),
        users=classes.users,
        records=len(classes.records),
        classes=len(classes.user_counts),
        layout=manifest.layout,
        compared=[
            *file.claim.columns(likes=manifest.scale.unary),
            *file.compared_too,
            *_shared_attributes(manifest),
        ],
        violations=violations.to_list(),
        checksums=checksums,
        singletons=classes.singletons,
        has_levels=file.has_levels,
        diversity=diversity,
        links=_links(supports, classes) if links and no_links is None else None,
        no_links=no_links,
        not_covered=[*limits, *limits_of_items(file.items), *table_limits, *of_users.limits],
        value_limits=limited.checked,
        attributes=of_users.n_published,
        attribute_l=manifest.user_columns.l if manifest.user_columns else 1,
    )


def _shared_attributes(manifest: Manifest) -> tuple[str, ...]:
    return manifest.user_columns.shared if manifest.user_columns else ()


def _note(
    block: Block, classes: Classes, stated: Classes, name: str, rows: DistinctRows | None
) -> None:
    """Count the records of a block by the checked claim and by the release's own."""
    classes.add(block.digests, block.sizes, block.user_ids, block.rows, block.promised)
    if stated is not classes:
        stated.add(block.stated_digests, block.sizes, block.user_ids, block.rows)
    needed = _A_RECORD * len(classes.records)
    if rows is not None:
        rows.add(block.stated_digests, block.indptr, block.items, block.values)
        needed += _COPIES * rows.n_bytes
    reject_beyond_limit(f"{name}: its records", needed, at_least=True)


def _reject_for_synthetic(manifest: Manifest, options: Mapping[str, object]) -> None:
    """Raise if a check of users' records is requested of synthetic records."""
    unsupported = {name: value for name, value in options.items() if value is not None}
    if unsupported.get("claim") == manifest.claim.kind:
        del unsupported["claim"]
    if unsupported:
        raise RecveilError(
            f"{', '.join(unsupported)}: no record of this release belongs to a user, so there are "
            f"no shared rows, sets of items or links to check; leave that out",
            code="option.unsupported",
        )


def _nothing_shown(
    file: PublishedFile,
    claim: str,
    k: int,
    violations: list[Violation],
    checksums: dict[str, bool],
) -> Verification:
    """Return the verdict over unreadable ratings: no user is shown to share a row."""
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


def _no_links(manifest: Manifest) -> Limit | None:
    """Return why the method has no links: fills hide who rated what, and links would look safer."""
    method = manifest.known_method
    if method is None or not method.no_links:
        return None
    return Limit("method", (in_likes(method.no_links, manifest.scale.unary),))


def _links(supports: Supports, classes: Classes) -> LinkPosterior | None:
    """Return the link posteriors of the rows; None if all hold the same items."""
    if supports.n_groups.size < 2:
        return None
    places = np.array(list(supports.place_of.values()))
    sizes = np.array([classes.user_counts[digest] for digest in supports.place_of])
    return links_of_rows(supports.rows().take(places), sizes)


def _rare_sets(diversity: Diversity, file: PublishedFile) -> Iterator[Violation]:
    """Report a set of items that occurs in too few groups, if there is one."""
    if diversity.example is None:
        return
    items = ", ".join(str(file.items[number]) for number in diversity.example)
    items = f"item {items} occurs" if diversity.b == 1 else f"items {items} occur"
    problem = f"{describe_rare_sets(diversity)}; {items} in {diversity.smallest}"
    yield Violation.of_file(file.name, problem)


def _ratings_files(manifest: Manifest, folder: Path) -> tuple[str, ...]:
    names = manifest.ratings_files
    if not names:
        raise RecveilError(
            f"{folder}: no {' or '.join(RATINGS)}; fetch or write the release again",
            code="release.damaged",
        )
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise RecveilError(
            f"{folder}: no {missing[0]}; fetch or write the release again", code="release.damaged"
        )
    return names
