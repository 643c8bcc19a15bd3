"""The release after any erasure holds against the one before it."""

import json
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from recveil.attacks.membership.inference import only
from recveil.datasets import make_ratings
from recveil.methods import anonymize, forget
from recveil.release.claim import bounds_of
from recveil.release.manifest_reader import known_manifest
from recveil.verification import verify
from shared.methods_next_release import RATINGS, fewest_candidates, publish, rows_of, tables


@given(history=tables(n_releases=3), data=st.data(), k=st.sampled_from([2, 5]))
@settings(
    max_examples=8,
    phases=tuple(set(Phase) - {Phase.explain, Phase.shrink}),
    suppress_health_check=[HealthCheck.too_slow],
)
def test_the_release_without_a_user_holds_against_the_one_before(history, data, k):
    with tempfile.TemporaryDirectory() as folder:
        releases = publish(history, Path(folder), k)
        table = only(RATINGS, history[int(releases[-1].name.removeprefix("month-"))])
        user = table.users[data.draw(st.integers(0, table.n_users - 1))]
        paths = {"ratings": table, "output": Path(folder, "cleaned.parquet")}
        found = forget(releases[-1], user=user, **paths)
        assert found.n_candidates is None or found.n_candidates >= k
        cleaned = only(table, np.flatnonzero(table.users != user))
        output = Path(folder, "next")
        anonymize(
            *(cleaned, output),
            k=k,
            seed=1,
            previous=f"{releases[-1]}.private",
            allow_sparse_coverage=True,
        )
        assert verify(output, against=releases[-1], private=f"{output}.private").holds
        assert fewest_candidates([*releases, output]) >= k
        if found.decision == "row-kept":
            before, after = rows_of(releases[-1]), rows_of(output)
            same = [each for each, row in before.items() if row == before[user]]
            assert len({after[each] for each in same}) == 1


def test_synthetic_users_have_nothing_to_withdraw(tmp_path):
    table = make_ratings(200, 30, 3_000, seed=3)
    options = {"scale": "1:5:1", "item_catalog": "as-rated", "ledger": "none"}
    anonymize(table, tmp_path / "proven", epsilon=5, **options)
    found = forget(tmp_path / "proven", user=table.users[0])
    bounds = bounds_of(known_manifest(tmp_path / "proven").claim)
    assert (found.decision, found.bounds, found.n_candidates) == (
        *("nothing-to-withdraw", bounds, None),
    )
    assert found.newest.record_ids == ()
    assert (
        json.loads(found.log.read_text().splitlines()[0])["releases"][0]["auc_bound"]
        == bounds["most_auc"]
        < 1
    )
    assert not forget(tmp_path / "proven", user="nobody").is_known
    anonymize(table, tmp_path / "unproven", epsilon="none", item_catalog="as-rated")
    unproven = forget(tmp_path / "unproven", user=table.users[0])
    assert (unproven.decision, unproven.bounds) == ("replace", {})
    assert [each.name for each in unproven.others] == ["proven"]


def test_a_weak_epsilon_is_replaced(tmp_path):
    ratings = make_ratings(300, 60, 6_000, seed=1)
    options = {"scale": "1:5:1", "item_catalog": "as-rated", "ledger": "none"}
    for epsilon, decision in (20.0, "replace"), (3.0, "nothing-to-withdraw"):
        folder = tmp_path / f"epsilon-{epsilon:g}"
        anonymize(ratings, folder, epsilon=epsilon, **options)
        assert forget(folder, user=ratings.users[0]).decision == decision
