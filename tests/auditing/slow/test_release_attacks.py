"""What is said of a release, word by word: no more than its claim and the attacks show."""

import json

import numpy as np
import pytest

from recveil.attacks import Adversary
from recveil.attacks.inference import fill_detection
from recveil.auditing.release_attacks import attack_published
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows
from recveil.runtime.number_format import format_bounds, percent
from shared.auditing_release_attacks import audited, co_rated, ratings  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def many():
    """Enough for twenty strangers with 16 ratings."""
    return make_ratings(n_users=480, n_items=60, n_ratings=12_000, seed=4)


class TestCoRated:
    @pytest.fixture
    def found(self, co_rated):
        return co_rated

    def test_the_strike_is_named_and_the_claim_limited(self, found):
        first = found.to_dict()["verdict"][0]
        assert "with values off the scale struck out" in first
        assert "hides no user from an adversary who can distinguish imputed values" in first

    def test_only_what_he_struck_out_is_said(self, ratings, tmp_path):
        found = audited(KCoRater(5, "random", seed=1), ratings, tmp_path)
        struck = ", without " in found.attacks[0][1].attack
        assert ("struck out" in found.to_dict()["verdict"][0]) == struck

    def test_what_was_not_tried_is_said(self, ratings, monkeypatch, tmp_path):
        monkeypatch.setattr(fill_detection, "MOST_PREDICTED", 10)
        found = audited(KCoRater(5, "similarity", seed=1), ratings, tmp_path)
        words = "too many values to strike out values that the other rows predict"
        assert words in " ".join(found.to_dict()["warnings"])
        assert words in " ".join(found.to_dict()["verdict"])


def test_clusters_of_sparse_rows_are_inferred_by_all_ratings_and_reported(many, tmp_path):
    found = audited(SparseRows(5, seed=1), many, tmp_path)
    plain = found.to_dict()
    clusters = plain["clusters"]
    assert clusters["cluster_inferred"]["low"] > clusters["cluster_baseline"]
    assert clusters["class_inferred"]["low"] > clusters["class_baseline"]
    assert plain["all_known"]["targets_requested"] == 300
    (said,) = (each for each in plain["verdict"] if "share their values" in each)
    assert f"{clusters['cluster_inferred']['rate']:.1%}" in said
    assert f"{clusters['cluster_baseline']:.1%}" in said
    assert "cluster by all ratings" in {row["figure"] for row in plain["rows"]}
    fitted, direct, *_ = plain["rates"]
    assert fitted["name"] == "all ratings, rows of others"
    assert fitted["class_reidentified"] == clusters["class_inferred"]
    assert direct["class_reidentified"] == plain["all_known"]["class_reidentified"]
    assert plain["membership"]["scorer"]
    assert plain["membership"]["all"]["auxiliary_information"]
    json.dumps(plain, allow_nan=False)


def test_where_rows_share_no_values_classes_are_inferred_by_the_fit(many, tmp_path):
    found = audited(SparseRows(20, seed=1), many, tmp_path)
    plain = found.to_dict()
    clusters = plain["clusters"]
    assert clusters["n_clusters"] == clusters["n_records"]
    assert clusters["cluster_inferred"] == clusters["class_inferred"]
    assert clusters["class_inferred"]["low"] > clusters["class_baseline"]
    whats = {row["figure"] for row in plain["rows"]}
    assert plain["rates"][0]["class_reidentified"] == clusters["class_inferred"]
    assert "cluster by all ratings" not in whats
    assert any(f"{clusters['class_inferred']['rate']:.1%}" in each for each in plain["verdict"])


def test_who_could_not_be_looked_for_is_said_once(tmp_path):
    """A rate that counts them as not found is next to the rate of the others."""
    table = make_ratings(n_users=300, n_items=60, n_ratings=3000, seed=4)
    PredictiveAnonymizer(5, seed=1).anonymize(table).write(tmp_path / "out")
    known = [Adversary(known=known, name=f"knows {known}") for known in (8, 12)]
    found = attack_published(table, tmp_path / "out", known, np.arange(300))
    _, attack = max(found.attacks, key=lambda pair: pair[1].reidentified.rate)
    among = 300 * attack.reidentified.rate / (300 - attack.skipped)
    assert attack.skipped > 30
    said = f"; {percent(among)} of the {300 - attack.skipped} with enough ratings)"
    assert said in found.to_dict()["headline"]
    assert said in found.to_dict()["verdict"][0]
    (result,) = found.to_dict()["warnings"]
    assert result.count("count as not re-identified") == 1
    leader, attack = found.strongest
    name, n_attacked = leader.name, 300 - attack.skipped
    among = 300 * attack.reidentified.rate / n_attacked
    assert f"“{name}” attacked {n_attacked} of 300 and re-identified {percent(among)}" in result


def test_the_number_of_users_is_next_to_each_area(many, tmp_path):
    """Who has fewer than 16 ratings is left out where 16 are known."""
    found = audited(PredictiveAnonymizer(5, seed=1), many, tmp_path)
    text = " ".join(found.to_dict()["verdict"])
    assert found.by_known["16"].members < found.by_known["8"].members
    for result in found.by_known.values():
        assert (
            f"of {result.members:,} members recognized at a false positive rate of 5% among" in text
        )
        assert f"control {result.null_auc.rate:.2f} (" in text


class TestLabels:
    """What stands in the rows as it was given, measured on the very release."""

    @pytest.fixture
    def release(self, ratings):
        return PredictiveAnonymizer(5, "simple", seed=1).anonymize(ratings)

    def test_padded_rows_are_said_to_be_fitted(self, many, tmp_path):
        found = audited(PredictiveAnonymizer(5, seed=1), many, tmp_path)
        text = " ".join(found.to_dict()["verdict"])
        assert "Who rated what is not hidden" in text
        assert "This AUC is a lower bound" in text
        assert "Padded rows do not hide" not in text  # what was measured here takes its place
        assert 0 < found.to_dict()["ratings_exact"] < 0.3

    def test_results_of_shadow_releases_are_next_to_scores_of_one_release(self, many, tmp_path):
        """A fit of all rows was run, and does not reveal members."""
        found = audited(PredictiveAnonymizer(5, values="predicted", seed=1), many, tmp_path)
        assert found.residual is not None
        text = " ".join(found.to_dict()["verdict"])
        assert "an AUC of 0.98 from all ratings of a user" in text
        assert "not tell who" not in text


def test_the_headline_is_that_of_the_strongest_adversary(many, tmp_path):
    """All ratings of a target find more than eight do; the sentence says what is known."""
    plain = audited(SparseRows(5, seed=1), many, tmp_path).to_dict()
    headline, fitted = plain["headline"], plain["clusters"]["reidentified"]
    assert fitted["rate"] > max(attack["reidentified"]["rate"] for attack in plain["attacks"])
    assert fitted["rate"] > plain["all_known"]["reidentified"]["rate"]
    assert headline.startswith(
        f"In the release, {percent(fitted['rate'])} of the users are re-identified "
        f"({format_bounds(fitted['low'], fitted['high'])}) "
    )
    assert "who knows all ratings of a target exactly, and the rows of other targets;" in headline
    assert headline.count("the guarantee is at most 20%") == 1
    best = plain["membership"]
    assert f"membership is inferred with AUC {best['auc']['rate']:.2f} (" in headline
    assert f"who knows {best['known']} exact ratings of a user" in headline
    assert ("item counts" in headline) == bool(best["auxiliary_information"])
