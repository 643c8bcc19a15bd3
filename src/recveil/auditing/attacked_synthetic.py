"""Attacks on releases of synthetic users."""

from dataclasses import dataclass
from typing import Any

from recveil.attacks import Adversary, Anonymizer, ReleasedTable, hold_out, infer_memberships
from recveil.attacks.inference.attributes import (
    Resemblance,
    infer_attributes,
    infer_embeddings,
    score_nearest,
)
from recveil.attacks.membership.inference import KNOWN
from recveil.attacks.statistics import NO_ATTACK
from recveil.auditing.attacked_release import AttackedRelease
from recveil.auditing.shadow_releases import FROM_A_MODEL
from recveil.auditing.statements import Statement
from recveil.ratings import Ratings
from recveil.release.claim import bounds_of
from recveil.release.manifest import Manifest
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

# The adversary knows eight exact ratings.
_WHO = Adversary(known=8, name="adversary with 8 exact ratings")
_STRONGEST = "strongest"

_NOBODY_TO_FIND = (
    "Attacks that look for a user's record do not apply: no record of this release belongs to a "
    "user. That no user is found is not a measurement, and no figure reports it as one."
)
_NO_GROUPS = (
    "Attacks on groups, on the ratings behind published values and on imputed values do not apply "
    "either."
)
_NO_GROUPS_OF_LIKES = "Attacks on groups of users do not apply either."

_FROM_MODEL = (
    f"The release is a model, from which a recipient can sample any number of users. All figures "
    f"below are measured on {FROM_A_MODEL} synthetic users for each real one."
)


