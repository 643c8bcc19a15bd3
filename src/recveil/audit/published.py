"""Published: the same adversaries against a release of the same people."""

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize import Groups, KCoRater, PredictiveAnonymizer
from recveil.anonymize.as_given import AsGiven, count_as_given
from recveil.anonymize.fills import FILLS
from recveil.anonymize.parts import GROUPINGS
from recveil.attack import (
    Adversary,
    Anonymizer,
    Membership,
    ReleaseAttack,
    ReleasedTable,
    attack_release,
    choose_targets,
    membership,
)
from recveil.attack.on_release import find_co_rated_strikes, without_unpublished
from recveil.attack.strikes import left_untried
from recveil.audit.release_verdict import columns_of, headline, write_release_verdict
from recveil.audit.verdict import COVERAGE, not_covered
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import Ratings
from recveil.records import Records

_PREDICTORS = {"FunkSVD": "funk-svd", "ItemMean": "item-mean"}


@brief
@dataclass(frozen=True)
class Published:
    """What the adversaries achieve against a release.

    Parameters
    ----------
    name : str
        The release's folder.
    manifest : dict
        The content of its release.json.
    attacks : list of (Adversary, ReleaseAttack)
    membership : Membership or None
        Whether the adversary can tell who was in the data, measured on a release that was made in
        the same way without a fifth of the people.
    lone_share : float or None
        With simple homogenizing, the share of the ratings that are published as they are because
        nobody else in the group rated the item.
    unmeasured : str
        Why membership could not be measured, if it was tried.
    unprotected : int or None
        With privacy levels, the people whose records promise nothing, because their level is 1
        and they share them with nobody of a higher one.
    lowest_level : int or None
        With privacy levels, the smallest k above 1 that a record promises; None if none does.
    untried : str
        Which labels of a co-rated release were not struck out, because to find them takes too long.
    as_given : AsGiven or None
        How many of all ratings stand in the release exactly, and how many labels are ratings.
    """

    name: str
    manifest: dict[str, Any]
    attacks: list[tuple[Adversary, ReleaseAttack]]
    membership: Membership | None
    lone_share: float | None
    unmeasured: str = ""
    unprotected: int | None = None
    lowest_level: int | None = None
    untried: str = ""
    as_given: AsGiven | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, for JSON and for the page."""
        return {
            "name": self.name,
            "claim": self.manifest["claim"],
            "k": self.manifest["k"],
            "levels": bool(self.manifest.get("levels")),
            "layout": self.manifest["layout"],
            "settings": self.manifest["settings"],
            "unprotected": self.unprotected,
            "lowest_level": self.lowest_level,
            "columns": columns_of(self.manifest),
            "attacks": [_plain(adversary, attack) for adversary, attack in self.attacks],
            "membership": self.membership
            and {"auc": self.membership.auc._asdict(), "members": self.membership.members},
            "ratings_as_they_are": self.lone_share,
            "ratings_exact": self.as_given and self.as_given.exact_share,
            "labels_exact": self.as_given and self.as_given.label_share,
            "headline": headline(self),
            "verdict": self.verdict(),
            "warnings": self.warnings(),
        }

    def warnings(self) -> list[str]:
        """Say what was not measured, or on too few of the people to show anything."""
        warnings = [
            not_covered(f"In the release, “{adversary.name}”", attack.skipped, attack.requested)
            for adversary, attack in self.attacks
            if attack.requested - attack.skipped < COVERAGE * attack.requested
        ]
        if self.untried:
            warnings.append(
                f"The release has too many labels to strike out {self.untried}; who takes the time "
                f"may find more people."
            )
        why = self.unmeasured and (
            f"because no such release can be made of four fifths of the people: {self.unmeasured}"
        )
        why = why or (_cannot_be_repeated(self.manifest) if self.membership is None else "")
        if why:
            warnings.append(
                f"Whether an adversary can tell who was in the data was not measured, {why}."
            )
        return warnings

    def verdict(self) -> list[str]:
        """Say in plain words what was found, and what it means."""
        return write_release_verdict(self)

    def _facts(self) -> dict[str, object]:
        found = max((attack.person_found.rate for _, attack in self.attacks), default=None)
        return {
            "claim": self.manifest.get("claim"),
            "k": self.manifest.get("k"),
            "adversaries": len(self.attacks),
            "found by the strongest": None if found is None else f"{found:.1%}",
        }


def _cannot_be_repeated(manifest: dict[str, Any]) -> str:
    """Say why no such release can be made of other people; nothing, if one can or nobody asks."""
    if manifest.get("levels"):
        return (
            "because it needs a release without some of the people, and with privacy levels they "
            "would take theirs along"
        )
    if same_again(manifest, 0) is not None:
        return ""
    if manifest["settings"].get("method") == "k-coRating":
        return "because the release's fill, or who trusts whom, is not at hand"
    return "because the release's predictor or grouping was given as an object, and is not at hand"


def attack_published(
    ratings: Ratings,
    folder: str | PathLike[str],
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
) -> Published:
    """Attack a release with every adversary, and judge by its private twin.

    Parameters
    ----------
    ratings : Ratings
        The private ratings that were released.
    folder : path
        The published folder; `folder` + ".private" tells who is where.
    adversaries : list of Adversary
        Homogenized rows carry no dates, so what they know of dates is left out.
    targets : ndarray of int64
    seed : int

    Raises
    ------
    RecveilError
        If the release or its twin cannot be read, or is not one of these ratings.
    """
    folder = Path(folder).resolve()  # its name is needed, and . has none
    table = ReleasedTable.from_folder(folder, ratings)
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    private = folder.with_name(f"{folder.name}.private")
    twin = json.loads((private / "private.json").read_text(encoding="utf-8"))
    lone = twin.get("lone_ratings")
    return attack_table(
        *(ratings, table, manifest, adversaries, targets, seed),
        name=folder.name,
        anonymizer=same_again(manifest, seed),
        lone_share=lone and float(lone["rating_share"]),
    )


def attack_table(
    ratings: Ratings,
    table: ReleasedTable,
    manifest: dict[str, Any],
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    name: str = "release",
    anonymizer: Anonymizer | None = None,
    lone_share: float | None = None,
) -> Published:
    """Attack a release that was read already with every adversary.

    Parameters
    ----------
    ratings, adversaries, targets, seed
        As in `attack_published`.
    table : ReleasedTable
    manifest : dict
        Its claim, k, layout and settings, as in release.json.
    name, lone_share
        As in `Published`.
    anonymizer : Anonymizer, optional
        Makes such releases; without it membership is not measured.
    """
    # Whoever is not in the release cannot be found in it, and must not lower the rates.
    released = np.flatnonzero(table.record_of >= 0)
    inside = targets[np.isin(targets, released)]
    if inside.size < min(targets.size, released.size):
        inside = released[choose_targets(released.size, targets.size, seed)]
    adversaries = [without_unpublished(ratings, adversary) for adversary in adversaries]
    strikes = find_co_rated_strikes(table, ratings.scale)  # the same for all adversaries
    attacks = [
        (adversary, attack_release(ratings, table, adversary, inside, seed, strikes=strikes))
        for adversary in adversaries
    ]
    strongest, _ = max(attacks, key=lambda pair: pair[1].person_found.rate)
    told, unmeasured = None, ""
    if anonymizer is not None:
        try:
            told = membership(ratings, anonymizer, strongest, seed=seed)
        except RecveilError as error:  # four fifths of the people may be fewer than k
            unmeasured = str(error)
    unprotected, lowest = _levels(table) if manifest.get("levels") else (None, None)
    return Published(
        *(name, manifest, attacks, told, lone_share, unmeasured, unprotected, lowest),
        untried=left_untried(table.candidates, strikes) if table.co_rated else "",
        as_given=_count_as_given(ratings, table),
    )


def _count_as_given(ratings: Ratings, table: ReleasedTable) -> AsGiven | None:
    """Compare everybody's ratings with the record that they stand behind."""
    released = np.flatnonzero(table.record_of >= 0)
    if not released.size:
        return None
    groups = Groups.from_labels(table.record_of[released])
    rows = Records(table.candidates.sizes, table.indptr, table.indices, table.values)
    return count_as_given(ratings, Groups(released[groups.members], groups.starts), [rows])


