"""What all runs on a user spent, wherever they were written."""

import json
import math
import signal
import sqlite3
import stat
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil import anonymize, budget
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import Synthesizer, dry_run
from recveil.methods.synthetic import learning
from recveil.methods.synthetic.sum_queries import SHARES
from recveil.publish import PrivacyLossWarning, privacy_ledger
from recveil.publish.history import Promised
from recveil.publish.privacy_ledger import (
    Loss,
    PrivacyLedger,
    Recording,
    hash_users,
    ledger_path,
    reject_ledger_in,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.ledger import epsilon_of
from recveil.runtime.errors import RecveilError
from shared.cli_endings import ended

pytestmark = pytest.mark.usefixtures("rough_fit")

SCALE = RatingScale(1, 5, 1)
RATINGS = make_ratings(60, 40, 900, seed=1, scale=SCALE)
OPTIONS = {"epsilon": 300.0, "item_catalog": "as-rated"}
MU = Synthesizer(300.0, item_catalog="as-rated").planned().mu


def kept_by(*mus, delta=1e-6):
    return epsilon_of(math.hypot(*mus), delta)


@pytest.fixture
def path():
    return ledger_path()


@pytest.fixture
def ledger(path):
    return PrivacyLedger(path)


def spend(ledger, users, mu, sha256="", *, state="spent", delta=1e-6, threshold=0.0):
    loss = Loss(mu, delta, threshold)
    token = ledger.begin(np.array(users), sha256, loss)
    if state != "begun":
        ledger.settle(token, state, loss)
    return token


# The last digit of a root of squares; epsilon is rounded up by more than that.
EXACT = 1 + 1e-12
USERS = st.sets(st.integers(0, 9), min_size=1)


@given(
    st.lists(
        st.tuples(USERS, st.floats(1e-3, 5), st.sampled_from(["begun", "spent", "aborted"])),
        max_size=6,
    ),
    USERS,
    st.floats(1e-3, 5),
)
def test_no_user_has_spent_more_than_the_total(tmp_path_factory, runs, asked, planned):
    ledger = PrivacyLedger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite3")
    for users, mu, state in runs:
        spend(ledger, sorted(users), mu, state=state)
    total = ledger.total(np.array(sorted(asked)), planned=Loss(planned, 1e-6))
    spent = {user: [mu for users, mu, _ in runs if user in users] for user in asked}
    highest = max(math.fsum(mu**2 for mu in mus) for mus in spent.values())
    if highest:
        assert epsilon_of(math.sqrt(highest), 1e-6) <= total.epsilon * EXACT
        assert total.epsilon == pytest.approx(epsilon_of(math.sqrt(highest), 1e-6), rel=1e-6)
    else:
        assert (total.runs, total.epsilon) == ((), 0.0)
    together = epsilon_of(math.sqrt(highest + planned**2), 1e-6)
    assert together <= total.epsilon_with_run * EXACT
    assert {run.number for run in total.runs} == {
        number for number, (users, _, _) in enumerate(runs, 1) if users & asked
    }
    assert total.n_shared == sum(1 for mus in spent.values() if mus)


def test_a_table_that_grew_has_the_total_of_the_users_in_both(ledger):
    spend(ledger, range(100), 0.3, "march")
    spend(ledger, range(50, 150), 0.4, "april")
    assert ledger.total(np.arange(100, 200)).epsilon == pytest.approx(kept_by(0.4))
    total = ledger.total(np.arange(160))
    assert total.epsilon == pytest.approx(kept_by(0.5))
    assert (total.n_shared, total.is_same_table) == (150, False)
    assert ledger.total().epsilon == pytest.approx(kept_by(0.5))
    assert ledger.total(np.arange(200, 300)).runs == ()


def test_parts_of_delta_add_up_until_no_guarantee_remains(ledger):
    for _ in range(4):
        spend(ledger, [1], 0.3, threshold=4e-7)
    total = ledger.total(np.array([1]))
    assert total.delta == 2e-6
    assert total.epsilon == pytest.approx(epsilon_of(0.6, 4e-7), rel=1e-6)
    assert ledger.total(np.array([1]), delta=1e-5).epsilon < total.epsilon
    spend(ledger, [1], 0.3, delta=0.3, threshold=0.3)
    assert math.isinf(ledger.total(np.array([1]), delta=0.3).epsilon)


def test_the_smallest_delta_is_common(ledger):
    spend(ledger, [1], 0.3, delta=1e-8)
    spend(ledger, [1], 0.4, delta=1e-4)
    total = ledger.total(np.array([1]))
    assert (total.delta, total.epsilon) == (1e-8, pytest.approx(kept_by(0.5, delta=1e-8)))


def test_the_file_is_private_and_names_no_user(ledger, path):
    spend(ledger, ["ann@example.org", "ben@example.org"], 0.3, "a" * 64)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    content = path.read_bytes()
    assert b"ann" not in content
    assert b"aaaa" not in content
    other = PrivacyLedger(path.with_name("other.sqlite3"))
    spend(other, ["ann@example.org", "ben@example.org"], 0.3)
    keys = [
        sqlite3.connect(each).execute("SELECT key FROM secret").fetchone()[0]
        for each in (path, other.path)
    ]
    hashes = [hash_users(["ann@example.org"], key).tobytes() for key in keys]
    assert hashes[0] in content
    assert hashes[1] not in content
    assert hash_users([5], keys[0]) == hash_users(["5"], keys[0])
    path.chmod(0o644)
    spend(ledger, [1], 0.3)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_runs_at_once_are_all_recorded(path):
    def run(number):
        spend(PrivacyLedger(path), [1, 100 + number], 0.1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(24)))
    total = PrivacyLedger(path).total(np.array([1]))
    assert len(total.runs) == 24
    assert total.epsilon == pytest.approx(kept_by(*[0.1] * 24))


