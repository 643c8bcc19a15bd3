"""Files of other programs, checked as they are written."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from recveil.verification import verify


class TestAnyFile:
    """Files of other programs."""

    def _csv(self, folder: Path, rows: list[str], header: str = "user_id,item_id,rating") -> Path:
        file = folder / "some.csv"
        file.write_text("\n".join([header, *rows]) + "\n")
        return file

    @given(data=st.data())
    def test_k_achieved_is_that_of_a_plain_count(self, data, tmp_path_factory):
        rows = st.lists(
            st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from([1.0, 2.5])),
            min_size=1,
            max_size=12,
        )
        rows = data.draw(rows)
        users = {}
        for user, item, rating in rows:
            users.setdefault(user, []).append((item, rating))
        counts = Counter(tuple(sorted(labels)) for labels in users.values())
        table = pa.table(
            dict(zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True))
        )
        file = tmp_path_factory.mktemp("any") / "some.parquet"
        pq.write_table(table, file)
        assert verify(file, k=1).k_achieved == min(counts.values())
        assert verify(file, k=1).classes == len(counts)
        assert np.array_equal(
            sorted(v.user_id for v in verify(file, k=2).violations),
            sorted(str(u) for u, own in users.items() if counts[tuple(sorted(own))] < 2),
        )
