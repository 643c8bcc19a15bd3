import dataclasses
import json
import re
import shutil

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.evaluation import (
    Evaluation,
    Measured,
    RetainedUtility,
    Served,
    Utility,
    evaluate,
)
from recveil.evaluation.recipient import AVERAGES, POPULARITY
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows, anonymize
from recveil.release.coverage import Coverage
from recveil.report.evaluation.text import explain_unreliable, headline
from shared.cli_evaluate import (
    FILES,
    QUICK,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def test_json_goes_to_a_file(run, tmp_path):
    code, out, _ = run("evaluate", *FILES, "--release", "out", *QUICK, "--json", "found.json")
    assert code == 0
    assert "insider" in out
    assert "recipient" in json.loads((tmp_path / "found.json").read_text())


def test_without_the_private_twin_it_says_what_is_missing(run, tmp_path):
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    code, out, err = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert (code, err) == (0, "")
    assert "The map of users to rows is unknown (out.private does not exist)" in out
    assert "insider" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--release", "out"), "got none of them"),
        ((*FILES,), "expected --release DIR"),
        (("--train", "train.csv", "--release", "out"), "got --train"),
        (("ratings.csv", *FILES, "--release", "out"), "got --test, --train, SOURCE"),
        (("ratings.csv", "--split", 2, "--release", "out"), "share is 2.0"),
        ((*FILES, "--release", "nowhere"), "expected the folder of a release"),
        ((*FILES, "--release", "out", "--null-rule", "one"), "null-rule"),
        ((*FILES, "--release", "out", "--json", "train.csv"), "is the input itself"),
        ((*FILES, "--release", "out", "--json", "out/found.json"), "would be inside the release"),
        (("--train", "test.csv", "--test", "test.csv", "--release", "out"), "error: none of the"),
    ],
)
def test_wrong_usage_ends_with_a_message_and_code_2(run, tmp_path, arguments, message):
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("options", [(), ("--user", "user"), ("--user", "who")])
def test_columns_that_the_tables_name_differently_have_a_way_out(run, tmp_path, options):
    """Options that fitted one table were errors of the other, back and forth."""
    for name, header in (("train.csv", "user,item,rating"), ("test.csv", "who,what,mark")):
        rows = [row.split(",")[:3] for row in (tmp_path / name).read_text().split()[1:]]
        (tmp_path / name).write_text("\n".join([header, *map(",".join, rows)]))
    code, _, err = run("evaluate", *FILES, "--release", "out", *QUICK, *options)
    assert code == 2
    assert "if train and test name columns differently" in " ".join(err.split())
    places = "--user", 1, "--item", 2, "--rating", 3
    assert run("evaluate", *FILES, "--release", "out", *QUICK, *places)[0] == 0


def test_a_release_of_all_ratings_is_refused(run):
    whole = read_ratings("ratings.csv")
    PredictiveAnonymizer(5, "simple", seed=1).anonymize(whole).write("simple")
    SparseRows(5, seed=1).anonymize(whole).write("sparse")
    for name in ("simple", "sparse"):
        code, out, err = run("evaluate", *FILES, "--release", name, *QUICK)
        assert (code, out) == (2, "")
        assert "was not made from these ratings" in " ".join(err.split())
    shutil.rmtree("simple.private")
    code, out, err = run("evaluate", *FILES, "--release", "simple", *QUICK)
    assert (code, err) == (0, "")
    assert "which is unknown as well" in " ".join(out.split())


def test_levels_of_ones_own_cannot_be_made_anew(run):
    train = read_ratings("ratings.csv")
    levels = np.full(train.n_users, 4)
    PredictiveAnonymizer(4, privacy_levels=levels, seed=1).anonymize(train).write("levels")
    code, _, err = run("evaluate", "ratings.csv", "--split", 0.2, "--release", "levels")
    assert code == 2
    assert "do not suffice to make another such release" in err


