"""The arithmetic of `benchmarks/guard.py`; nothing is timed."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "guard.py"
SPEC = importlib.util.spec_from_file_location("guard", PATH)
assert SPEC is not None
assert SPEC.loader is not None
guard = importlib.util.module_from_spec(SPEC)
sys.modules["guard"] = guard
SPEC.loader.exec_module(guard)


class Costs(guard.Measure):
    """Takes costs from a list: kernel, stage, kernel, stage, ..."""

    def __init__(self, monkeypatch, *costs):
        self.kernel, self.stages = float("inf"), {}
        left = iter(costs)
        monkeypatch.setattr(guard, "cpu_seconds", lambda _: next(left))


def test_a_figure_is_the_least_of_the_runs_over_the_least_of_the_kernel(monkeypatch):
    measure = Costs(monkeypatch, 2.0, 9.0, 1.0, 30.0, 4.0, 8.0, 3.0, 20.0, 0.5, 10.0)
    stages = dict.fromkeys(("read", "attack"))
    assert measure.run(stages, 2) == {"read": 8.0, "attack": 20.0}
    # One more run of one stage: 10 is less than 20, and the kernel's new least is of both.
    assert measure.run({"attack": None}, 1) == {"read": 16.0, "attack": 20.0}


@pytest.mark.parametrize(("now", "is_slower"), [(2.0, False), (2.6, False), (2.62, True)])
def test_above_the_limit_is_slower(now, is_slower):
    (row,) = guard.compare({"read": 2.0}, {"read": now})
    assert (row.ratio, row.is_slower) == (now / 2, is_slower)
    assert guard.table([row]).split() == [
        *("stage", "reference", "now", "ratio", "read", "2.00", f"{now:.2f}", f"{now / 2:.2f}"),
        *("above", "1.3") * is_slower,
    ]


def test_other_stages_than_the_reference_end_with_a_remedy():
    with pytest.raises(SystemExit, match=r"attack, read.*renew"):
        guard.compare({"read": 1.0}, {"attack": 1.0})


def test_children_count():
    """A child that works for a while adds its CPU seconds."""
    import subprocess

    code = "import time\nwhile time.process_time() < 0.3: pass"
    work = lambda: subprocess.run([sys.executable, "-c", code], check=True)  # noqa: E731
    assert guard.cpu_seconds(work) >= 0.25


@pytest.mark.parametrize(("factor", "code"), [(1.2, 0), (1.4, 1)])
def test_one_more_try_and_the_exit_code(monkeypatch, tmp_path, capsys, factor, code):
    reference = tmp_path / "guard.json"
    kind = guard.machine_kind()
    reference.write_text(json.dumps({kind: {"read": 1.0}}))
    tries = []

    class Measured:
        def run(self, stages, n_runs):
            tries.append(n_runs)
            return {"read": 2.0 if len(tries) == 1 else factor}

    monkeypatch.setattr(guard, "REFERENCE", reference)
    monkeypatch.setattr(guard, "Measure", Measured)
    monkeypatch.setattr(guard, "make_stages", lambda _: {"read": None})
    monkeypatch.setattr(sys, "argv", ["guard.py"])
    assert guard.main() == code
    assert tries == [guard.N_RUNS, guard.N_MORE_RUNS]
    assert f"{factor:.2f}" in capsys.readouterr().out
    # Renewed, it holds what was measured; a machine of another kind is not judged.
    monkeypatch.setattr(sys, "argv", ["guard.py", "--renew"])
    assert guard.main() == 0
    assert json.loads(reference.read_text()) == {kind: {"read": factor}}
    monkeypatch.setattr(sys, "argv", ["guard.py"])
    monkeypatch.setattr(guard, "machine_kind", lambda: "another, 1 cores")
    assert guard.main() == 0
    assert "Nothing judged" in capsys.readouterr().out


def test_the_stored_reference_has_six_stages():
    for figures in json.loads(guard.REFERENCE.read_text()).values():
        assert len(figures) == 6
        assert min(figures.values()) > 0.2
