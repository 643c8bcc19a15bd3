"""Releases opened for an audit, and audits of nominal labels as pairs of item and label.

Labels have no distance, so that no adversary knows one approximately.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from recveil.attacks import Adversary, AttackTarget, Candidates
from recveil.attacks.adversary import ECCENTRICITY
from recveil.attacks.attack_target import pairs_of, released_pairs
from recveil.attacks.linkage import users_of_both
from recveil.auditing.auxiliary_file import Suspects, look_for, positions_in
from recveil.auditing.item_matches import ItemMatches
from recveil.io import Reading
from recveil.io.columns.feedback import option_of
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.synthetic.options import of_cohort
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import LIKES
from recveil.release.dates import cohort_of
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.private_folder import is_made_of
from recveil.release.reader import read_model, read_private_folder
from recveil.release.records import hides_items
from recveil.release.user_table import SUPPRESSED
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.safe_repr import brief


@brief
class NominalSource(NamedTuple):
    """Nominal labels and a release of them, attacked as pairs of item and word."""

    ratings: Ratings
    table: AttackTarget


@brief
class OpenedRelease(NamedTuple):
    """A release as read from its folder."""

    name: str
    # The release's manifest
    manifest: Manifest
    # None for a model that has not been sampled yet
    table: AttackTarget | None
    # As in `recveil.release.reader.PrivateFolder`
    lone_share: float | None = None
    # Another release of the same users, for linkage
    other: "OpenedRelease | None" = None
    # The nominal labels, where `table` holds pairs of items and words
    words: NominalSource | None = None
    # True if it was made from these ratings; None if unknown
    same_ratings: bool | None = None
    # The true attributes of users, as the release takes them; None if unknown, or it has none
    attributes: DeclaredAttributes | None = None

    @property
    def rows(self) -> AttackTarget:
        """The table, of a release that has one."""
        if self.table is None:
            raise RecveilError(f"{self.name} is a model and has no rows", code="argument.value")
        return self.table


def open_release(
    ratings: Ratings,
    folder: str | PathLike[str],
    *,
    second_release: str | PathLike[str] | None = None,
    has_catalogue: bool = False,
    users: Mapping[str, Sequence[str | None]] | None = None,
) -> OpenedRelease:
    """Read a release, its private folder where needed, and a second release.

    An adversary who knows the attributes of `users` compares them with published ones.
    """
    folder = Path(folder).resolve()  # its name is needed, and . has none
    manifest = known_manifest(folder)
    if has_catalogue and not hides_items(manifest.settings):
        raise RecveilError(
            f"item_catalog: {folder.name} does not hide its items, so that there is nothing to "
            f"match; leave it out (--item-catalog)",
            code="option.unsupported",
        )
    reject_other_feedback(ratings, manifest, folder.name)
    if not manifest.contains_users:
        return _of_no_user(ratings, folder, manifest, second_release, users)
    table = replace(AttackTarget.from_folder(folder, ratings), known_attributes=users or {})
    other = None if second_release is None else _read_second(ratings, table, second_release)
    return OpenedRelease(
        *(folder.name, manifest, table, read_private_folder(folder).lone_share, other),
        same_ratings=_made_of(folder, ratings),
        attributes=DeclaredAttributes.like(manifest, ratings.users, users) if users else None,
    )


def reject_other_attributes(table: AttackTarget, name: str) -> None:
    """Raise where known attributes are not the published ones: an attack would seem to fail."""
    found = table.record_of.tolist()
    for column in table.known_attributes.keys() & table.attributes.keys():
        classes, texts = table.attributes[column], table.known_attributes[column]
        n_other = sum(
            {text, SUPPRESSED}.isdisjoint(classes[record])
            for text, record in zip(texts, found, strict=True)
            if record >= 0 and set(classes[record]) != {SUPPRESSED}
        )
        if n_other:
            raise RecveilError(
                f"users (--users): {quoted(column, 40)} of {describe_count(n_other, 'user')} is "
                f"not as published in {name}, so that attacks would seem to fail; give the file "
                f"that the release was made with",
                code="release.mismatch",
            )


def _made_of(folder: Path, ratings: Ratings) -> bool | None:
    same = is_made_of(folder, ratings)
    if same is False:
        raise RecveilError(
            f"{folder.name} was not made from these ratings, as its private folder shows, so that "
            f"an attack would seem to fail; give the ratings that it was made from, read with the "
            f"same options",
            code="release.mismatch",
        )
    return same


def _read_second(
    ratings: Ratings, table: AttackTarget, other: str | PathLike[str]
) -> OpenedRelease:
    folder = Path(other).resolve()
    manifest = known_manifest(folder)
    if not manifest.contains_users:
        raise RecveilError(
            f"second_release (--second-release) is {quoted(folder.name)}: no record of it belongs "
            f"to a user, so no user can be re-identified in both; the privacy losses of the two "
            f"add up. Leave it out",
            code="option.unsupported",
        )
    second = AttackTarget.from_folder(folder, ratings)
    second = replace(second, known_attributes=table.known_attributes)
    if (n_common := users_of_both(table, second).size) < 2:
        raise RecveilError(
            f"second_release (--second-release) is {quoted(folder.name)}: {n_common} of its "
            f"users are in the audited release, too; expected another release of the same users",
            code="release.mismatch",
        )
    reject_other_feedback(ratings, manifest, folder.name)
    return OpenedRelease(folder.name, manifest, second)


def reject_other_feedback(ratings: Ratings, manifest: Manifest, name: str) -> None:
    """Reject likes as the ground truth of a release of ratings or words, and the reverse.

    An adversary who knows ratings re-identifies more users, so that rates of likes would be falsely
    reassuring.
    """
    if manifest.scale.unary and not ratings.is_unary:
        raise RecveilError(
            f"{name} holds likes, but these are ratings; read them as likes, too (--likes)",
            code="release.mismatch",
        )
    if ratings.is_unary and manifest.scale.range:  # older releases of likes called them ratings
        raise RecveilError(
            f"{name} holds ratings on the scale {manifest.scale}, but these are likes, and an "
            f"adversary who knows ratings re-identifies more users; give the ratings, with their "
            f"scale (--scale)",
            code="release.mismatch",
        )
    scale, released = ratings.scale, manifest.scale
    if (scale.labels or released.labels) and scale != released:
        raise RecveilError(
            f"{name} holds ratings on the scale {released}, but these were read on {scale}; name "
            f"the same words in the same order ({option_of(released)})",
            code="release.mismatch",
        )


def _of_no_user(
    ratings: Ratings,
    folder: Path,
    manifest: Manifest,
    second_release: str | PathLike[str] | None,
    users: Mapping[str, Sequence[str | None]] | None,
) -> OpenedRelease:
    """Read a release of synthetic users, or check that the model is the one that was written."""
    if second_release is not None:
        raise RecveilError(
            f"second_release (--second-release): no record of {folder.name} belongs to a user, so "
            f"no user can be re-identified in both; the privacy losses of the two add up. Leave it "
            f"out",
            code="option.unsupported",
        )
    if manifest.layout == "model":
        read_model(folder, manifest)
        table = None
    else:
        table = AttackTarget.from_published(folder, ratings)
    same = _made_of(folder, select_released(ratings, manifest))
    attributes = DeclaredAttributes.like(manifest, ratings.users, users) if users else None
    return OpenedRelease(folder.name, manifest, table, same_ratings=same, attributes=attributes)


def select_released(ratings: Ratings, manifest: Manifest, *, keeps_items: bool = False) -> Ratings:
    """Return the ratings of the users of a release's cohort; all if it has none, or no dates."""
    cohort = cohort_of(manifest.settings)
    if cohort is None or ratings.days is None:
        return ratings
    try:
        return of_cohort(ratings, cohort, keeps_items=keeps_items)
    except RecveilError:  # of another table
        return ratings