def test_the_scale_is_that_of_the_release(run, tmp_path):
    rows = "user,item,rating\n" + "\n".join(
        f"{user},{item},{2 + (user + item) % 3}" for user in range(20) for item in range(8)
    )
    (tmp_path / "narrow.csv").write_text(rows + "\n")
    ratings = read_ratings("narrow.csv", scale=read_ratings("train.csv").scale)
    PredictiveAnonymizer(k=4, seed=1).anonymize(ratings).write("narrow")
    found = evaluate("narrow", "narrow.csv", split=0.3, targets=5, with_membership=False)
    assert str(found.train.scale) == "1:5:1"


@pytest.mark.parametrize("twin", [True, False])
def test_coverage_is_that_of_the_given_release(tmp_path, twin):
    """It was that of the release made again from four fifths of the ratings, which has fewer."""
    ratings = make_ratings(n_users=80, n_items=60, n_ratings=1_000, seed=1)
    made = anonymize(ratings, tmp_path / "out", k=12, seed=1).summary.coverage
    published = made.n_items_kept, made.rating_share
    if not twin:
        shutil.rmtree(tmp_path / "out.private")
    found = evaluate(ratings, tmp_path / "out", targets=5, with_membership=False)
    kept = found.coverage
    assert (kept.n_items_kept, kept.rating_share) == published
    assert found.to_dict()["coverage"]["n_items_kept"] == kept.n_items_kept
    assert "The given release keeps" in found.summary()
    assert (kept.n_items_kept < kept.n_items, kept.n_users) == (True, 80)


