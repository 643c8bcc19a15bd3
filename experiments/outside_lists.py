"""Lists that others' recommenders make of our releases, next to lists that ours make.

    pip install "recveil[bench]"
    python experiments/outside_lists.py path/to/ml-100k

Needs cornac and implicit. Releases of the training part of MovieLens 100K (fold u1) are given to
recommenders that were not written here; the same users are served by them, and judged by the same
held-out ratings. So are ml-latest-small (ratings.csv), FilmTrust (ratings.txt) and MovieLens 1M
(the raw ratings alone), if their folders ml-latest-small, filmtrust and ml-1m lie next to the one
that is given; a fifth of all users' ratings is held out there.
"""

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from page import Row, main
from scipy import sparse

from recveil.attacks import AttackTarget
from recveil.evaluation import (
    Split,
    TrainingTable,
    UserRows,
    fit_all,
    kendall_tau,
    list_items,
    match_held_out,
    ndcg,
    relevant_items,
    serve,
    split_ratings,
)
from recveil.evaluation.ranking_metrics import relevance_threshold
from recveil.io import read_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.ratings import Ratings

TITLE = "Lists made by others' recommenders"
READING = (
    "Not of a paper: cornac's EASE (weights of either sign, strengths 100 and 500) and implicit's "
    "item similarities (cosine, BM25; 100 neighbours) and alternating least squares (64 factors), "
    "each on the labels and on what is liked, learn from the same releases as ours. As they take "
    "long, least squares are left out on padded rows, and strength 100 beyond 5,000 items. People "
    "are served from their own training ratings. Figures are nDCG@10 of the same held-out ratings; "
    "*outside* is the best of theirs, ours is that of the recommender that a recipient would choose"
    " without the held-out ratings. An order agrees if the best of the settings that are no raw "
    "data is the same; Kendall's tau compares the whole order, 1 being the same. Of MovieLens 1M, "
    "the raw ratings alone are served. Ours is as strong if its 95 % interval over people reaches "
    "the outside figure."
)
NEXT_TO = "outside"
AXES = None

Numbers = NDArray[np.float64]
Learn = Callable[[sparse.csr_array, sparse.csr_array], Numbers]
_STRENGTHS = (100.0, 500.0)
_DRAWS = 1_000
# Of more items than this, EASE is run with one strength alone: each takes a minute and more.
_MANY_ITEMS = 5_000


class Judge(NamedTuple):
    """Users to be served, and their held-out ratings."""

    all_users: UserRows
    relevant: UserRows
    split: Split

    @classmethod
    def of(cls, split: Split) -> "Judge":
        """Take those users of a split of whom something is held out."""
        users = np.unique(split.test.users)
        threshold = relevance_threshold(split.train.scale)
        relevant = relevant_items(split.test, users, threshold)
        return cls(UserRows.from_ratings(split.train).take(users), relevant, split)

    def ndcg(self, scores: Numbers) -> Numbers:
        """Return the nDCG@10 of all users' list."""
        return ndcg(list_items(scores, self.all_users), self.relevant)


class Served(NamedTuple):
    """What lists from one setting are worth."""

    setting: str
    ours: float
    interval: tuple[float, float]
    ranker: str
    outside: float
    by: str


def missing() -> str:
    """Say which packages are not there; empty if all are."""
    absent = [name for name in ("cornac", "implicit") if find_spec(name) is None]
    if not absent:
        return ""
    return f"{' and '.join(absent)} not installed: pip install 'recveil[bench]'"


def run(folder: Path) -> list[Row]:
    """Return each setting's lists, ours next to others', for all tables that are there."""
    rows = []
    for name, split, settings in tables(folder):
        judge = Judge.of(split)
        served = [serve_both(setting, make, judge) for setting, make in settings.items()]
        rows += [row for one in served for row in rows_of(name, one)]
        if len(served) > 1:
            rows += rows_of_order(name, served)
    return rows


Settings = dict[str, Callable[[Ratings], TrainingTable]]


def tables(folder: Path) -> Iterator[tuple[str, Split, Settings]]:
    """Yield each table's name, its split, and the settings that are compared on it."""
    train, test = (read_ratings(folder / f"u1.{end}", times=False) for end in ("base", "test"))
    yield "MovieLens 100K", Split(train, match_held_out(train, test).test), SETTINGS
    others = {"ml-latest-small": "ratings.csv", "filmtrust": "ratings.txt", "ml-1m": "ratings.csv"}
    for name, file in others.items():
        path = folder.parent / name / file
        if not path.is_file():
            print(f"left out, as {name}/{file} is not beside {folder.name}")
            continue
        ratings = read_ratings(path, times=False, duplicates="last")
        settings = {"raw": SETTINGS["raw"]} if name == "ml-1m" else SETTINGS
        yield NAMES[name], split_ratings(ratings, 0.2, seed=0), settings


NAMES = {
    "ml-latest-small": "ml-latest-small",
    "filmtrust": "FilmTrust",
    "ml-1m": "MovieLens 1M",
}


def released(anonymizer: PredictiveAnonymizer | KCoRater) -> Callable[[Ratings], TrainingTable]:
    """Return what turns ratings into what a recipient sees of their release."""

    def make(ratings: Ratings) -> TrainingTable:
        table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
        return TrainingTable.from_released(table, ratings.scale)

    return make