@brief
@dataclass(frozen=True)
class AttackedDrawn(AttackedRelease):
    """Results of attacks on a release of synthetic users.

    No record belongs to a user, so `attacks` is empty. Measured instead are membership inference,
    and attribute inference about members beyond that about non-members.
    """

    nearest: Resemblance | None = None
    inference: Resemblance | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for JSON and the HTML page."""
        claim, bounds = self.manifest.claim, bounds_of(self.manifest.claim)
        return {
            **super().to_dict(),
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "does_not_apply": self.does_not_apply(),
            "drawn": {
                "nearest": self.nearest and self.nearest.to_dict(),
                "inference": self.inference and self.inference.to_dict(),
            },
            "membership_bound": {
                "auc": bounds.get("most_auc"),
                "tpr_at_5": bounds.get("most_recognized"),
                "accuracy_of_two": bounds.get("most_accuracy_of_two"),
            },
        }

    def does_not_apply(self) -> list[str]:
        """Return which measures of other releases do not apply."""
        likes = self.manifest.scale.unary
        return [_NOBODY_TO_FIND, _NO_GROUPS_OF_LIKES if likes else _NO_GROUPS]

    def headline(self) -> str:
        """Return membership inference and the guarantee in one sentence."""
        told = "membership inference was not measured"
        if self.membership is not None:
            told = "membership inference was not measured, as there are too few users"
        if (found := self.best_membership) is not None:
            who, auc = found
            told = (
                f"membership is inferred with AUC {auc.rate:.2f} ({auc.low:.2f} to "
                f"{auc.high:.2f}; 0.5 is a coin) from one release by an adversary {who}"
            )
        return f"No record of the release belongs to a user; {told}; {_promise(self.manifest)}."

    def told(self) -> list[Statement]:
        """Return the findings, and what does not apply, as statements."""
        drawn = [_FROM_MODEL] if self.manifest.layout == "model" else []
        first = [Statement(each) for each in (*self.does_not_apply(), *drawn, *self.warnings())]
        return [*first, *self.about_membership(), *map(Statement, self._of_synthetic_users())]

    def _of_synthetic_users(self) -> list[str]:
        """Describe what the guarantee allows, what synthetic users reveal, and known attacks."""
        told = []
        if bounds := bounds_of(self.manifest.claim):
            told.append(
                f"For every adversary, if the noise was drawn as the ledger states: a test whether "
                f"a given user was in the data has an AUC of at most {bounds['most_auc']:.3f} and "
                f"detects the user with at most {bounds['most_recognized']:.1%} at 5 % false "
                f"alarms; of two users, it names the one in the data with a probability of at most "
                f"{bounds['most_accuracy_of_two']:.3f}."
            )
        told += [] if self.nearest is None else [_describe_nearest(self.nearest)]
        told += [] if self.inference is None else [_describe_inference(self.inference)]
        method = self.manifest.known_method
        return told + ([] if method is None else list(method.undone_by(self.manifest.settings)))

    def _facts(self) -> dict[str, object]:
        return {
            "claim": self.manifest.claim.kind,
            "epsilon": self.manifest.claim.epsilon,
            "looked for": "nobody: no record is anybody's",
        }


def attack_drawn(
    ratings: Ratings,
    table: ReleasedTable | None,
    manifest: Manifest,
    seed: int = 0,
    *,
    name: str = "release",
    anonymizer: Anonymizer | None = None,
) -> AttackedDrawn:
    """Measure membership and attribute inference on a release of synthetic users."""
    if manifest.contains_users if table is None else table.contains_users:
        raise RecveilError(
            "the records of this release are people's, who can be looked for; attack it with "
            "attack_table",
            code="release.unsupported",
        )
    found: dict[str, Any] = {}
    unmeasured = ""
    if anonymizer is not None:
        try:
            held_out = hold_out(ratings, anonymizer, seed=seed)
            told = infer_memberships(ratings, held_out, {_STRONGEST: _WHO, **KNOWN}, seed)
            found = {
                "membership": told.pop(_STRONGEST),
                "by_known": told,
                "nearest": score_nearest(ratings, held_out, _WHO, seed),
            }
            if not ratings.is_unary:  # likes have no order of preference to infer
                found["attributes"] = infer_attributes(ratings, held_out, _WHO, seed)
                found["inference"] = infer_embeddings(ratings, held_out, _WHO, seed)
        except RecveilError as error:  # four fifths of the users may be too few
            unmeasured = str(error)
    return AttackedDrawn(
        name=name,
        manifest=manifest,
        attacks=[],
        membership=found.pop("membership", None),
        lone_share=None,
        unmeasured=unmeasured,
        **found,
    )


def _promise(manifest: Manifest) -> str:
    claim = manifest.claim
    if claim.epsilon is None or claim.delta is None:
        return "the release makes no promise about membership"
    return (
        f"the promise is epsilon {claim.epsilon:g} with delta {claim.delta:g}, where neighbouring "
        f"tables differ by one user"
    )


def _describe_nearest(told: Resemblance) -> str:
    """Describe how much of the nearest synthetic record is true, for members and non-members."""
    what = "An adversary who takes the best matching synthetic record for the target's own"
    if not told.has_guessed:
        return _no_attack(what, told)
    return (
        f"{what} is right about {told.members.mean:.1%} of its other items for members, and "
        f"{told.strangers.mean:.1%} for users who are not in the data: {_excess(told)}"
    )


def _describe_inference(told: Resemblance) -> str:
    """Describe how well preferences are inferred, for members and non-members."""
    what = "An adversary who learns from the whole release which items go together"
    if not told.has_guessed:
        return _no_attack(what, told)
    return (
        f"{what} infers whether a user liked another item more than most did, and is right in "
        f"{told.members.mean:.1%} of cases for members, and in {told.strangers.mean:.1%} for "
        f"users who are not in the data: {_excess(told)}"
    )


def _no_attack(what: str, told: Resemblance) -> str:
    return (
        f"{what}: {NO_ATTACK}. It guessed nothing about "
        f"{describe_count(told.members.trials, 'member')} and "
        f"{describe_count(told.strangers.trials, 'user')} outside the data, which is no evidence "
        f"that the release reveals nothing."
    )


def _excess(told: Resemblance) -> str:
    excess = told.excess
    points = (
        f"being in the data adds {100 * excess.mean:.1f} points ({100 * excess.low:.1f} to "
        f"{100 * excess.high:.1f})"
    )
    if excess.low > 0:
        return f"{points}."
    return f"{points}, which is no evidence that the release reveals nothing."
