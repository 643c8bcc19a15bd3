"""Calls that a user of pandas or scikit-learn types without reading docs.

Each is an expression; `rv` is recveil, `df` a frame with user_id, item_id and rating, `R` a Ratings
of it, `rel` a fresh release of R, `out` the path of a written release, `a` an audit of R, `v` a
verification of `out`.
"""

import os
import warnings
from pathlib import Path

import recveil as rv
from recveil.datasets import make_ratings
from recveil.runtime.errors import RecveilError

CALLS = """
rv.read("ratings.csv")
rv.read(df)
rv.inspect(df)
rv.audit(df)
rv.audit("ratings.csv")
rv.audit(R, targets=20)
rv.anonymize(df, k=5)
rv.anonymize("ratings.csv", k=5)
rv.anonymize(R, epsilon=3, scale="1:5:1", item_catalog="as-rated")
rv.anonymize(df, k=5, output="o1")
rv.verify(out)
rv.verify(rel)
rv.evaluate(df, rel)
rv.evaluate("ratings.csv", out)
rv.evaluate("ratings.csv", release=out)
rv.compare(df, methods=["sparse"], k=[5])
rv.convert("ratings.csv", "ratings.parquet")
rv.Release.read(out)
rv.Release.read(out).to_pandas()
rv.Ratings(df)
rv.Ratings.from_frame(df)
rv.Ratings.from_frame(df, scale="1:5:1")
rv.Ratings.from_frame(df, scale=(1, 5, 1))
rv.Ratings.from_frame(df, scale=rv.RatingScale(1, 5))
rv.Ratings.read("ratings.csv")
len(R)
R.shape
R.head()
R.to_pandas()
R.to_polars()
R.to_arrow()
R.to_csr()
R.describe()
R.scale
R.n_users, R.n_items, R.n_ratings
rv.SparseRows(k=5)
repr(rv.SparseRows(k=5))
rv.SparseRows(k=5).get_params()
rv.SparseRows(k=5).anonymize(df)
rv.SparseRows(k=5).anonymize(R)
rv.SparseRows(k=5).anonymize("ratings.csv")
rv.SparseRows(k="5")
rv.SparseRows(k=1)
rv.Synthesizer(epsilon=3)
repr(rv.Synthesizer(epsilon=3))
rv.Synthesizer(epsilon=3, scale="1:5:1").anonymize(df)
rv.PredictiveAnonymizer(k=5).anonymize(df)
rv.KCoRater(k=5).anonymize(df)
rel.to_pandas()
rel.to_csr()
rel.claim
rel.k
rel.verify()
rel.write("o2")
rel.save("o3")
a.summary()
a.to_pandas()
a.to_dict()
a.to_html("a.html")
bool(v), v.holds, v.k
v.to_dict()
dir(rv)
R.to_frame()
rv.SparseRows(5).fit_transform(df)
rv.SparseRows(5, random_state=0)
rv.anonymize(df, k=5, random_state=0)
rv.read(df, user_col="user_id")
rv.audit(df, adversaries=["papre"])
rv.read(R.to_csr().toarray()[:, :2] + 1)
len(rel), bool(rel), rel.n_users, rel.n_items
len(rv.Release.read(out)), rv.Release.read(out).n_users
rv.read("ratings.csv", sep=";")
rv.read("ratings.csv", encoding="latin-1")
rv.read("ratings.csv", rating_scale=(1, 5))
rv.read("ratings.csv", min_ratings=5, dropna=True)
rv.read_csv("ratings.csv")
rv.anonymize(df, k=5, output="o4", overwrite=True)
rv.anonymize(df, eps=3)
rv.anonymize(df, k=5, n_jobs=2)
rv.compare(df, method="sparse", k=5)
rv.evaluate(df, rel, test_size=0.2)
rv.audit(df, n_targets=5)
rv.SparseRows(n=5)
rv.SparseRows(5).set_params(k="5")
rv.RatingScale("1:5:1")
rel.write("o2", overwrite=True)
rel.shape
rel.users
rel.coverage
rel["rating"]
[row for row in rel]
rv.Release.read(out).head()
R[0]
R.df
R.item_ids
R.train_test_split()
R.build_full_trainset()
v.ok
v.to_pandas()
a["insider"]
a.plot()
e.to_pandas().loc[:, "release.rmse"]
e.summary()
e.metrics
c.to_pandas()
c.best_
""".strip().splitlines()

