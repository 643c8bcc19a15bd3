"""Workbooks: what stands in their cells is read as a CSV of the sheet would be."""

import pytest

from error_assertions import raises
from recveil.io import understand
from recveil.runtime.memory import memory_limited
from shared.io_containers import NAMES, row_of, text, with_cells

pytest.importorskip("python_calamine")


def test_a_cell_far_away_ends_in_one_line(tmp_path):
    far = row_of(1_048_576, text("XFD1048576", "x"))
    with memory_limited("200MB"), raises("machine.killed") as refused:
        understand(with_cells(tmp_path / "far.xlsx", NAMES + far))
    assert "\n" not in str(refused.value)