_NOTE = "Labels are nominal: two are equal or not, and the adversary knows them exactly."


def adversaries_of_labels(
    adversaries: Iterable[Adversary] | None, presets: Iterable[Adversary]
) -> list[Adversary]:
    """Return the adversaries for a table of words: those who know exact words.

    >>> presets = [Adversary(rating_error=1), Adversary(rating_error=None)]
    >>> (adversary,) = adversaries_of_labels(None, presets)
    >>> adversary.rating_error, adversary.description
    (None, 'Labels are nominal: two are equal or not, and the adversary knows them exactly.')
    """
    usual = list(presets)
    requested = usual if adversaries is None else list(adversaries) or usual
    # Of all presets, those that do not apply are left out; options may have changed decisions.
    is_usual = [each.name for each in requested] == [each.name for each in usual]
    for each in requested:
        if not (is_usual or _knows_words(each)):
            raise RecveilError(
                f"adversary {each.name or 'of your own'!r}: knows items alone, or what was liked, "
                f"which does not apply to nominal labels; leave out the column of labels "
                f"to use this adversary",
                code="option.unsupported",
            )
    chosen = [each for each in requested if _knows_words(each)]
    return [replace(each, rating_error=None).noted(_NOTE) for each in chosen]


def reject_catalogue_of_words(catalogue: object) -> None:
    """Reject a public table for nominal labels, whose releases do not hide items.

    >>> reject_catalogue_of_words(None)
    """
    if catalogue is not None:
        raise RecveilError(
            "item_catalog (--item-catalog): no release of nominal labels hides its items; leave it "
            "out",
            code="option.unsupported",
        )