def _levels(table: ReleasedTable) -> tuple[int, int | None]:
    """Return how many people are promised nothing, and the least that the others are."""
    nothing = table.promised <= 1
    lowest = None if nothing.all() else int(table.promised[~nothing].min())
    return int(table.candidates.sizes[nothing].sum()), lowest


def same_again(manifest: dict[str, Any], seed: int) -> Anonymizer | None:
    """Return an anonymizer with the release's public settings, if they name one of ours."""
    settings = manifest["settings"]
    if settings.get("method") == "k-coRating":
        if settings["fill"] not in FILLS or settings.get("trust") == "stated":
            return None  # the fill, or who trusts whom, is not at hand
        return KCoRater(
            manifest["k"],
            settings["fill"],
            settings["grouping"],
            round_fills=settings["round_fills"],
            protect=settings["protect"],
            seed=seed,
        )
    names = {grouping.__name__: name for name, grouping in GROUPINGS.items()}
    predictor, grouping = settings.get("predictor"), settings.get("grouping")
    if predictor not in _PREDICTORS or grouping not in names or manifest.get("levels"):
        return None  # with privacy levels, those who are left out would take theirs along
    diversity = manifest.get("diversity") or {"b": 1, "l": 1}
    step = settings["label_step"]
    return PredictiveAnonymizer(
        manifest["k"],
        settings["homogenize"],
        _PREDICTORS[predictor],
        names[grouping],
        round_labels="none" if step is None else step,
        b=diversity["b"],
        l=diversity["l"],
        seed=seed,
    )


def _plain(adversary: Adversary, attack: ReleaseAttack) -> dict[str, Any]:
    errors = attack.rating_errors
    return {
        "name": adversary.name,
        "description": adversary.description,
        "attack": attack.attack,
        "targets_requested": attack.requested,
        "targets_attacked": attack.requested - attack.skipped,
        "targets_skipped": attack.skipped,
        "group_found": attack.group_found._asdict(),
        "person_found": attack.person_found._asdict(),
        "baseline": attack.baseline,
        "bound": attack.bound,
        "link_precision": _number(attack.link_precision.mean),
        "link_baseline": _number(attack.link_baseline.mean),
        "rating_rmse": _number(errors.rmse),
        "item_mean_rmse": _number(errors.item_mean_rmse),
        "exact_share": _number(attack.exact.rate),
    }


def _number(value: float) -> float | None:
    """Return None for nan, which JSON does not know."""
    return None if np.isnan(value) else float(value)