SETTINGS: Settings = {
    "raw": TrainingTable.from_ratings,
    "simple, k = 5": released(PredictiveAnonymizer(5, "simple", seed=0)),
    "padded, k = 5": released(PredictiveAnonymizer(5, "padded", seed=0)),
    "padded, k = 50": released(PredictiveAnonymizer(50, "padded", seed=0)),
    "k-coRating, k = 5": released(KCoRater(5, seed=0)),
}


def serve_both(setting: str, make: Callable[[Ratings], TrainingTable], judge: Judge) -> Served:
    """Serve users with what a release teaches, by our recommenders and by others'."""
    train, test = judge.split
    table = make(train)
    ours = serve(fit_all(table), UserRows.from_ratings(train), test)
    assert ours.per_user is not None  # noqa: S101  it serves some users
    lists = ours.per_user.ndcg[ours.ranker]
    result = {name: float(np.nanmean(judge.ndcg(s))) for name, s in outside_scores(table, judge)}
    by = max(result, key=result.__getitem__)
    return Served(
        setting, float(np.nanmean(lists)), interval_of(lists), ours.ranker, result[by], by
    )


def interval_of(lists: Numbers) -> tuple[float, float]:
    """Return the 95 % interval of a mean over users, by drawing them anew."""
    judged, rng = lists[~np.isnan(lists)], np.random.default_rng(0)
    means = [judged[rng.integers(judged.size, size=judged.size)].mean() for _ in range(_DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def outside_scores(table: TrainingTable, judge: Judge) -> Iterator[tuple[str, Numbers]]:
    """Yield the scores of others' recommenders, on labels and on what is liked."""
    rows = table.rows.take(np.repeat(np.arange(table.sizes.size), table.sizes))
    threshold = relevance_threshold(table.scale)
    for form in ("labels", "liked"):
        given, own = (
            part.matrix(table.n_items, None if form == "labels" else part.values >= threshold)
            for part in (rows, judge.all_users)
        )
        given, own = given.copy(), own.copy()
        for matrix in (given, own):
            matrix.eliminate_zeros()
        for name, learn in _able(table).items():
            # Their message that they transpose matrices is of no use here.
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield f"{name}, {form}", learn(given, own)


def by_ease(strength: float) -> Learn:
    """Return cornac's EASE: its item weights serve any user."""

    def learn(given: sparse.csr_array, own: sparse.csr_array) -> Numbers:
        from cornac.data import Dataset
        from cornac.models import EASE

        cells = given.tocoo()
        names = [dict(zip(range(n), range(n), strict=True)) for n in given.shape]
        data = Dataset(*given.shape, *names, (*cells.coords, cells.data))
        model = EASE(lamb=strength, posB=False, verbose=False).fit(data)
        return np.asarray(own @ np.asarray(model.B), np.float64)

    return learn


def by_similarity(name: str) -> Learn:
    """Return one of implicit's item similarities, summed over a user's items."""

    def learn(given: sparse.csr_array, own: sparse.csr_array) -> Numbers:
        from implicit import nearest_neighbours

        model = getattr(nearest_neighbours, name)(K=100, num_threads=1)
        model.fit(sparse.csr_matrix(given), show_progress=False)
        return np.asarray((own @ model.similarity).todense(), np.float64)

    return learn


def by_factors(given: sparse.csr_array, own: sparse.csr_array) -> Numbers:
    """Fold users into implicit's alternating least squares."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=64, random_state=0, num_threads=1)
    model.fit(sparse.csr_matrix(given).astype(np.float32), show_progress=False)
    all_users = sparse.csr_matrix(own).astype(np.float32)
    factors = model.recalculate_user(np.arange(own.shape[0]), all_users)
    return np.asarray(factors @ model.item_factors.T, np.float64)


PEERS: dict[str, Learn] = {
    **{f"cornac EASE ({strength:,.0f})": by_ease(strength) for strength in _STRENGTHS},
    "implicit cosine": by_similarity("CosineRecommender"),
    "implicit BM25": by_similarity("BM25Recommender"),
    "implicit ALS": by_factors,
}


def _able(table: TrainingTable) -> dict[str, Learn]:
    """Return the peers that end within a minute or so on a table, on one core."""
    able = dict(PEERS)
    if table.is_full:
        del able["implicit ALS"]
    if table.n_items > _MANY_ITEMS:
        del able["cornac EASE (100)"]
    return able


def rows_of(name: str, served: Served) -> Iterator[Row]:
    """Yield what lists from one setting are worth."""
    label = f"claim: {name}, {served.setting}: {served.ranker}; outside {served.by}"
    result = f"{name}, {served.setting}: {served.ours:.3f}, outside {served.outside:.3f}."
    holds = served.interval[1] >= served.outside
    yield Row(
        label, served.ours, served.outside, holds, result, form=".3f", interval=served.interval
    )


def rows_of_order(name: str, served: list[Served]) -> Iterator[Row]:
    """Yield whether the best setting is the same by our lists and by others', and the order."""
    ours, outside = ([getattr(one, side) for one in served[1:]] for side in ("ours", "outside"))
    best, theirs = (served[1 + int(np.argmax(side))].setting for side in (ours, outside))
    yield Row(
        f"claim: {name}: the order of the releases agrees on the best one ({best}); Kendall's tau",
        *(kendall_tau(ours, outside), None, best == theirs),
        f"{name}: the best release is {best} by ours, {theirs} by others'.",
        form=".2f",
    )


if __name__ == "__main__":
    main(run, __doc__, "u1.base", next_to=NEXT_TO)
