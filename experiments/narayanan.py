"""What the figures of Narayanan & Shmatikov share: the curves of the library, and their points."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from page import Row

from recveil.attacks import Adversary, Candidates, choose_targets, wilson_interval
from recveil.auditing.curves import Figure, Point, draw_figures
from recveil.auditing.table_attacks import run_attack
from recveil.io import read_ratings
from recveil.ratings import Ratings

# In MovieLens 1M so many users are looked for, drawn at random; in MovieLens 100K all 943.
MOST_TARGETS = 1_000
# Those with dates: MovieLens 100K, or the Netflix Prize data; and MovieLens 1M as user,item,rating.
NETFLIX = "combined_data_1.txt"
DATED = ("u.data", NETFLIX)
FILES = (*DATED, "ratings.csv")
NETFLIX_USERS, NETFLIX_ITEMS = 480_189, 17_770
MEASURES = (
    "'Matched' is the paper's measure: Scoreboard-RH's best guess leads by 1.5 standard "
    "deviations, and is right. 'Best attack' is what the better of Scoreboard-RH and the "
    "likeliest record finds, whatever the lead."
)


@cache
def ratings_of(folder: Path) -> Ratings:
    """Read the data set in a folder (`FILES`)."""
    file = next(file for file in FILES if (folder / file).is_file())
    return read_ratings(folder if file == NETFLIX else folder / file)


@cache
def figures_of(folder: Path) -> dict[str, Figure]:
    """Compute all of the library's curves, by the paper's number."""
    ratings = ratings_of(folder)
    targets = choose_targets(ratings.n_users, MOST_TARGETS, seed=0)
    figures = draw_figures(ratings, Candidates.from_ratings(ratings), targets)
    return {figure.number: _renamed(figure) for figure in figures}


def _renamed(figure: Figure) -> Figure:
    """Name the series as measured.csv does."""
    points = [
        replace(
            one, series=one.series.replace("eccentricity ≥ 1.5", "matched").replace("50%", "50 %")
        )
        for one in figure.points
    ]
    return replace(figure, points=points)


def bits_of_all_users(folder: Path) -> float:
    """Return how many bits an adversary without information needs to re-identify a user."""
    return float(np.log2(ratings_of(folder).n_users))


def point(figure: Figure, series: str, x: str) -> Point:
    """Find a point of a curve."""
    return next(one for one in figure.points if (one.series, one.x) == (series, x))


def of_attacked(folder: Path, one: Point) -> Point:
    """Turn a share of all who were looked for into one of those with enough ratings."""
    if not one.attacked:
        return one
    requested = min(ratings_of(folder).n_users, MOST_TARGETS)
    share = wilson_interval(min(one.y * requested, one.attacked), one.attacked)
    return Point(one.series, one.x, share.rate, share.low, share.high, one.attacked)


def row(one: Point, form: str = ".1%", paper: float | None = None, label: str = "") -> Row:
    """Write a point as a line of the table."""
    interval = None if one.low is None or one.high is None else (one.low, one.high)
    text = label or f"{one.x}, {one.series}"
    return Row(text, one.y, paper, form=form, interval=interval)


def chart(figure: Figure, panels: dict[str, str] | None = None) -> list[Row]:
    """Return all points of a figure for its chart; `panels` splits the series by their ends."""
    rows = []
    for one in figure.points:
        ends = [end for end in panels or {} if one.series.endswith(end)]
        if panels and not ends:
            continue
        series = one.series.removesuffix(ends[0]) if ends else one.series
        panel = (panels or {}).get(ends[0], "") if ends else ""
        rows.append(Row("", one.y, series=series, x=one.x, panel=panel))
    return rows


BOTH = {", matched": "matched", ", best attack": "best attack"}
IN_WORDS = "right entries of known ones"


def share_found(folder: Path, adversary: Adversary) -> tuple[Point, Point]:
    """Attack with an adversary of one's own: who matched, and whom the best attack finds."""
    ratings = ratings_of(folder)
    targets = choose_targets(ratings.n_users, MOST_TARGETS, seed=0)
    outcome = run_attack(ratings, Candidates.from_ratings(ratings), adversary, targets)
    x = f"{adversary.n_right} of {adversary.known}"
    shares = (outcome.success, outcome.reidentified)
    stands_out, found = (
        of_attacked(folder, Point(name, x, share.rate, share.low, share.high, outcome.attacked))
        for name, share in zip(("matched", "best attack"), shares, strict=True)
    )
    return stands_out, found
