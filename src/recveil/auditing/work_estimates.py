"""Relative work of the parts of an audit, for progress reports.

All times are in microseconds on one core, measured on MovieLens 100K. Only their ratios matter.
"""

from recveil.attacks import ReleasedTable
from recveil.attacks.reidentification.residuals import n_fitted_cells
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.records import hides_items

# Parts of an audit, and their time per rating: an adversary's search of the table, and a release of
# half of the users.
READING, SHADOWS, RELEASE = "Reading ratings", "Making shadow releases", "Attacking the release"
TARGETS, CURVES, SUFFICIENT = "Attacking targets", "Drawing curves", "Counting known ratings"
RISK, CHECKS, GRAPHS = "Measuring the risk", "Checking the attack", "Matching graphs"
SIMILARITY = "Measuring similarity"
_OF_CURVES = {CURVES: 20.0, SUFFICIENT: 6.0, RISK: 2.0}
_ALWAYS = {CHECKS: 3.0, GRAPHS: 1.0, SIMILARITY: 4.0}
_AN_ADVERSARY, _A_SHADOW, _DRAWN = 0.4, 25.0, 8.0

# Parts of an attack on a release, in searches of an adversary; and the time of such a search per
# value or rating.
FILLS, MEMBERS, CELLS = "Inferring fills", "Inferring membership", "Fitting all rows"
HELD_OUT = "Making a release without some users"
CONTENT, HIDDEN = "Measuring the cells", "Re-identifying items"
_SEARCHES = {HELD_OUT: 3.0, MEMBERS: 3.0, CELLS: 2.0}
_OF_CONTENT = {CONTENT: 0.5}
_CO_RATED = {HELD_OUT: 1.0, MEMBERS: 1.0, CELLS: 0.0}
_CO_RATED_CONTENT = {FILLS: 8.0, CONTENT: 16.0}
_OF_NAMING = 27.0
_A_SEARCH = 1.5
# Fits of all rows, per cell of full rows: of the release, of the release without some users, and
# the attacks based on them.
_FITS = {CELLS: 25.0, HELD_OUT: 11.0, MEMBERS: 4.0}


def of_audit(
    ratings: Ratings,
    n_adversaries: int,
    draws: int,
    *,
    curves: bool,
    n_shadows: int = 0,
    release: float = 0.0,
) -> dict[str, float]:
    """Return the time of each part of an audit, in order."""
    each = {
        TARGETS: _AN_ADVERSARY * n_adversaries * draws,
        **(_OF_CURVES if curves else dict.fromkeys(_OF_CURVES, 0.0)),
        **_ALWAYS,
    }
    return {
        SHADOWS: _A_SHADOW * ratings.n_ratings * n_shadows,
        RELEASE: release,
        **{part: cost * ratings.n_ratings for part, cost in each.items()},
    }


def of_attack(
    ratings: Ratings,
    table: ReleasedTable | None,
    manifest: Manifest,
    n_adversaries: int,
    *,
    has_content: bool,
) -> dict[str, float]:
    """Return the time of each part of an attack on a release, in order."""
    if table is None or not table.contains_users:
        return {MEMBERS: _DRAWN * ratings.n_ratings}
    searches = {TARGETS: float(n_adversaries), **(_CO_RATED if table.co_rated else _SEARCHES)}
    if has_content:
        searches |= _CO_RATED_CONTENT if table.co_rated else _OF_CONTENT
        searches |= {HIDDEN: _OF_NAMING if hides_items(manifest.settings) else 0.0}
    order = (FILLS, CELLS, TARGETS, HELD_OUT, MEMBERS, CONTENT, HIDDEN)
    # A release with few rows of many users takes as long as the ratings used to attack it.
    size = max(table.indices.size, ratings.n_ratings)
    cells = n_fitted_cells(table.candidates, ratings.scale)
    return {
        part: _A_SEARCH * size * searches.get(part, 0.0) + cells * _FITS.get(part, 0.0)
        for part in order
    }
