"""What the fast and the slow tests of `test_audit_page.py` share."""

import html
import json
import math
import re

import numpy as np
import pytest

from recveil.attacks import PRESETS, Candidates, Interval, Mean, ReleaseAttack
from recveil.attacks.reidentification.on_release import RatingErrors
from recveil.auditing import Audit, Check, Risk, Sufficient, draw_figures, run_attack
from recveil.auditing.release_attacks import AttackedRelease
from recveil.io import Reading
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest

RATE = Interval(0.1234, 0.1012, 0.1456, 300)
NO_MEAN = Mean(math.nan, math.nan, math.nan, 0)
ATTACK = ReleaseAttack(
    attack="likelihood",
    requested=300,
    skipped=20,
    class_reidentified=RATE,
    reidentified=Interval(0.0617, 0.03, 0.095, 300),
    baseline=1 / 300,
    class_baseline=0.02,
    bound=0.1,
    link_precision=Mean(0.314, 0.3, 0.33, 280),
    link_baseline=NO_MEAN,
    rating_errors=RatingErrors(0.93, 0.7, math.nan, math.nan, NO_MEAN, 0, 0),
    exact=Interval(math.nan, 0.0, 1.0, 0),
    by_attack={},
)


@pytest.fixture(scope="module")
def audited(invented: Ratings) -> Audit:
    """An audit of three hundred invented users, with a release."""
    candidates, targets = Candidates.from_ratings(invented), np.arange(60)
    release = PredictiveAnonymizer(10, seed=1).anonymize(invented)
    attacks = [run_attack(invented, candidates, preset, targets) for preset in PRESETS.values()]
    return Audit(
        ratings=invented,
        reading=Reading(invented, "invented.csv"),
        attacks=attacks,
        figures=draw_figures(invented, candidates, targets),
        checks=[
            Check("unique-users", True, {"unique": 300, "targets": 300, "missed": 0}),
            Check("random-knowledge", False, {"rate": 0.099, "baseline": 0.003}),
        ],
        sufficient=[Sufficient("colleague", 0.5, 37), Sufficient("colleague", 0.9, None)],
        risk=Risk(
            np.repeat([0.2, 0.7, np.nan], [180, 113, 7]),
            np.repeat(np.array(["colleague", None], object), [293, 7]),
            10,
        ),
        suspects=[],
        published=AttackedRelease(
            name="masked",
            manifest=Manifest.of(release.published),
            attacks=[(PRESETS["colleague"], ATTACK)],
            membership=None,
            lone_share=None,
        ),
    )


@pytest.fixture(scope="module")
def result(audited: Audit) -> dict:
    return json.loads(json.dumps(audited.to_dict()))


@pytest.fixture(scope="module")
def page(audited: Audit) -> str:
    return audited.to_html()


def _text(page: str) -> str:
    """What a reader sees, charts included: without tags, each blank once."""
    body = page[page.index("<body>") :]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
