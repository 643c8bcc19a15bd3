"""What the fast and the slow tests of `test_audit_page.py` share."""

import html
import json
import re

import numpy as np
import pytest

from recveil.attacks import PRESETS, Candidates
from recveil.auditing import draw_figures, run_attack
from recveil.ratings import Ratings
from recveil.report import audit_page

RATE = {"rate": 0.1234, "low": 0.1012, "high": 0.1456, "trials": 300}


@pytest.fixture(scope="module")
def result(invented: Ratings) -> dict:
    """What an audit of three hundred invented people returns, as JSON carries it."""
    candidates, targets = Candidates.from_ratings(invented), np.arange(60)
    attacks = [run_attack(invented, candidates, preset, targets) for preset in PRESETS.values()]
    figures = draw_figures(invented, candidates, targets)
    found = {
        "data": {
            "users": invented.n_users,
            "items": invented.n_items,
            "ratings": invented.n_ratings,
            "density": invented.density,
            "scale": str(invented.scale),
            "times": True,
            "source": "invented.csv",
        },
        "attacks": [outcome.to_dict() for outcome in attacks],
        "figures": [figure.to_dict() for figure in figures],
        "checks": [
            {"name": "full knowledge finds everyone", "holds": True, "measured": "300 of 300"},
            {"name": "random knowledge finds nobody", "holds": False, "measured": "rate 9.9%"},
        ],
        "sufficient": [
            {"adversary": "colleague", "share": 0.5, "known": 37},
            {"adversary": "colleague", "share": 0.9, "known": None},
        ],
        "risk": {
            "users_by_adversary": {"colleague": 300},
            "users_not_attacked": 7,
            "draws": 10,
            "bins": [
                {"low": 0.0, "high": 0.5, "users": 181},
                {"low": 0.5, "high": 1.0, "users": 119},
            ],
        },
        "release": {
            "name": "masked",
            "claim": "identical-rows",
            "k": 5,
            "layout": "groups",
            "attacks": [
                {
                    "name": "colleague",
                    "description": "Talks with you.",
                    "targets_requested": 300,
                    "targets_attacked": 280,
                    "targets_skipped": 20,
                    "class_reidentified": RATE,
                    "reidentified": {"rate": 0.0617, "low": 0.03, "high": 0.095, "trials": 300},
                    "baseline": 1 / 300,
                    "bound": 0.1,
                    "link_precision": 0.314,
                    "link_baseline": None,
                    "rating_rmse": 0.93,
                    "item_mean_rmse": None,
                    "exact_share": None,
                }
            ],
            "headline": "In the release, 6.2% of the users are found.",
            "verdict": ["“colleague” finds 6.2%.", "20 are skipped.", "Members: AUC 0.531."],
            "warnings": ["20 are skipped."],
        },
        "verdict": ["Most people are found again.", "Four ratings suffice."],
        "warnings": ["One check failed."],
        "theory": [{"epsilon": 0.01, "delta": 0.1, "items": 1234, "text": "so many entries"}],
    }
    return json.loads(json.dumps(found))


@pytest.fixture(scope="module")
def page(result: dict) -> str:
    return audit_page(result)


def _text(page: str) -> str:
    """What a reader sees, charts included: without tags, each blank once."""
    body = page[page.index("<body>") :]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
