"""A release next to another one of the same users, as an audit reports it."""

import json

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary
from recveil.auditing import audit
from recveil.auditing.release_attacks import attack_published
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.report.audit.disclosure import headline_of_linkage
from shared.auditing_linkage import STRONG, attacked, folder, held, ratings  # noqa: F401 (fixtures)


class TestTwoReleases:
    def test_the_keys_of_the_contract(self, attacked):
        plain = attacked.to_dict()["linkage"]
        assert 0 < plain["unique"] < plain["below_k"] <= 1
        assert plain["unique_interval"]["low"] < plain["unique"] < plain["unique_interval"]["high"]
        assert plain["below_k_interval"]["rate"] == plain["below_k"]
        assert 1 < plain["mean_users"] < 5
        assert plain["mean_users_interval"]["mean"] == plain["mean_users"]

    def test_both_promise_the_smaller_k(self, attacked):
        assert attacked.linkage.k == 5

    def test_everything_is_json(self, attacked):
        json.dumps(attacked.to_dict(), allow_nan=False)

    def test_controls_are_next_to_the_rates(self, attacked):
        plain = attacked.to_dict()["linkage"]
        assert set(plain["links"]) == {"one", "both", "control", "popularity"}
        assert {"control", "reidentified_by_one"} <= set(plain["attacks"][0])

    def test_who_reads_on_is_warned_first(self, attacked):
        (warning,) = (
            text for text in attacked.to_dict()["warnings"] if "Publish one of the two" in text
        )
        assert "share both with fewer than k = 5" in warning
        assert warning in attacked.to_dict()["verdict"]

    def test_the_headline_states_the_rate_of_both(self, attacked):
        headline = attacked.to_dict()["headline"]
        assert headline.endswith("the guarantee holds for one release alone.")

    def test_the_verdict_says_that_both_rows_must_be_found(self, attacked):
        (finding,) = (
            text for text in attacked.to_dict()["verdict"] if text.startswith("To use both")
        )
        assert "“insider” infers" in finding
        assert "with another user's row" in finding

    def test_no_user_is_named(self, attacked, ratings):
        assert not any(str(user) in repr(attacked.linkage) for user in ratings.users if user > 200)


class TestNullRelease:
    @pytest.fixture
    def attacked(self, ratings, folder):
        return held(ratings, folder, "a", "null")

    def test_nothing_is_gained(self, attacked):
        plain = attacked.to_dict()["linkage"]
        assert plain["unique"] == plain["below_k"] == 0.0

    def test_no_alarm_and_no_promise(self, attacked):
        assert not attacked.linkage.to_dict()["warnings"]
        assert "This is about classes alone" in attacked.linkage.to_dict()["verdict"][0]

    def test_the_headline_is_that_of_one_release(self, attacked):
        assert headline_of_linkage(attacked.linkage) == ""


def test_of_likes_no_ratings_are_spoken_of(ratings, tmp_path):
    likes = ratings.as_likes()
    for seed in (1, 2):
        KCoRater(5, seed=seed).anonymize(likes).write(tmp_path / f"{seed}")
    attacked = held(likes, tmp_path, "1", "2")
    assert "the user liked (the mean of" in attacked.linkage.to_dict()["verdict"][-1]
    assert "rated" not in " ".join(attacked.linkage.to_dict()["verdict"])


def test_users_of_one_release_only_are_left_out(ratings, folder, tmp_path):
    from recveil.attacks.membership.inference import only

    some = only(ratings, np.arange(100))
    PredictiveAnonymizer(5, "simple", seed=1).anonymize(some).write(tmp_path / "some")
    attacked = attack_published(
        ratings, folder / "a", [STRONG], np.arange(150), second_release=tmp_path / "some"
    )
    assert attacked.linkage.shared.n_users == 100
    assert attacked.linkage.attacks[0][1].requested == 100


def test_other_users_are_refused(ratings, folder, tmp_path):
    from recveil.attacks.membership.inference import only

    for name, users in (("few", np.arange(50)), ("others", np.arange(50, 150))):
        PredictiveAnonymizer(5, "simple", seed=1).anonymize(only(ratings, users)).write(
            tmp_path / name
        )
    with raises("release.mismatch"):
        attack_published(
            ratings, tmp_path / "few", [STRONG], np.arange(50), second_release=tmp_path / "others"
        )


class TestAudit:
    def test_nothing_to_hold_against(self, ratings, folder):
        with raises("option.required"):
            audit(ratings, second_release=folder / "a")

    def test_the_release_itself(self, ratings, folder):
        with raises("option.conflict"):
            audit(ratings, release=folder / "a", second_release=folder / "a")

    def test_without_it_there_is_none(self, ratings, folder):
        found = audit(ratings, release=folder / "a", adversaries=[STRONG], targets=20, curves=False)
        assert found.to_dict()["release"]["linkage"] is None

    def test_the_page_shows_both(self, ratings, folder):
        found = audit(
            ratings,
            release=folder / "a",
            second_release=folder / "b",
            adversaries=[STRONG],
            targets=50,
            curves=False,
        )
        page = found.to_html()
        assert "two releases of the same users" in page
        assert "unique in both classes" in page


def test_no_user_attacked_in_both_is_no_rate_of_zero(ratings, folder):
    """The table of the terminal, the page and the JSON object showed 0.0% 0.0–1.3."""
    too_much = Adversary(known=10_000, name="knows too much")
    released = attack_published(
        ratings, folder / "a", [too_much], np.arange(60), second_release=folder / "b"
    )
    (attack,) = released.to_dict()["linkage"]["attacks"]
    assert attack["targets_skipped"] == attack["targets_requested"]
    for name in ("first", "second", "both", "reidentified_by_one", "control"):
        assert attack[name]["rate"] is None
    assert headline_of_linkage(released.linkage) == ""


def test_a_page_can_be_drawn_where_no_user_could_be_attacked(tmp_path):
    """Its charts are left out: they have no rates."""
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=120, seed=1)
    PredictiveAnonymizer(5, "simple", seed=1).anonymize(ratings).write(tmp_path / "out")
    found = audit(ratings, release=tmp_path / "out", adversaries=[Adversary(1_000)], targets=20)
    assert found.to_dict()["release"]["attacks"][0]["reidentified"]["rate"] is None
    headline = found.to_dict()["release"]["headline"]
    assert "who knows all ratings of a target exactly" in headline
    assert "nan" not in headline
    assert "<h1>" in found.to_html()
