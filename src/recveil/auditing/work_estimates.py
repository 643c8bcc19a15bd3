"""Relative work of the parts of an audit, in microseconds on one core as measured on MovieLens."""

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import AttackTarget
from recveil.attacks.inference.fill_detection import effort_of_strikes
from recveil.attacks.inference.fills import KNOWN_SHARES, costs_by_known, costs_by_shadow, too_large
from recveil.attacks.membership.inference import MOST_SCORED
from recveil.attacks.reidentification.clusters import has_sparse_classes
from recveil.attacks.reidentification.residuals import levels_of, n_fitted_cells
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.records import hides_items

# Parts of an audit, and their time per target of a search.
READING, SHADOWS, RELEASE = "Reading ratings", "Making shadow releases", "Attacking the release"
TARGETS, CURVES, SUFFICIENT = "Attacking targets", "Drawing curves", "Counting known ratings"
RISK, CHECKS, GRAPHS = "Measuring the risk", "Checking the attack", "Matching graphs"
SIMILARITY, ATTRIBUTES = "Measuring similarity", "Inferring attributes"
_OF_CURVES = {CURVES: 1_000.0, SUFFICIENT: 300.0}
_ALWAYS = {CHECKS: 100.0, GRAPHS: 40.0, SIMILARITY: 150.0}
_AN_ADVERSARY = 18.0
# Time per rating: of each user's risk, of a release of half of the users, and of an attribute.
_A_RISK, _A_SHADOW, _AN_ATTRIBUTE = 2.0, 25.0, 20.0
# Records with an item that take as long as all else in a search for a target.
_FEW_RECORDS = 250.0

# Parts of an attack on a release.
STRIKES, FILLS, CELLS = "Detecting fills", "Inferring fills", "Fitting all rows"
ALL_KNOWN = "Inferring classes"
HELD_OUT, HELD_OUT_CELLS = "Making a release without some users", "Fitting its rows"
MEMBERS, CONTENT = "Inferring membership", "Measuring the cells"
HIDDEN = "Re-identifying items"
# Time per target of a search and of a co-rated release, where each is repeated without the fills,
# and per record with an item; the same for membership, per user and
# per known rating and record, also if full rows are fitted; and per rating or value.
_A_SEARCH, _A_CO_RATED_SEARCH, _A_RECORD = 150.0, 250.0, 0.5
_A_MEMBER, _A_KNOWN_RECORD, _A_FITTED_RECORD = 800.0, 0.01, 0.04
_A_HELD_OUT, _A_CONTENT = 2.0, 1.0
# Time per rating level of each fitted cell of full rows: of the fits with all users and without
# some, and to compare ratings with a fit.
_A_FIT, _A_FIT_HELD_OUT, _A_COMPARISON = 3.4, 1.0, 0.2
# Time per pair of a target, all of whose ratings are known, and a record.
_A_SCORE = 5.0
# Time of attacks on synthetic users, per rating and per user whose membership is inferred.
_A_HELD_OUT_MODEL, _A_MEMBER_OF_MODEL = 20.0, 2_000.0
_OF_NAMING = 40.0


def of_audit(
    ratings: Ratings,
    n_adversaries: int,
    n_targets: int,
    draws: int,
    *,
    curves: bool,
    n_shadows: int = 0,
    n_attributes: int = 0,
    release: float = 0.0,
) -> dict[str, float]:
    """Return the time of each part of an audit, in order."""
    search = n_targets * (1.0 + _typical_size(ratings.support) / _FEW_RECORDS)
    of_curves = {part: cost * search * curves for part, cost in _OF_CURVES.items()}
    return {
        SHADOWS: _A_SHADOW * ratings.n_ratings * n_shadows,
        RELEASE: release,
        TARGETS: _AN_ADVERSARY * search * n_adversaries * draws,
        **of_curves,
        RISK: _A_RISK * ratings.n_ratings * curves,
        **{part: cost * search for part, cost in _ALWAYS.items()},
        ATTRIBUTES: _AN_ATTRIBUTE * ratings.n_ratings * n_attributes,
    }


def of_attack(
    ratings: Ratings,
    table: AttackTarget | None,
    manifest: Manifest,
    n_adversaries: int,
    n_targets: int,
    *,
    has_content: bool,
) -> dict[str, float]:
    """Return the time of each part of an attack on a release, in order."""
    if table is None or not table.contains_users:
        return of_synthetic(ratings)
    candidates = table.candidates
    n_records = _typical_size(np.diff(candidates.indptr))
    a_search = _A_CO_RATED_SEARCH if table.co_rated else _A_SEARCH
    search = n_targets * (a_search + _A_RECORD * n_records)
    activity = ratings.n_ratings / max(ratings.n_users, 1)
    n_scored = min(ratings.n_users, 2 * MOST_SCORED)
    fitted = n_fitted_cells(candidates, ratings.scale) * levels_of(ratings.scale).size
    a_record = _A_FITTED_RECORD if fitted else _A_KNOWN_RECORD
    costs = {
        STRIKES: effort_of_strikes(candidates, ratings.scale) if table.co_rated else 0.0,
        FILLS: 0.0,
        CELLS: _A_FIT * fitted,
        TARGETS: search * n_adversaries + _A_COMPARISON * fitted,
        ALL_KNOWN: 0.0,
        HELD_OUT: _A_HELD_OUT * ratings.n_ratings,
        HELD_OUT_CELLS: _A_FIT_HELD_OUT * fitted,
        MEMBERS: n_scored * (_A_MEMBER + a_record * activity * n_records) + _A_COMPARISON * fitted,
        CONTENT: _A_CONTENT * candidates.codes.size if has_content else 0.0,
        HIDDEN: 0.0,
    }
    if has_sparse_classes(table):
        costs[ALL_KNOWN] = _A_SCORE * n_targets * candidates.n_records
    if has_content and table.co_rated and not too_large(candidates):
        real = min(1.0, ratings.n_ratings / max(candidates.codes.size, 1))
        costs[FILLS] = sum(costs_by_shadow(candidates).values())
        costs[CONTENT] += len(KNOWN_SHARES) * sum(costs_by_known(candidates, real).values())
    if has_content and hides_items(manifest.settings):
        costs[HIDDEN] = _OF_NAMING * max(candidates.codes.size, ratings.n_ratings)
    return costs


def of_synthetic(ratings: Ratings) -> dict[str, float]:
    """Return the time of each part of the attacks on synthetic users, in order."""
    n_scored = min(ratings.n_users, 2 * MOST_SCORED)
    return {
        HELD_OUT: _A_HELD_OUT_MODEL * ratings.n_ratings,
        MEMBERS: _A_MEMBER_OF_MODEL * n_scored,
    }


def _typical_size(support: NDArray[np.int64]) -> float:
    """Return the mean number of records with the item of a value.

    >>> _typical_size(np.array([3, 1]))
    2.5
    """
    return float((support.astype(np.float64) ** 2).sum() / max(support.sum(), 1))
