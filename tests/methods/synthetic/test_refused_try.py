"""A try that ends after queries to users counts."""

import re
import shutil
import signal
from collections import namedtuple

import numpy as np
import pytest

from recveil.cli.interruptions import Terminated
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import Synthesizer, anonymize
from recveil.methods.synthetic import gaussian_mechanism as mechanism
from recveil.methods.synthetic.sum_queries import SHARES
from recveil.methods.synthetic.synthesizer import Budget
from recveil.ratings import Ratings, RatingScale
from recveil.release.ledger import epsilon_of
from recveil.runtime.errors import RecveilError
from shared.cli_endings import ended, interrupt


@pytest.fixture(scope="module")
def few():
    return make_ratings(60, 40, 900, seed=1, scale=RatingScale(1, 5, 1))


def kept_with(epsilon, share, threshold=0.0):
    """Budget of a whole try besides another that was refused after a share of its budget."""
    budget = Budget.of(epsilon, 1e-6, threshold_delta=threshold)
    return epsilon_of(budget.mu * np.sqrt(1 + share), 1e-6 - 2 * threshold)


def refused(ratings, epsilon, **options):
    with pytest.raises(RecveilError) as caught:
        Synthesizer(epsilon, **options).anonymize(ratings)
    assert len(str(caught.value)) < 300
    return str(caught.value)


@pytest.fixture
def secret(monkeypatch):
    """Let noise that follows from a seed cost what secret noise does."""
    monkeypatch.setattr(mechanism.Mechanism, "is_secret", True)


def test_that_users_are_too_few_costs_the_first_answer_alone(few, secret):
    result = refused(few, 0.01, item_catalog="as-rated", seed=1)
    assert "the number of users" in result
    both = kept_with(0.01, SHARES["users by user count"])
    assert result.endswith(f"answered; a rerun raises that to at least epsilon {both:.3g}")


def test_noise_that_follows_from_a_seed_costs_nothing(few):
    assert "spent" not in refused(few, 0.01, item_catalog="as-rated", seed=1)


def test_that_no_item_can_be_named_costs_all_answers_until_then(few, monkeypatch, secret):
    monkeypatch.setattr(mechanism, "threshold", lambda *_, **__: 1e9)
    result = refused(few, 20.0, seed=1)
    assert "no noisy item count reaches" in result
    asked = ("users by user count", "rating levels", "user means", "item sums")
    both = kept_with(20.0, sum(SHARES[name] for name in asked), threshold=1e-7)
    assert result.endswith(f"raises that to at least epsilon {both:.3g}")


def test_what_is_refused_before_any_user_was_asked_costs_nothing(few):
    assert "counts" not in refused(few, 3.0, item_catalog="as-rated", n_users=0)


NAMES = np.array([f"film {number}" for number in range(40)], object)
OF_A_USER = "a7f3c9d1-55e2-4b1b-9c41"


def named(few, names=NAMES, more=(), first_user="user-0"):
    """The same ratings under other ids; the first user rates some more items."""
    users = [f"user-{user}" if user else first_user for user in few.user_positions().tolist()]
    return Ratings.from_columns(
        [*users, *[first_user] * len(more)],
        [*names[few.indices], *more],
        [*few.values, *[4] * len(more)],
        scale=few.scale,
    )


