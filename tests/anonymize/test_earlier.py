"""Earlier releases of the same people are seen, and the owner is warned."""

import os

import numpy as np
import pytest

from recveil.anonymize import PredictiveAnonymizer, Synthesizer, anonymize
from recveil.anonymize.earlier import find_earlier
from recveil.attack.held_out import only
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.release.claim import Claim
from recveil.release.ledger import epsilon_of

ROWS = Claim("identical-rows", 5, False, 1, 1)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


def write(ratings, folder, seed=1):
    PredictiveAnonymizer(5, "simple", seed=seed).anonymize(ratings).write(folder)


def test_beside_nothing_there_is_none(ratings, tmp_path):
    assert anonymize(ratings, tmp_path / "out", k=5, seed=1).earlier == ()


def test_one_beside_the_output_is_seen(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    made = anonymize(ratings, tmp_path / "april", k=5, seed=2)
    (earlier,) = made.earlier
    assert (earlier.folder.name, earlier.people) == ("march", 60)
    warning = earlier.warning(tmp_path / "april", made.release.published.claim)
    assert "publish one of the two; recveil audit --release april --against" in warning


def test_its_published_folder_may_be_gone(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    (tmp_path / "march").rename(tmp_path / "sent")
    assert find_earlier(ratings.users, tmp_path / "april")[0].people == 60


def test_the_very_same_release_tells_nothing_more(ratings, tmp_path):
    for name in ("march", "april"):
        made = anonymize(ratings, tmp_path / name, k=5, seed=2)
    assert made.earlier == ()


def test_an_older_one_at_the_same_place_counts(ratings, tmp_path):
    anonymize(ratings, tmp_path / "out", k=5, seed=1)
    made = anonymize(ratings, tmp_path / "out", k=5, seed=2, force=True)
    (earlier,) = made.earlier
    warning = earlier.warning(tmp_path / "out", made.release.published.claim)
    assert "stood at 'out' before" in warning
    assert "--against" not in warning


def test_other_people_are_no_matter(ratings, tmp_path):
    write(only(ratings, np.arange(30)), tmp_path / "march")
    others = only(ratings, np.arange(30, 60))
    assert find_earlier(others.users, tmp_path / "april") == []
    assert find_earlier(ratings.users, tmp_path / "april")[0].people == 30


def test_ids_as_text_are_the_same_people(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    assert find_earlier(ratings.users.astype(str), tmp_path / "april")[0].people == 60


def test_one_elsewhere_is_seen_where_it_is_named(ratings, tmp_path):
    (tmp_path / "archive").mkdir()
    write(ratings, tmp_path / "archive" / "march")
    out = tmp_path / "april"
    assert find_earlier(ratings.users, out) == []
    (earlier,) = anonymize(
        ratings, out, k=5, seed=2, against=tmp_path / "archive" / "march"
    ).earlier
    assert earlier.people == 60


def test_one_that_is_named_must_have_its_twin(ratings, tmp_path):
    with pytest.raises(RecveilError, match=r"its private twin march\.private cannot be read"):
        anonymize(ratings, tmp_path / "april", k=5, against=tmp_path / "march")
    assert list(tmp_path.iterdir()) == []


def test_one_that_cannot_be_read_is_told(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    (tmp_path / "march.private" / "assignment.parquet").write_bytes(b"broken")
    (earlier,) = find_earlier(ratings.users, tmp_path / "april")
    assert "cannot be read" in earlier.warning(tmp_path / "april", ROWS)


@pytest.fixture(scope="module")
def crowd():
    return make_ratings(300, 40, 5_000, seed=3, scale=RatingScale(1, 5, 1))


def drawn(ratings, epsilon):
    return Synthesizer(epsilon, catalogue="as-rated").anonymize(ratings)


def test_epsilons_of_two_drawn_releases_add_up(crowd, tmp_path):
    drawn(crowd, 30.0).write(tmp_path / "march")
    release = drawn(crowd, 30.0)
    (earlier,) = find_earlier(crowd.users, tmp_path / "april")
    warning = earlier.warning(tmp_path / "april", release.published.claim)
    mu = np.sqrt(2) * release.published.claim.ledger.mu
    assert f"epsilon {epsilon_of(mu, 1e-6):.3g} with delta 1e-06" in warning
    assert 30 < epsilon_of(mu, 1e-6) < 60
    assert "intersect" not in warning


def test_no_epsilon_holds_beside_shared_rows(crowd, tmp_path):
    write(crowd, tmp_path / "march")
    (earlier,) = find_earlier(crowd.users, tmp_path / "april")
    warning = earlier.warning(tmp_path / "april", drawn(crowd, 30.0).published.claim)
    assert "no epsilon holds" in warning
    assert "--against" not in warning


def test_sums_without_noise_promise_nothing_for_two(crowd, tmp_path):
    drawn(crowd, None).write(tmp_path / "march")
    (earlier,) = find_earlier(crowd.users, tmp_path / "april")
    assert "Neither counts what the other tells" in earlier.warning(tmp_path / "april", ROWS)


def test_what_a_release_promised_that_is_gone_is_not_known(crowd, tmp_path):
    drawn(crowd, 30.0).write(tmp_path / "march")
    (tmp_path / "march").rename(tmp_path / "sent")
    (earlier,) = find_earlier(crowd.users, tmp_path / "april")
    assert earlier.claim is None


@pytest.mark.parametrize("name", ["private.json", "assignment.parquet"])
def test_a_pipe_in_its_place_is_not_waited_for(ratings, tmp_path, name):
    """Anybody could put one beside an output in a shared folder."""
    twin = tmp_path / "sib"
    twin.mkdir()
    (twin / "private.json").write_text("{}")
    (twin / name).unlink(missing_ok=True)
    os.mkfifo(twin / name)
    (told,) = find_earlier(ratings.users, tmp_path / "out")
    assert "pipe or a device" in told.problem
