"""Again: an anonymizer that makes releases as the public settings of one say."""

from typing import Any

from recveil.anonymize.fills import FILLS
from recveil.anonymize.k_corating import KCoRater
from recveil.anonymize.parts import GROUPINGS
from recveil.anonymize.predictive import PredictiveAnonymizer
from recveil.release.anonymizer import Anonymizer

_PREDICTORS = {"FunkSVD": "funk-svd", "ItemMean": "item-mean"}


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