class TestPlaces:
    def test_the_state_folder_is_usual(self, monkeypatch, tmp_path):
        monkeypatch.delenv("RECVEIL_LEDGER")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert ledger_path() == tmp_path / "recveil" / "ledger.sqlite3"
        monkeypatch.setenv("XDG_STATE_HOME", "relative")
        monkeypatch.delenv("LOCALAPPDATA", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert ledger_path() == tmp_path / ".local" / "state" / "recveil" / "ledger.sqlite3"
        assert ledger_path("here").name == "here"
        assert ledger_path("none") is None

    @pytest.mark.parametrize("name", ["out/ledger", "out.private/ledger", "out/deep/ledger"])
    def test_it_is_in_no_release(self, tmp_path, name):
        with raises("output.place", "ledger"):
            reject_ledger_in(tmp_path / name, tmp_path / "out")
        with raises("output.place", "ledger"):
            anonymize(RATINGS, tmp_path / "out", ledger=tmp_path / name, **OPTIONS)
        reject_ledger_in(tmp_path / "ledger", tmp_path / "out")

    def test_it_is_not_created_in_a_finished_release(self, tmp_path):
        made = anonymize(RATINGS, tmp_path / "out", **OPTIONS)
        with raises("output.place"):
            Synthesizer(**OPTIONS, ledger=tmp_path / "out" / "ledger").anonymize(RATINGS)
        assert made.release.verify().holds
        assert not (tmp_path / "out" / "ledger").exists()


UNUSABLE = {
    "text": lambda path: path.write_text("no ledger at all, but some text of a user\n" * 50),
    "a folder": lambda path: path.mkdir(),
    "another database": lambda path: sqlite3.connect(path).execute("CREATE TABLE t (a)"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "a later version": lambda path: sqlite3.connect(path).execute("PRAGMA user_version = 9"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_file_that_cannot_be_used_ends_the_run_before_the_first_query(
    tmp_path, path, name, monkeypatch
):
    path.parent.mkdir()
    if name in ("cut short", "a later version"):
        spend(PrivacyLedger(path), range(900), 0.3)
    UNUSABLE[name](path)
    monkeypatch.setattr("recveil.methods.synthetic.synthesizer._fit", None)
    with raises("ledger.unusable", path.name) as caught:
        anonymize(RATINGS, tmp_path / "out", **OPTIONS)
    assert len(str(caught.value)) < 300
    assert "spent" not in str(caught.value)
    with raises("ledger.unusable"):
        Synthesizer(**OPTIONS).anonymize(RATINGS)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_ends_the_run(path):
    path.parent.write_text("a file")
    with raises("ledger.unusable"):
        Synthesizer(**OPTIONS).anonymize(RATINGS)
    with raises("ledger.unusable"):
        budget()


class TestRuns:
    def test_releases_in_all_folders_are_added_up(self, tmp_path, path):
        for name in ("here", "there"):
            (tmp_path / name).mkdir()
            totals = []
            made = anonymize(RATINGS, tmp_path / name / "out", on_total=totals.append, **OPTIONS)
        (total,) = totals
        assert total == made.total
        assert total.epsilon == pytest.approx(300)
        assert total.epsilon_with_run == pytest.approx(kept_by(MU, MU), rel=1e-6)
        assert (total.n_shared, total.n_unrecorded, total.is_same_table) == (60, 0, True)
        assert len(made.warnings()) == 1
        after = budget(RATINGS)
        assert [Path(*run.outputs).parent.name for run in after.runs] == ["here", "there"]
        assert {run.state for run in after.runs} == {"spent"}
        assert after.epsilon == pytest.approx(total.epsilon_with_run, rel=1e-6)
        assert budget().epsilon == after.epsilon
        assert path == after.ledger

    def test_python_classes_have_the_same_ledger(self, tmp_path):
        release = Synthesizer(**OPTIONS).anonymize(RATINGS)
        assert release.verify().holds
        assert budget(RATINGS).runs[0].outputs == ()
        release.write(tmp_path / "out")
        (run,) = budget(RATINGS).runs
        assert run.outputs == (str(tmp_path / "out"),)
        assert run.epsilon == pytest.approx(300)
        with pytest.warns(PrivacyLossWarning, match="1 run spent epsilon 300"):
            anonymize(RATINGS, **OPTIONS)
        assert len(budget(RATINGS).runs) == 2

    def test_a_new_ledger_is_reported(self, path):
        with pytest.warns(PrivacyLossWarning, match="the ledger is new"):
            Synthesizer(**OPTIONS).anonymize(RATINGS)
        path.unlink()
        with pytest.warns(PrivacyLossWarning, match="the ledger is new"):
            Synthesizer(**OPTIONS).anonymize(RATINGS)
        others = make_ratings(60, 40, 900, seed=2, scale=SCALE)
        renamed = Ratings.from_columns(
            [f"other {user}" for user in others.user_positions().tolist()],
            others.indices,
            others.values,
            scale=SCALE,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivacyLossWarning)
            Synthesizer(**OPTIONS).anonymize(renamed)

    def test_seeds_exact_sums_and_rows_are_not_recorded(self, path, tmp_path):
        Synthesizer(**OPTIONS, seed=1).anonymize(RATINGS)
        Synthesizer(None, item_catalog="as-rated").anonymize(RATINGS)
        assert anonymize(RATINGS, tmp_path / "out", k=5).total is None
        assert dry_run(RATINGS, tmp_path / "else", **OPTIONS).total.is_new
        assert not path.exists()
        with raises("option.conflict", "ledger"):
            anonymize(RATINGS, epsilon="none", ledger="none")

    def test_without_a_ledger_folders_are_added_up(self, tmp_path, path):
        anonymize(RATINGS, tmp_path / "march", ledger="none", **OPTIONS)
        made = anonymize(RATINGS, tmp_path / "april", ledger="none", **OPTIONS)
        assert not path.exists()
        assert (made.total.ledger, made.total.n_unrecorded) == (None, 1)
        assert made.total.epsilon_with_run == pytest.approx(kept_by(MU, MU), rel=1e-6)
        with raises("option.value", "ledger"):
            budget(ledger="none")

    def test_releases_that_the_ledger_lacks_are_added(self, tmp_path):
        anonymize(RATINGS, tmp_path / "march", ledger="none", **OPTIONS)
        april = anonymize(RATINGS, tmp_path / "april", **OPTIONS)
        assert april.total.n_unrecorded == 1
        may = anonymize(RATINGS, tmp_path / "may", **OPTIONS)
        assert (may.total.n_unrecorded, len(may.total.runs)) == (1, 1)
        assert may.total.epsilon_with_run == pytest.approx(kept_by(MU, MU, MU), rel=1e-6)

    def test_a_release_of_unknown_loss_is_left_to_the_other_warning(self, ledger):
        total = ledger.total(np.array([1]), history=[Promised("9c1f", "identical-rows")])
        assert (total.n_unrecorded, total.epsilon) == (0, 0.0)


class TestEndings:
    def test_an_error_after_the_first_query_counts_what_was_answered(self, monkeypatch):
        def end(*_, **__):
            raise RecveilError("the fit failed", code="argument.value")

        monkeypatch.setattr("recveil.methods.synthetic.synthesizer.learn_users", end)
        with raises("argument.value", "spent epsilon"):
            Synthesizer(**OPTIONS).anonymize(RATINGS)
        (run,) = budget(RATINGS).runs
        share = 1 - SHARES[learning.QUERY] / math.fsum(SHARES.values())
        assert run.state == "aborted"
        assert run.loss.mu == pytest.approx(MU * math.sqrt(share))

    def test_an_error_before_the_first_query_counts_nothing(self, monkeypatch):
        def end(*_, **__):
            raise RecveilError("the sums failed", code="argument.value")

        monkeypatch.setattr("recveil.methods.synthetic.synthesizer.ask_activity", end)
        with raises("argument.value"):
            Synthesizer(**OPTIONS).anonymize(RATINGS)
        assert budget(RATINGS).runs == ()

    @pytest.mark.parametrize("code", ["release.too-large", "machine.disk"])
    def test_a_refusal_by_size_counts_and_names_its_epsilon(self, tmp_path, monkeypatch, code):
        def end(*_, **__):
            raise RecveilError("too large", code=code)

        monkeypatch.setattr("recveil.methods._anonymize.check_size", end)
        with raises(code, "this run spent epsilon 300"):
            anonymize(RATINGS, tmp_path / "out", **OPTIONS)
        (run,) = budget(RATINGS).runs
        assert (run.state, run.outputs) == ("spent", ())
        assert run.loss.mu == pytest.approx(MU)

    def test_a_number_of_users_that_is_too_large_is_refused_before_the_queries(
        self, tmp_path, capsys
    ):
        write_ratings(RATINGS, tmp_path / "r.csv")
        code, _, err = ended(
            *(capsys, "anonymize", tmp_path / "r.csv", "-o", tmp_path / "out", "--epsilon", 3),
            *("--n-users", 2_000_000, "--scale", "1:5:1", "--item-catalog", "as-rated"),
        )
        assert (code, "spent" in err) == (2, False)
        assert budget(RATINGS).runs == ()

    def test_a_killed_run_counts_in_full(self, tmp_path):
        write_ratings(RATINGS, tmp_path / "r.csv")
        program = (
            "import os, signal\n"
            "from recveil.methods import Synthesizer\n"
            "from recveil.methods.synthetic import synthesizer\n"
            "synthesizer.learn_users = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
            f"Synthesizer(300.0, item_catalog='as-rated', scale='1:5:1')"
            f".anonymize({str(tmp_path / 'r.csv')!r})\n"
        )
        killed = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False)
        assert killed.returncode == -signal.SIGKILL
        (run,) = budget(tmp_path / "r.csv", scale="1:5:1").runs
        assert (run.state, run.n_users) == ("begun", 60)
        assert run.loss.mu == pytest.approx(MU)

    def test_an_entry_that_cannot_be_settled_counts_in_full(self, monkeypatch):
        def fail(*_, **__):
            raise RecveilError("the disk is full", code="ledger.unusable")

        monkeypatch.setattr(PrivacyLedger, "settle", fail)
        with pytest.warns(UserWarning, match="the disk is full"):
            Synthesizer(**OPTIONS).anonymize(RATINGS)
        (run,) = budget(RATINGS).runs
        assert (run.state, run.loss.mu) == ("begun", MU)

    def test_a_writer_that_waits_too_long_ends(self, ledger, path, monkeypatch):
        spend(ledger, [1], 0.3)
        monkeypatch.setattr(privacy_ledger, "_PATIENCE", 0.05)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            with raises("ledger.unusable", "locked"):
                spend(ledger, [1], 0.3)


class TestCommands:
    def test_the_total_is_reported_before_the_noise_and_shown(self, tmp_path, capsys, path):
        write_ratings(RATINGS, tmp_path / "r.csv")
        arguments = "anonymize", tmp_path / "r.csv", "--epsilon", 300, "--scale", "1:5:1"
        code, _, err = ended(capsys, *arguments, "-o", tmp_path / "march")
        assert (code, "the ledger is new" in err) == (0, True)
        code, out, err = ended(capsys, *arguments, "-o", tmp_path / "april", "--json", "-")
        assert err.splitlines()[0].startswith(f"Privacy ledger {path}: 1 run spent epsilon 300 ")
        assert json.loads(out)["privacy_total"]["epsilon"] == pytest.approx(300)
        code, out, _ = ended(capsys, "budget", tmp_path / "r.csv", "--scale", "1:5:1")
        assert (code, out.count("│ 300 ")) == (0, 2)
        code, out, _ = ended(capsys, "budget", "--json", "-")
        document = json.loads(out)
        assert [run["state"] for run in document["runs"]] == ["spent", "spent"]
        assert document["ledger"] == str(path)

    def test_an_empty_ledger_has_no_runs(self, capsys, tmp_path):
        code, out, _ = ended(capsys, "budget", "--ledger", tmp_path / "none-yet")
        assert (code, "no run" in " ".join(out.split())) == (0, True)
        assert list(tmp_path.iterdir()) == []


def test_a_run_is_known_by_its_token_if_the_file_was_replaced(ledger, path, tmp_path):
    """Numbers begin anew: the first run of the other file must not be changed or removed."""
    loss = Loss(0.3, 1e-6)
    recording = Recording(ledger, np.array(["ann"]))
    for spent in (loss, None):
        path.unlink(missing_ok=True)
        with recording.run(loss, lambda spent=spent: spent):
            path.unlink()
            spend(ledger, ["ben"], 0.4)
        assert ledger.total(np.array(["ben"])).epsilon == pytest.approx(kept_by(0.4))
        expected = 0.0 if spent is None else pytest.approx(kept_by(0.3))
        assert ledger.total(np.array(["ann"])).epsilon == expected


@pytest.mark.parametrize("spelled", [" ann ", "Ann", "ANN", "a\u006e\u006e\u200b"])
def test_notations_of_one_user_share_what_was_spent(ledger, spelled):
    spend(ledger, ["ann"], 0.3)
    spend(ledger, ["1001"], 0.3)
    assert ledger.total(np.array([spelled])).epsilon == pytest.approx(kept_by(0.3))
    for number in ("01001", "1001.0", 1001, "1.001E+03", "1001,0"):
        assert ledger.total(np.array([number])).epsilon == pytest.approx(kept_by(0.3))


@pytest.mark.parametrize(
    "damage",
    [
        *("UPDATE runs SET mu = -0.5", "UPDATE runs SET mu = 'x'", "UPDATE runs SET delta = 0"),
        *("UPDATE populations SET users = zeroblob(8)", "DELETE FROM populations"),
        *("UPDATE secret SET key = 'short'", "DELETE FROM secret"),
    ],
)
def test_a_damaged_ledger_is_refused(ledger, path, damage):
    spend(ledger, ["ann"], 0.3)
    with sqlite3.connect(path) as content:
        content.execute("PRAGMA foreign_keys = OFF")
        content.execute(damage)
    with raises("ledger.unusable"):
        ledger.total(np.array(["ann"]))


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.0, math.nan])
def test_a_delta_that_is_no_probability_is_refused(path, delta):
    with raises("option.value"):
        budget(ledger=path, delta=delta)