@pytest.mark.usefixtures("rough_fit")
class TestBeforeTheFirstAnswer:
    """What can be refused before the first query is, and what comes later names its epsilon."""

    @pytest.fixture
    def asked(self, monkeypatch):
        queries, enter = [], mechanism.Mechanism._enter

        def noted(self, name, *rest):
            queries.append(name)
            return enter(self, name, *rest)

        monkeypatch.setattr(mechanism.Mechanism, "_enter", noted)
        return queries

    @pytest.fixture
    def result(self, tmp_path, asked):
        def refusal(ratings, **options):
            with pytest.raises(RecveilError) as caught:
                anonymize(ratings, tmp_path / "out", epsilon=300.0, **options)
            assert list(tmp_path.iterdir()) == []
            assert len(str(caught.value)) < 300
            assert "hide_items" not in str(caught.value)
            return str(caught.value)

        return refusal

    @pytest.mark.parametrize("catalogue", [None, "as-rated"])
    def test_very_many_synthetic_users(self, few, catalogue, result, asked):
        message = result(few, n_users=2_000_000, item_catalog=catalogue)
        assert message.endswith("allow_large (--allow-large)")
        assert asked == []

    def test_many_for_each_user_are_what_the_publisher_chose(self, few, tmp_path):
        made = anonymize(
            few, tmp_path / "out", epsilon=300.0, n_users=9_000, item_catalog="as-rated"
        )
        assert made.verification.users == 9_000  # 150 for each user

    def test_a_layout_without_such_rows(self, few, result, asked):
        assert "layout (--layout) is groups" in result(few, layout="groups")
        assert asked == []

    def test_ids_of_one_user_s_items_decide_nothing(self, few, tmp_path):
        ratings = named(few, more=["ann@example.org", "ben@example.org"])
        made = anonymize(ratings, tmp_path / "out", epsilon=300.0)
        assert made.verification.holds
        assert set(made.release.published.items) <= set(NAMES)

    @pytest.mark.parametrize("catalogue", ["as-rated", [*NAMES, "ann@example.org"]])
    def test_public_ids_that_look_like_those_of_users(self, few, catalogue, result, asked):
        more = ["ann@example.org"] if catalogue == "as-rated" else []
        message = result(named(few, more=more), item_catalog=catalogue)
        assert message.startswith("1 id of items looks like e-mail addresses")
        assert asked == []

    def test_public_ids_that_are_those_of_users(self, few, result, asked):
        names = np.array([OF_A_USER, *NAMES[1:]], object)
        message = result(named(few, names, first_user=OF_A_USER), item_catalog="as-rated")
        assert "item ids contain a user id" in message
        assert asked == []

    def test_chosen_ids_that_look_like_those_of_users_cost(self, few, result):
        names = np.array([f"user{number}@example.org" for number in range(40)], object)
        message = result(named(few, names))
        assert "ids of items look like e-mail addresses" in message
        both = kept_with(300.0, 1.0, threshold=1e-7)
        assert message.endswith(
            f"this run spent epsilon 300, as its queries were answered; a rerun raises that "
            f"to at least epsilon {both:.3g}"
        )

    def test_what_is_refused_while_it_is_written_costs(self, few, result):
        names = NAMES.copy()
        names[few.support.argmax()] = OF_A_USER
        message = result(named(few, names, first_user=OF_A_USER))
        assert "the release would contain private data" in message
        assert "this run spent epsilon 300" in message

    def test_a_disk_that_is_too_small_costs(self, few, result, monkeypatch):
        usage = namedtuple("usage", "free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10))
        assert "this run spent epsilon 300" in result(few, item_catalog="as-rated")

    PLACES = (
        "recveil.methods.synthetic.learning.UserModel",
        "recveil.methods.synthetic.synthesizer.Private",
        "recveil.methods._anonymize.check_size",
        "recveil.publish.release.reject_personal_ids",
        "recveil.publish.folder._write_private",
    )

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("stop", [KeyboardInterrupt(), Terminated(15), MemoryError("full")])
    def test_what_ends_a_run_after_the_answers_notes_their_cost(
        self, few, tmp_path, monkeypatch, place, stop
    ):
        def end(*_, **__):
            raise stop.with_traceback(None)

        stop.__dict__.pop("__notes__", None)
        monkeypatch.setattr(place, end)
        with pytest.raises(type(stop)) as caught:
            anonymize(few, tmp_path / "out", epsilon=300.0, item_catalog="as-rated")
        (note,) = caught.value.__notes__
        # One query follows the first fit.
        assert re.match("this run spent epsilon (297|300), ", note)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "place",
        [
            "recveil.methods.synthetic.synthesizer.Claim",
            "recveil.methods.synthetic.synthesizer.Learnt",
            "recveil.methods.synthetic.synthesizer.published_order",
            "recveil.methods._anonymize.replace",
            "recveil.methods._anonymize.Release",
        ],
    )
    def test_a_signal_between_the_fit_and_the_release_has_the_note(
        self, few, tmp_path, monkeypatch, place
    ):
        monkeypatch.setattr(place, interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            anonymize(few, tmp_path / "out", epsilon=300.0)
        (note,) = caught.value.__notes__
        assert note.startswith("this run spent epsilon 300, ")

    def test_a_seed_whose_noise_must_not_be_published_costs_nothing(self, few, monkeypatch):
        monkeypatch.setattr("recveil.methods.synthetic.synthesizer.Learnt", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            Synthesizer(300.0, seed=1).anonymize(few)
        assert not hasattr(caught.value, "__notes__")

    def test_an_interruption_that_a_kernel_turned_into_an_error_has_the_note(
        self, few, tmp_path, monkeypatch
    ):
        def end(*_, **__):
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as stop:
                raise SystemError("returned a result with an exception set") from stop

        monkeypatch.setattr(self.PLACES[0], end)
        with pytest.raises(SystemError) as caught:
            anonymize(few, tmp_path / "out", epsilon=300.0, item_catalog="as-rated")
        assert len(caught.value.__cause__.__notes__) == 1

    def test_an_interruption_before_the_first_query_has_no_note(self, few, tmp_path, monkeypatch):
        monkeypatch.setattr(mechanism.Mechanism, "measure", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            anonymize(few, tmp_path / "out", epsilon=300.0, item_catalog="as-rated")
        assert not hasattr(caught.value, "__notes__")

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_the_command_names_what_an_interrupted_run_spent(
        self, few, tmp_path, monkeypatch, capsys, place, number
    ):
        write_ratings(few, tmp_path / "few.csv")
        monkeypatch.chdir(tmp_path)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        monkeypatch.setattr(place, lambda *_, **__: signal.raise_signal(number))
        try:
            code, _, err = ended(
                *(capsys, "anonymize", "few.csv", "-o", "out", "--epsilon", "300"),
                *("--scale", "1:5:1", "--item-catalog", "as-rated"),
            )
        finally:
            signal.signal(signal.SIGINT, before)
        assert code == 128 + number
        assert re.search("; this run spent epsilon (297|300), ", err.splitlines()[-1])
        assert "raises that to at least epsilon" in err.splitlines()[-1]
