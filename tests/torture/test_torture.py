"""The program itself: a tiny run of it, what it counts, and the table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("for Linux alone", allow_module_level=True)

from torture.operations import Operations
from torture.plan import KINDS, planned, rng_of
from torture.table import Row, table, write_between_marks

ROOT = Path(__file__).parents[2]


def run(*arguments):
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return subprocess.run(
        [sys.executable, "-m", "torture", *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_a_tiny_run_survives_and_leaves_nothing(tmp_path):
    kinds = "between,signals,full,sizes,clock"
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- torture -->\nold\n<!-- /torture -->\nafter\n")
    options = ("--jobs", "convert", "--kinds", kinds, "--times", "0.02", "--write", str(page))
    (tmp_path / "work").mkdir()
    found = run(*options, "--folder", str(tmp_path / "work"))
    assert found.returncode == 0, found.stdout + found.stderr
    text = page.read_text()
    assert text.startswith("before\n<!-- torture -->\n| kind | tries | survived |\n")
    assert "| killed between two operations on files | 7 | 7 |" in text
    assert "old" not in text
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--folder", "missing"), "--folder missing: expected a folder that is there"),
        (("--write", "missing.md"), "--write missing.md: expected a page with the marks"),
        (("--kinds", "between,floods"), "--kinds: 'floods' is none of between, "),
        (("--jobs", "dance"), "--jobs: 'dance' is none of "),
        (("--only", "between:convert"), "--only between:convert: expected KIND:JOB:NUMBER"),
        (("--only", "floods:convert:1"), "--kinds: 'floods' is none of "),
        (("--workers", "0"), "--workers 0: expected at least 1"),
    ],
)
def test_mistyped_options_are_reported(options, message, monkeypatch, capsys):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as the program does, for itself alone
    from torture.__main__ import _options

    monkeypatch.setattr(sys, "argv", ["torture", *options])
    with pytest.raises(SystemExit) as stop:
        _options()
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_it_is_reported_before_the_work(tmp_path):
    found = run("--jobs", "dance", "--folder", str(tmp_path))
    assert found.returncode == 2
    assert "--jobs: 'dance' is none of " in found.stderr
    assert "Traceback" not in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_survive_is_named_with_what_repeats_it(tmp_path):
    """A judge that takes nothing for whole finds that no try survived."""
    program = (
        "import sys; sys.argv[1:] = ['--jobs', 'convert', '--kinds', 'between', '--times', '.003',"
        f" '--folder', {str(tmp_path)!r}];"
        "from torture import __main__ as program, kinds;"
        "kinds.problems = lambda *_, **__: ['planted'];"
        "sys.exit(program.main())"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "RECVEIL_TORTURE_INSIDE": "",
    }
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert "planted" in found.stdout
    assert "again: python -m torture --seed 1 --only 'between:convert:0' --keep" in found.stdout


def test_operations_are_counted_by_hand(tmp_path):
    """In a process of its own, as hooks stay."""
    program = f"""
import os
from pathlib import Path
from torture.operations import Operations
folder = Path({str(tmp_path)!r})
seen = []
operations = Operations(folder, {{3: lambda: seen.append(sorted(os.listdir(folder)))}})
operations.install()
(folder / "a").write_text("a")         # 1: before it is there; 2: it is there, and empty
(folder / "a").rename(folder / "b")    # 3
(folder / "b").read_text()
(folder / "c").mkdir()                 # 4
(folder / "c").chmod(0o700)            # 5
Path({str(tmp_path.parent)!r}, "elsewhere").touch()
(folder / "b").unlink()                # 6
print(operations.count, seen)
"""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout == "6 [['a']]\n"


def test_an_operation_of_a_number_is_struck_once(tmp_path):
    struck = []
    operations = Operations(tmp_path, {2: lambda: struck.append(operations.count)})
    for _ in range(4):
        operations.tick()
    assert (struck, operations.count) == ([2], 4)


class FakeWorld:
    def __init__(self, jobs):
        from torture.world import Measured

        self.measured = {job.name: Measured(1.0, 10 + at) for at, job in enumerate(jobs)}


def test_the_usual_run_kills_at_least_five_hundred_times():
    from torture.jobs import JOBS

    tries = planned(FakeWorld(JOBS), JOBS, list(KINDS), 1.0)
    kills = [each for each in tries if each.kind in ("between", "again", "anytime", "first")]
    assert len(kills) >= 500
    verbs = {each.job.split()[0].rstrip(",") for each in kills}
    assert verbs >= {"anonymize", "audit", "compare", "evaluate", "sample", "convert", "generate"}
    assert len({each.name for each in tries}) == len(tries)
    counts = {kind.name: sum(each.kind == kind.name for each in tries) for kind in KINDS}
    assert counts == {kind.name: kind.tries for kind in KINDS}


def test_the_same_seed_draws_the_same():
    from torture.jobs import JOBS

    each = planned(FakeWorld(JOBS), JOBS, list(KINDS), 0.1)[5]
    assert rng_of(each, 7).random() == rng_of(each, 7).random() != rng_of(each, 8).random()


def test_the_table_counts_what_survived():
    text = table([Row("killed", 1_200, 1_199), Row("a full disk", 0, 0, "nothing can be mounted")])
    assert text.splitlines()[2:] == [
        "| killed | 1,200 | 1,199 |",
        "| a full disk (nothing can be mounted) | 0 | 0 |",
        "| all | 1,200 | 1,199 |",
    ]


def test_a_page_without_marks_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no marks")
    with pytest.raises(ValueError, match="expected the marks"):
        write_between_marks(page, "| kind |")
    assert page.read_text() == "no marks"


def test_every_verb_is_tortured():
    from torture.jobs import JOBS

    from recveil.cli.entry import VERBS

    # The workbench works by the functions of the others, and is killed in its own tests.
    # Precompile writes only numba's cache, which numba itself keeps whole.
    untortured = {"workbench", "precompile"}
    assert {job.arguments[0] for job in JOBS} | untortured == {verb.name for verb in VERBS}
