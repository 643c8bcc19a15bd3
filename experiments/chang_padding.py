"""Chang et al., section 7: the degree of padding, which they leave to future work.

    python experiments/chang_padding.py path/to/ml-100k

Compares rows of five users with degrees of padding from simple (0) to padded (1): the lists and
predicted ratings that they retain of raw ratings, the users whom the strongest adversary finds, and
membership by the best adversary.
"""

from pathlib import Path

from page import Row, main

from recveil.comparison import Row as Setting
from recveil.comparison import compare
from recveil.ratings import RatingScale
from recveil.report.comparison.charts import padding_of

TITLE = "Chang et al., section 7: utility and risk against the degree of padding, k = 5"
READING = (
    "A degree of 0.25 publishes the items that somebody of a group rated, and a quarter of the "
    "others: those that most likely were. A fifth of each person's ratings is held out."
)
AXES = ("degree of padding", "share or AUC")
MEASURES = {
    "lists retained": ("ndcg_retained", ".1%"),
    "ratings retained": ("gain_retained", ".1%"),
    "users re-identified": ("risk", ".1%"),
    "membership (AUC)": ("membership_auc", ".2f"),
}


def run(folder: Path) -> list[Row]:
    """Compare all degrees."""
    found = compare(folder / "u.data", methods=["padding"], k=5, scale=RatingScale(1, 5, 1))
    return [_row(setting, name) for name in MEASURES for setting in found.rows]


def _row(setting: Setting, name: str) -> Row:
    field, form = MEASURES[name]
    value, low, high = (getattr(setting, f"{field}{end}") for end in ("", "_low", "_high"))
    interval = None if low is None or high is None else (low, high)
    label = f"padding {padding_of(setting.method):g}: {name}"
    degree = padding_of(setting.method)
    return Row(label, value, form=form, interval=interval, series=name, x=degree)


if __name__ == "__main__":
    main(run, __doc__)
