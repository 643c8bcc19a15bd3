"""Earlier releases of the same users are seen, and the owner is warned."""

import json
import os
import re
import shlex
import warnings

import numpy as np
import pytest
from pyarrow import csv

from error_assertions import raises
from recveil.attacks.membership.inference import only
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Synthesizer, anonymize, dry_run
from recveil.methods.earlier_releases import find_earlier, others
from recveil.ratings import RatingScale
from recveil.release.claim import Claim
from recveil.release.ledger import epsilon_of
from recveil.release.private_folder import digest_of
from recveil.report.release import linkage_warnings
from recveil.runtime.errors import LinkageWarning

pytestmark = pytest.mark.usefixtures("rough_fit")

ROWS = Claim("identical-rows", 5, False, 1, 1)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


def write(ratings, folder, seed=1, *, force=False):
    PredictiveAnonymizer(5, "simple", seed=seed).anonymize(ratings).write(folder, force=force)


def all_keep(n, epsilon):
    runs = f"{n - 1} run{'s' * (n > 2)}"
    return re.compile(f"{runs}( .*)? spent epsilon .* with this run epsilon {epsilon:.3g} ")


def warned(ratings, output, claim):
    """The one warning for the publisher of a release with that claim."""
    found = find_earlier(ratings.users, output)
    (warning,) = set(linkage_warnings(found, output, claim, digest_of(ratings)))
    return warning


def test_without_earlier_releases_there_is_none(ratings, tmp_path):
    assert anonymize(ratings, tmp_path / "out", k=5, seed=1).earlier == ()


def test_one_next_to_the_output_is_seen(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    with pytest.warns(LinkageWarning) as caught:
        made = anonymize(ratings, tmp_path / "april", k=5, seed=2)
    assert [str(each.message) for each in caught if each.category is LinkageWarning] == (
        made.warnings()[-1:]
    )
    (earlier,) = made.earlier
    assert (earlier.folder.name, earlier.n_users) == ("march", 60)
    (warning,) = made.warnings()
    command = re.search("publish one of them; to measure it: recveil (audit .*)[.]", warning)[1]
    csv.write_csv(ratings.to_arrow(), tmp_path / "ratings.csv")
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command.replace("RATINGS", str(tmp_path / "ratings.csv"))))
    assert ended.value.code == 0