@pytest.mark.parametrize("columns", [60, 80])
def test_nothing_is_cut_off(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run("evaluate", *FILES, "--release", "out", *QUICK)
    assert "…" not in out
    assert ("Not shown at this width: recall." in out) == (columns == 60)
    lines = out.splitlines()
    (popular,) = [line for line in lines if line.startswith("popularity ")]
    assert all(len(cell.strip()) in (1, 6) for cell in popular.split("│")[1:])
    assert sum("│" in line for line in lines) > 6
    assert all(len(line) <= columns for line in lines)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_split_by_time_lists_next_items(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    options = ("--split", 0.3, "--split-by", "time", "--release", "out", *QUICK)
    code, out, _ = run("evaluate", "ratings.csv", *options)
    assert code == 0
    assert "…" not in out
    assert all(len(line) <= columns for line in out.splitlines())
    assert "were held out" in out
    assert "every user's" not in out
    for word in ("hit rate", "Markov chain", "The release has no dates"):
        assert word in " ".join(out.split())


class TestHeadline:
    HALF = Measured(0.5, 0.4, 0.6, 99)
    GAIN = Measured(0.04, 0.03, 0.05, 99)

    def served(self, ndcg=0.2):
        rest = (10, 1, 1, 0, (), 0.0)
        utilities = {
            AVERAGES: Utility(0.94, 0.7, np.nan, np.nan, np.nan, *rest),
            POPULARITY: Utility(np.nan, np.nan, ndcg / 2, 0.1, 0.1, *rest),
            "kNN": Utility(0.9, 0.7, ndcg, 0.1, 0.1, *rest),
        }
        return Served(utilities, "kNN", "kNN")

    def headline(self, ndcg=0.2, retained=None, **changes):
        return headline(self.evaluation(ndcg, retained, **changes))

    def evaluation(self, ndcg=0.2, retained=None, **changes):
        fields = dict.fromkeys(field.name for field in dataclasses.fields(Evaluation))
        shares = {"ratings": self.HALF, "lists": self.HALF, "lists_gain": self.HALF}
        fields |= {
            **{"raw": self.served(ndcg), "release": self.served(ndcg)},
            **dict.fromkeys(("raw_gain", "raw_lists", "release_gain"), self.GAIN),
            "retained": RetainedUtility(**shares | (retained or {})),
            "coverage": Coverage(10, 10, 1.0, 9, 0),
        }
        return Evaluation(**fields | changes)

    def test_the_representation_names_popular_items_that_are_as_good(self):
        assert "better" not in repr(self.evaluation())
        worse = repr(self.evaluation(release=self.served(0.05)))
        assert "lists retained: 50% (40–60), no better than popular items alone" in worse
        share = {"lists_gain": Measured(0.014, -0.043, 0.063, 99)}
        unclear = repr(self.evaluation(release=self.served(0.12), retained=share))
        assert "not clearly better than popular items alone" in unclear

    def test_the_representation_of_likes_has_no_ratings(self):
        utilities = {name: of for name, of in self.served().utilities.items() if name != AVERAGES}
        likes = dict.fromkeys(("raw", "release"), Served(utilities, "kNN", "kNN"))
        assert "RMSE: 0.9" in repr(self.evaluation())
        assert not {"RMSE", "ratings", "nan"} & {
            *re.findall(r"\w+", repr(self.evaluation(**likes)))
        }

    def test_lists_are_compared_with_popularity(self):
        assert "retains 50% of the gain above them (40–60)" in self.headline()
        wide = {"lists_gain": Measured(0.5, 0.1, 2.3, 99)}
        assert "gain above them is not reported" in self.headline(retained=wide)

    @pytest.mark.parametrize(("high", "words"), [(-0.1, "worse than"), (0.1, "do not beat")])
    @pytest.mark.parametrize("ndcg", [0.05, 0.1])
    def test_lists_that_do_not_beat_popularity_come_first(self, ndcg, high, words):
        share = Measured(-0.2, -0.4, high, 99)
        text = self.headline(retained={"lists_gain": share}, release=self.served(ndcg))
        first = text.partition("The release retains")[0]
        assert words in first
        assert f"{ndcg:.4f} against 0.1000" in first

    def test_lists_without_a_clear_gain_over_popularity_are_not_recommended(self):
        share = Measured(0.014, -0.043, 0.063, 99)
        text = self.headline(retained={"lists_gain": share}, release=self.served(0.12))
        assert text.index("do not clearly beat popular items alone") < text.index("retains 50%")
        clear = self.headline(
            retained={"lists_gain": share._replace(low=0.002)}, release=self.served(0.12)
        )
        assert "beat" not in clear

    def test_a_release_is_not_blamed_where_raw_lists_do_not_beat_popularity_either(self):
        raw = self.served(0.2)
        raw.utilities["kNN"] = raw.utilities["kNN"]._replace(ndcg=0.09)
        nothing = Measured(np.nan, np.nan, np.nan, 99)
        text = self.headline(raw=raw, release=self.served(0.05), retained={"lists_gain": nothing})
        assert text.startswith("On this table no recommender beats popularity, so lists do not")
        assert "The release's lists" not in text
        assert "nDCG: 0.1000 from the raw ratings (popularity, the best), 0.0500 from" in text

    def test_worse_than_averages_only_if_the_interval_is_below_0(self):
        share, wide = Measured(-0.037, -1.43, 0.62, 99), Measured(-0.001, -0.04, 0.02, 99)
        text = self.headline(retained={"ratings": share}, release_gain=wide)
        assert "not significantly better than averages" in text
        assert "too wide" in text
        assert "-143%" not in text
        assert "-3.7%" not in text
        narrow = share._replace(low=-0.1, high=0.05)
        text = self.headline(retained={"ratings": narrow}, release_gain=wide)
        assert "not significantly better than averages of the raw ratings: it retains -3.7%" in text
        below = wide._replace(high=-0.001)
        worse = {"ratings": share._replace(high=-0.1)}
        assert "the release is worse than averages" in self.headline(
            retained=worse, release_gain=below
        )
        assert "ratings retained: worse than averages" in repr(self.evaluation(retained=worse))
        assert "ratings retained: not" in repr(self.evaluation(retained={"ratings": share}))

    def test_worse_than_averages_is_stated_if_the_raw_gain_is_too_small(self):
        small, below = Measured(0.01, -0.01, 0.03, 99), Measured(-0.02, -0.04, -0.01, 99)
        text = self.headline(raw_gain=small, release_gain=below)
        assert "the release is worse than averages" in text
        assert explain_unreliable("imprecise", 99) in text

    def test_lists_that_cannot_be_evaluated_are_named(self):
        text = self.headline(ndcg=np.nan)
        assert text.startswith("Lists cannot be evaluated")
        assert "The release retains 50% of the gain" in text
        few = self.headline(raw_lists=self.GAIN._replace(n_users=1))
        assert explain_unreliable("too-few-users", 1) in few
