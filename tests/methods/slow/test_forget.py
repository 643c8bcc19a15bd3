"""The release after any erasure holds against the one before it."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from recveil.attacks.membership.inference import only
from recveil.methods import anonymize, forget
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