def attack_auxiliary(
    table: Ratings,
    attacked: Ratings,
    candidates: Candidates,
    known: Reading | None,
    adversary: Adversary,
    matches: ItemMatches | None = None,
) -> list[Suspects]:
    """Attack the targets of an auxiliary file, by pairs of item and word for nominal labels."""
    if known is None:
        return []
    decision = _decision(adversary)
    if attacked is table:
        return look_for(table, candidates, known, matches=matches, **decision)
    if known.ratings.is_unary:
        return look_for(table, Candidates.from_ratings(table), known, **decision)
    positions_in(table, known)  # rejects unknown items by their names, which pairs do not have
    pairs = replace(known, ratings=pairs_of(known.ratings))
    return look_for(attacked, candidates, pairs, **decision)


def look_in_release(
    ratings: Ratings,
    opened: OpenedRelease | None,
    known: Reading | None,
    adversary: Adversary,
    matches: ItemMatches | None = None,
) -> list[Suspects]:
    """Look for the targets of an auxiliary file in the rows of a release of ratings."""
    if known is None or opened is None or opened.words is not None:
        return []
    table = opened.table
    if table is None or not table.contains_users:
        return []
    sizes = table.candidates.sizes.tolist()
    names = [f"row {row + 1} of {describe_count(n, 'user')}" for row, n in enumerate(sizes)]
    return look_for(
        *(ratings, table.candidates, known), names=names, matches=matches, **_decision(adversary)
    )


def _decision(adversary: Adversary) -> dict[str, Any]:
    auto = adversary.eccentricity == "auto"
    return {
        "rating_width": adversary.rating_width,
        "day_width": adversary.day_width,
        "eccentricity": ECCENTRICITY if auto else adversary.eccentricity,
    }


def _knows_words(adversary: Adversary) -> bool:
    return adversary.rating_error is not None and not adversary.likes_only


def opened_pairs(opened: OpenedRelease, words: Ratings) -> OpenedRelease:
    """Return a release of words as one of pairs."""
    manifest, table = replace(opened.manifest, scale=LIKES), opened.table
    if table is None:
        return opened._replace(manifest=manifest)
    source = NominalSource(words, table)
    return opened._replace(manifest=manifest, table=released_pairs(table, words), words=source)