def test_one_next_to_a_release_in_memory_is_seen_when_it_is_written(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    release = anonymize(ratings, k=5, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinkageWarning)
        release.verify()
        with pytest.raises(LinkageWarning, match=r"60 of these users .*, 'march'"):
            release.write(tmp_path / "april")
        (tmp_path / "elsewhere").mkdir()
        release.write(tmp_path / "elsewhere" / "april")


def test_its_published_folder_may_be_gone(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    (tmp_path / "march").rename(tmp_path / "sent")
    assert find_earlier(ratings.users, tmp_path / "april")[0].n_users == 60


def test_the_very_same_release_reveals_nothing_more(ratings, tmp_path):
    for name in ("march", "april"):
        made = anonymize(ratings, tmp_path / name, k=5, seed=2)
    assert made.earlier == ()


def test_an_older_one_at_the_same_place_counts(ratings, tmp_path):
    anonymize(ratings, tmp_path / "out", k=5, seed=1)
    made = anonymize(ratings, tmp_path / "out", k=5, seed=2, force=True)
    (warning,) = made.warnings()
    assert "the previous release at 'out'" in warning
    assert "--second-release" not in warning


def test_other_users_are_no_matter(ratings, tmp_path):
    write(only(ratings, np.arange(30)), tmp_path / "march")
    others = only(ratings, np.arange(30, 60))
    assert find_earlier(others.users, tmp_path / "april") == []
    assert find_earlier(ratings.users, tmp_path / "april")[0].n_users == 30


def test_ids_as_text_are_the_same_users(ratings, tmp_path):
    write(ratings, tmp_path / "march")
    assert find_earlier(ratings.users.astype(str), tmp_path / "april")[0].n_users == 60


def test_one_elsewhere_is_seen_where_it_is_named(ratings, tmp_path):
    (tmp_path / "archive").mkdir()
    write(ratings, tmp_path / "archive" / "march")
    out = tmp_path / "april"
    assert find_earlier(ratings.users, out) == []
    (earlier,) = anonymize(
        ratings, out, k=5, seed=2, earlier_release=tmp_path / "archive" / "march"
    ).earlier
    assert earlier.n_users == 60


def test_one_that_is_named_must_have_its_twin(ratings, tmp_path):
    with raises("private.damaged") as caught:
        anonymize(ratings, tmp_path / "april", k=5, earlier_release=tmp_path / "march")
    assert "march.private" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"), [("assignment.parquet", b"broken"), ("private.json", b"[]")]
)
def test_one_that_cannot_be_read_is_reported(ratings, tmp_path, name, content):
    write(ratings, tmp_path / "march")
    (tmp_path / "march.private" / name).write_bytes(content)
    assert "cannot be read" in warned(ratings, tmp_path / "april", ROWS)


@pytest.fixture(scope="module")
def many_users():
    return make_ratings(300, 40, 5_000, seed=3, scale=RatingScale(1, 5, 1))


def drawn(ratings, epsilon):
    return Synthesizer(epsilon, item_catalog="as-rated").anonymize(ratings)


def sum_of(*releases):
    """What several releases keep together, with a public catalogue."""
    return epsilon_of(np.hypot.reduce([each.published.claim.ledger.mu for each in releases]), 1e-6)


def test_epsilons_of_two_drawn_releases_add_up(many_users, tmp_path):
    march, april = drawn(many_users, 30.0), drawn(many_users, 30.0)
    march.write(tmp_path / "march")
    warning = warned(many_users, tmp_path / "april", april.published.claim)
    assert all_keep(2, sum_of(march, april)).search(warning)
    assert 30 < sum_of(march, april) < 60
    assert "gives no meaningful guarantee: 1 is strong" in warning
    assert "intersect" not in warning


def test_all_drawn_releases_in_sight_are_added_up_in_one_line(many_users, tmp_path):
    made = [drawn(many_users, 30.0) for _ in range(5)]
    for place, release in enumerate(made[:4]):
        release.write(tmp_path / f"r{place}")
    warning = warned(many_users, tmp_path / "r9", made[4].published.claim)
    assert all_keep(5, sum_of(*made)).search(warning)


def test_what_force_replaced_counts_as_it_was_perhaps_published(many_users, tmp_path):
    made = [drawn(many_users, 30.0) for _ in range(4)]
    for release in made[:3]:
        release.write(tmp_path / "r", force=True)
    next_to = warned(many_users, tmp_path / "next", made[3].published.claim)
    assert all_keep(4, sum_of(*made)).search(next_to)
    made[3].write(tmp_path / "r", force=True)
    left = others(find_earlier(many_users.users, tmp_path / "r"), tmp_path / "r")
    (there,) = linkage_warnings(
        left, tmp_path / "r", made[3].published.claim, digest_of(many_users)
    )
    assert all_keep(4, sum_of(*made)).search(there)
    assert "history" not in (tmp_path / "r" / "release.json").read_text()


def test_ids_of_other_ratings_may_be_other_users(many_users, tmp_path):
    """Unrelated tables number users from 0, and so do those of the next month."""
    unrelated = make_ratings(300, 40, 5_000, seed=4, scale=RatingScale(1, 5, 1))
    march, april = drawn(unrelated, 30.0), drawn(many_users, 30.0)
    march.write(tmp_path / "march")
    (warning,) = anonymize(
        many_users, tmp_path / "may", epsilon=30.0, item_catalog="as-rated"
    ).warnings()
    assert all_keep(3, sum_of(march, april, april)).search(warning)
    assert "where other users have the same ids, name another ledger" in warning


def test_rows_that_were_replaced_leave_no_epsilon(many_users, tmp_path):
    write(many_users, tmp_path / "r")
    drawn(many_users, 30.0).write(tmp_path / "r", force=True)
    warning = warned(many_users, tmp_path / "april", drawn(many_users, 30.0).published.claim)
    assert "no epsilon holds" in warning
    assert "with this run" not in warning


def test_the_users_of_a_replaced_release_are_unknown(many_users, tmp_path):
    some, rest = only(many_users, np.arange(150)), only(many_users, np.arange(150, 300))
    write(some, tmp_path / "r")
    write(rest, tmp_path / "r", force=True)
    warning = warned(some, tmp_path / "april", ROWS)
    assert warning.startswith(
        "Perhaps some of these user ids also occur in the release that 'r' replaced"
    )


def test_no_epsilon_holds_next_to_shared_rows(many_users, tmp_path):
    write(many_users, tmp_path / "march")
    warning = warned(many_users, tmp_path / "april", drawn(many_users, 30.0).published.claim)
    assert "no epsilon holds" in warning
    assert "--second-release" not in warning


def test_sums_without_noise_promise_nothing_for_two(many_users, tmp_path):
    drawn(many_users, None).write(tmp_path / "march")
    assert "No claim covers what the others reveal" in warned(many_users, tmp_path / "april", ROWS)


def test_what_a_release_promised_that_is_gone_its_twin_knows(many_users, tmp_path):
    march, april = drawn(many_users, 30.0), drawn(many_users, 30.0)
    march.write(tmp_path / "march")
    (tmp_path / "march").rename(tmp_path / "sent")
    warning = warned(many_users, tmp_path / "april", april.published.claim)
    assert all_keep(2, sum_of(march, april)).search(warning)


def test_a_twin_that_remembers_nothing_has_its_release_asked(many_users, tmp_path):
    """As all were written before."""
    march, april = drawn(many_users, 30.0), drawn(many_users, 30.0)
    march.write(tmp_path / "march")
    twin = tmp_path / "march.private" / "private.json"
    result = json.loads(twin.read_text())
    del result["history"]
    twin.write_text(json.dumps(result))
    warning = warned(many_users, tmp_path / "april", april.published.claim)
    assert all_keep(2, sum_of(march, april)).search(warning)
    (tmp_path / "march").rename(tmp_path / "sent")
    assert "no epsilon holds" in warned(many_users, tmp_path / "april", april.published.claim)


@pytest.mark.parametrize("name", ["private.json", "assignment.parquet"])
def test_a_pipe_in_its_place_is_not_waited_for(ratings, tmp_path, name):
    """Any account could put one next to an output in a shared folder."""
    twin = tmp_path / "sib"
    twin.mkdir()
    (twin / "private.json").write_text("{}")
    (twin / name).unlink(missing_ok=True)
    os.mkfifo(twin / name)
    (result,) = find_earlier(ratings.users, tmp_path / "out")
    assert "pipe or a device" in result.problem


def test_a_private_folder_can_be_named(ratings, tmp_path):
    (tmp_path / "archive").mkdir()
    write(ratings, tmp_path / "archive" / "march")
    for name in ("march", "march.private"):
        (earlier,) = find_earlier(ratings.users, tmp_path / "april", tmp_path / "archive" / name)
        assert (earlier.folder.name, earlier.n_users) == ("march", 60)


def test_where_releases_were_searched_is_stated(ratings, tmp_path):
    (tmp_path / "archive").mkdir()
    write(ratings, tmp_path / "archive" / "march")
    made = anonymize(ratings, tmp_path / "april", k=5, seed=2)
    (searched,) = (text for text in made.sentences() if text.startswith("Searched "))
    assert str(tmp_path) in searched
    assert "none found" in searched
    assert "--earlier-release" in searched
    assert made.to_dict()["earlier_searched_in"] == str(tmp_path)
    write(ratings, tmp_path / "may")
    estimate = dry_run(ratings, tmp_path / "june", k=5)
    assert any("2 found" in text for text in estimate.sentences())
    following = dry_run(ratings, tmp_path / "june", k=5, previous=tmp_path / "april.private")
    assert any("outside the series: 1 found" in text for text in following.sentences())


def test_a_guarantee_of_the_other_kind_is_not_said_to_hold(ratings, tmp_path):
    anonymize(ratings, tmp_path / "rows", k=5, seed=1)
    (warning,) = anonymize(
        ratings, tmp_path / "sums", epsilon=50.0, scale="1:5:1", item_catalog="as-rated"
    ).warnings()[-1:]
    assert "no epsilon holds for all together, and no k" in warning
    (_, warning) = anonymize(ratings, tmp_path / "next", k=5, seed=2).warnings()
    assert "no epsilon holds for all together, and no k" in warning
