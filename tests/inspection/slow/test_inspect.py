"""What a table holds, whatever it is written in."""

import io
import json
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.inspection import inspect
from recveil.io import understand
from recveil.report.inspection import show_inspection
from recveil.runtime.errors import RecveilError
from shared.inspection_inspect import (
    TABLE,
    folder,  # noqa: F401 (fixtures)
)

IDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]),
    min_size=1,
    max_size=8,
)

TIMES = st.sampled_from(
    ["2020-01-01", "2020-01-15 10:11:12", "978300760", "20051231", "0", "", "soon", "978300760.5"]
)


@given(st.lists(st.tuples(IDS, IDS, st.sampled_from(["1", "4.5", "x", ""]), TIMES), max_size=8))
@settings(deadline=None, max_examples=100)
def test_whatever_is_understood_can_be_looked_at(rows):
    """What other verbs read is inspected and shown; what they refuse is refused."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 4
    table = pa.table([pa.array(column, pa.string()) for column in columns], TABLE.column_names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ratings.csv")
        pa_csv.write_csv(table, path)
        for source in (path, table):
            expected, refused = outcome(lambda source=source: understand(source, duplicates="last"))
            found, refused_too = outcome(lambda source=source: inspect(source))
            assert refused == refused_too
            if refused:
                continue
            assert found.ratings == expected.ratings
            json.dumps(found.to_dict())
            with redirect_stdout(io.StringIO()) as out:
                show_inspection(found, 3)
            assert all(line.isprintable() for line in out.getvalue().split("\n"))


def outcome(work):
    """Return what something gives, and the message with which it is refused."""
    try:
        return work(), ""
    except RecveilError as error:
        return None, str(error)
