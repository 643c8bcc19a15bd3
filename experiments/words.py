"""Words without an order: MovieLens 100K cut to down, meh and up, through all verbs.

    python experiments/words.py path/to/ml-100k

Makes, verifies and attacks releases by both ways of `--method nominal` with k = 5 and seed 0, and
one in which all users are one group; then compares settings, with "up" for liked.
"""

import tempfile
from operator import attrgetter
from pathlib import Path

from likes import strongest_rates
from page import Row, main

from recveil.attacks.statistics import Interval
from recveil.auditing import audit
from recveil.comparison import compare
from recveil.comparison.rows import Row as Setting
from recveil.io import read_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale

TITLE = "Words without an order: MovieLens 100K cut to down, meh and up"
READING = (
    "Not of a paper: 1 and 2 stars are read as *down*, 3 as *meh*, 4 and 5 as *up*, and these as "
    "words without an order (`--words down,meh,up`). *Found*: by the strongest adversary of the "
    "audit, who looks for everybody by items with the very words; beside it the same with the "
    "stars and dates. A claim of k-anonymity holds if the checker confirms it from the files and "
    "nobody is found more often than once in five. Members and strangers as in threats.md; AUC "
    "0.5 is a coin; shadows: by 32 releases of halves of the users, beside what exact counts of "
    "who gave which word would tell. *Compared* (`recveil compare --liked up`): a fifth of "
    "everybody's words held out. *Predicted correctly*: by a recipient who trains on "
    "the release and knows the user's other words; *kept*: the share of what raw words gain over "
    "each item's commonest word. *Own row*: how many more held-out words than commonest words are "
    "in users' own rows. Lists: what is kept of the nDCG@10 of the best lists of liked items "
    "on the raw words. All as means over users."
)
NEXT_TO = "with stars"
AXES = None
SCALE = RatingScale.of_labels("down,meh,up", ordered=False)
K, KS, SEED, SHADOWS = 5, (5, 20), 0, 32
_RATE, _ENDS = attrgetter("rate"), ("", "_low", "_high")


def run(folder: Path) -> list[Row]:
    """Return what the verbs say of words, and of releases of them."""
    stars = read_ratings(folder / "u.data")
    said = [SCALE.labels[int(star > 2) + int(star > 3)] for star in stars.values]
    of_whom = stars.users[stars.user_positions()], stars.items[stars.indices]
    words = Ratings.from_columns(*of_whom, said, scale=SCALE)
    found, next_to = (
        max((one.reidentified for one in audit(each, curves=False, seed=SEED).attacks), key=_RATE)
        for each in (words, stars)
    )
    rows = [
        _share("the table with names removed: re-identified", found)._replace(paper=next_to.rate)
    ]
    with tempfile.TemporaryDirectory() as work:
        for homogenize in ("commonest", "shares"):
            rows += _of_release(words, homogenize, Path(work, homogenize))
        rows.append(_of_all_users(words, Path(work, "everybody")))
        methods = ["raw", "nominal", "nominal-shares"]
        options = {"methods": methods, "k": KS, "seed": SEED, "shadows": SHADOWS, "liked": "up"}
        for setting in compare(words, Path(work, "compared"), **options).rows:
            rows += _of_setting(setting)
    return rows


def _of_release(words: Ratings, homogenize: str, out: Path) -> list[Row]:
    """Make a release, verify it, and attack it."""
    made = anonymize(words, out, k=K, method="nominal", homogenize=homogenize, seed=SEED)
    attacked = audit(words, release=out, curves=False, seed=SEED).published
    (one_user, group), of = strongest_rates(attacked), f"{homogenize}, k = {K}"
    holds = bool(made.verification.holds and one_user.low <= 1 / K)
    claim = _share(f"claim: {of}: user re-identified, at most 1/{K}", one_user)._replace(
        holds=holds
    )
    members = [
        _share(f"{of}: members, {name} known (AUC)", result.auc)._replace(form=".2f")
        for name, result in attacked.by_known.items()
    ]
    return [_share(f"{of}: group inferred", group), claim, *members]


def _of_all_users(words: Ratings, out: Path) -> Row:
    """Make all users one group: a rate above a random guess would be a fault of the attacks."""
    anonymize(words, out, k=words.n_users, method="nominal", seed=SEED)
    attacked = audit(words, release=out, curves=False, seed=SEED).published
    found = max((each.reidentified for _, each in attacked.attacks), key=_RATE)
    row = _share(
        "claim: user re-identified in one group of all users: at most 1/943",
        found,
    )
    return row._replace(form=".2%", holds=found.rate <= 1 / words.n_users + 1e-9)


def _of_setting(row: Setting) -> list[Row]:
    """Return what a comparison reports of one setting."""
    of = f"compared, {row.title}"
    result = {
        "words predicted correctly": (
            "nominal_accuracy",
            "nominal_accuracy_low",
            "nominal_accuracy_high",
        ),
        "words kept": ("gain_retained", "gain_retained_low", "gain_retained_high"),
        "own row over commonest words": tuple(f"row_accuracy_gain{end}" for end in _ENDS),
        "lists kept": ("ndcg_retained", "ndcg_retained_low", "ndcg_retained_high"),
        "shadows (AUC)": ("shadow_auc", "shadow_auc_low", "shadow_auc_high"),
    }
    rows = [
        _share(f"{of}: {name}", Interval(*(getattr(row, each) for each in measures), 0))
        for name, measures in result.items()
    ]
    rows[-1] = rows[-1]._replace(form=".2f")
    if row.method != "raw":
        return rows
    del rows[2]  # a raw row without a word is no worse predicted for that
    counts = "compared, exact counts of items with words instead: shadows (AUC)"
    rows.append(Row(counts, row.shadow_auc_baseline, form=".2f"))
    floor = "compared, each item's commonest word: predicted correctly"
    return [*rows, Row(floor, row.baseline_nominal_accuracy, form=".1%")]


def _share(label: str, found: Interval) -> Row:
    return Row(label, found.rate, form=".1%", interval=(found.low, found.high))


if __name__ == "__main__":
    main(run, __doc__)