# Audits and evaluations take more than a CPU second, and noise needs many users.
SLOW = [
    call
    for call in CALLS
    if call.startswith(("rv.audit(", "rv.evaluate(", "rv.compare(", "a.", "a[", "e.", "c."))
    or "epsilon=3, scale" in call
]

# The other calls raise an error that names the right one.
REMEDIES = {
    "rv.Ratings(df)": "recveil.read(table)",
    'rv.SparseRows(k="5")': "expected a whole number",
    "rv.SparseRows(k=1)": "at least 2",
    'rel.save("o3")': "write(folder)",
    "R.to_frame()": "to_pandas()",
    "rv.SparseRows(5).fit_transform(df)": "anonymize(ratings)",
    "rv.SparseRows(5, random_state=0)": "seed",
    "rv.anonymize(df, k=5, random_state=0)": "seed",
    'rv.read(df, user_col="user_id")': "did you mean user?",
    'rv.audit(df, adversaries=["papre"])': "did you mean paper?",
    "rv.read(R.to_csr().toarray()[:, :2] + 1)": "data frame",
    'rv.read("ratings.csv", sep=";")': "did you mean delimiter?",
    'rv.read("ratings.csv", encoding="latin-1")': "read the file with pandas",
    'rv.read("ratings.csv", rating_scale=(1, 5))': "did you mean scale?",
    'rv.read("ratings.csv", min_ratings=5, dropna=True)': "did you mean",
    'rv.read_csv("ratings.csv")': "recveil.read(source)",
    'rv.anonymize(df, k=5, output="o4", overwrite=True)': "did you mean force?",
    "rv.anonymize(df, eps=3)": "did you mean epsilon?",
    "rv.anonymize(df, k=5, n_jobs=2)": "help(recveil.anonymize)",
    'rv.compare(df, method="sparse", k=5)': "did you mean methods?",
    "rv.evaluate(df, rel, test_size=0.2)": "did you mean split?",
    "rv.audit(df, n_targets=5)": "did you mean targets?",
    'rv.audit(df, preset="paper")': "did you mean adversaries?",
    "rv.SparseRows(n=5)": "it has 'k'",
    'rv.SparseRows(5).set_params(k="5")': "expected a whole number",
    'rv.RatingScale("1:5:1")': "RatingScale(1, 5, 1)",
    'rel.write("o2", overwrite=True)': "did you mean force?",
    "rel.shape": "to_csr().shape",
    "rel.users": "ids()",
    "rel.coverage": "recveil.evaluate(table, release)",
    'rel["rating"]': "to_pandas()",
    "[row for row in rel]": "to_pandas()",
    "rv.Release.read(out).head()": "to_pandas().head()",
    "R[0]": "to_pandas()",
    "R.df": "to_pandas()",
    "R.item_ids": "use items",
    "R.train_test_split()": "split_ratings(ratings)",
    "R.build_full_trainset()": "it has",
    "v.ok": "use holds",
    "v.to_pandas()": "use violations",
    'a["insider"]': "to_pandas()",
    "a.plot()": "chart()",
    "e.metrics": "to_pandas()",
    "c.best_": "choice()",
    "rv.anonymize(R.to_csr().toarray()[:, :4] + 1, k=5)": "data frame",
}


def names_in(folder: Path, *, n_users: int) -> dict[str, object]:
    """Return what the names in the calls mean; files are written into a folder."""
    ratings = make_ratings(n_users, 30, 10 * n_users, seed=1)
    users = [f"user{user:04}" for user in ratings.users[ratings.user_positions()]]
    items = [f"item{item:02}" for item in ratings.items[ratings.indices]]
    columns = {"user_id": users, "item_id": items, "rating": ratings.values}
    frame = ratings.to_pandas().drop(columns=["timestamp"]).assign(**columns)
    frame.to_csv(folder / "ratings.csv", index=False)
    table = rv.Ratings.from_frame(frame, scale="1:5:1")
    release = rv.SparseRows(k=5, seed=1).anonymize(table)
    out = folder / "out"
    return {"rv": rv, "df": frame, "R": table, "rel": release, "out": out, "v": release.write(out)}


def problem_of(call: str, names: dict[str, object], folder: Path) -> str:
    """Return the error of a call, made in a folder; "" if it works."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            eval(call, names)
    except (RecveilError, AttributeError, TypeError) as error:
        return str(error)
    finally:
        os.chdir(before)
    return ""
