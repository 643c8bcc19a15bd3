"""Again: an anonymizer that makes releases as the public settings of one say."""

from typing import Literal

from recveil.anonymize.drawing_options import AS_RATED
from recveil.anonymize.fills import FILLS
from recveil.anonymize.k_corating import KCoRater
from recveil.anonymize.parts import GROUPINGS, PREDICTORS, told
from recveil.anonymize.predictive import PredictiveAnonymizer
from recveil.anonymize.shared_words import SharedWords
from recveil.anonymize.sparse_rows import SparseRows
from recveil.anonymize.synthetic.synthesizer import Synthesizer
from recveil.release.manifest import Manifest
from recveil.release.settings import tells_likes


def predictive_again(manifest: Manifest, seed: int) -> PredictiveAnonymizer | None:
    """Return one for predictive anonymization; None if a part was somebody's own."""
    settings, claim = manifest.settings, manifest.claim
    # By the names under which releases tell of the parts that have their usual parameters.
    predictors = {told(make(0)): name for name, make in PREDICTORS.items()}
    groupings = {kind.__name__: name for name, kind in GROUPINGS.items()}
    predictor, grouping = settings["predictor"], settings["grouping"]
    if predictor not in predictors or grouping not in groupings:
        return None
    step = settings["label_step"]
    return PredictiveAnonymizer(
        claim.k,
        settings["homogenize"],
        predictors[predictor],
        groupings[grouping],
        round_labels="none" if step is None else step,
        b=claim.b,
        l=claim.l,
        labels=settings.get("labels", "rated"),
        seed=seed,
    )


def k_corating_again(manifest: Manifest, seed: int) -> KCoRater | None:
    """Return one for k-coRating; None if the fill, or who trusts whom, is not at hand."""
    settings = manifest.settings
    if tells_likes(settings):
        return KCoRater(manifest.claim.k, grouping=settings["grouping"], seed=seed)
    if settings["fill"] not in FILLS or settings.get("trust") == "stated":
        return None
    return KCoRater(
        manifest.claim.k,
        settings["fill"],
        settings["grouping"],
        round_fills=settings["round_fills"],
        protect=settings["protect"],
        seed=seed,
    )


def synthetic_again(manifest: Manifest, seed: int) -> Synthesizer:
    """Return one for synthetic people, with noise that the seed repeats.

    Which items there are, an adversary who makes such releases takes from their own people. Where
    somebody asked for so many people, as many are drawn.
    """
    claim, scale = manifest.claim, manifest.scale
    asked = manifest.settings["people"] == "asked for"
    grid: Literal["tenths", "whole"] | None = None
    if not scale.unary:
        is_whole = scale.step is not None and manifest.settings["label_step"] == scale.step
        grid = "whole" if is_whole else "tenths"
    return Synthesizer(
        claim.epsilon,
        1e-6 if claim.delta is None else claim.delta,
        people=manifest.counts.get("users") if asked else None,
        catalogue=None if manifest.settings["catalogue"] == "chosen" else AS_RATED,
        rating_grid=grid,
        seed=seed,
    )


def sparse_again(manifest: Manifest, seed: int) -> SparseRows:
    """Return one for sparse rows."""
    return SparseRows(manifest.claim.k, manifest.settings["crowd"], seed=seed)


def words_again(manifest: Manifest, seed: int) -> SharedWords | None:
    """Return one for words without an order; None if the grouping was somebody's own."""
    groupings = {kind.__name__: name for name, kind in GROUPINGS.items()}
    settings = manifest.settings
    if settings["grouping"] not in groupings:
        return None
    name = groupings[settings["grouping"]]
    return SharedWords(manifest.claim.k, settings["homogenize"], name, seed=seed)
