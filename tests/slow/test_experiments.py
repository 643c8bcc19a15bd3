"""Every script of experiments/ explains itself, and names the data that it lacks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "experiments"
SCRIPTS = [file.stem for file in sorted(FOLDER.glob("*.py")) if "__main__" in file.read_text()]
SCRIPTS.remove("page")
# They generate their data; `workbench_pages` is given a folder to write.
NEED_NO_DATA = {
    *("how_many_users", "likes_budget", "other_readers", "synthetic_netflix", "workbench_pages"),
}
# Starting each script by itself would take minutes.
START = """
import contextlib, io, json, runpy, sys
folder, calls = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, folder)
for script, arguments in calls:
    sys.argv = [script + ".py", *arguments]
    out, code = io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            runpy.run_path(f"{folder}/{script}.py", run_name="__main__")
        except SystemExit as end:
            code = end.code
        except Exception as error:
            code = repr(error)
    print(json.dumps([code, out.getvalue()]))
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Return the exit code and the text of each script, by its arguments."""
    empty = str(tmp_path_factory.mktemp("empty"))
    needing = [name for name in SCRIPTS if name not in NEED_NO_DATA]
    calls = [(name, ["--help"]) for name in SCRIPTS]
    calls += [(name, arguments) for name in needing for arguments in ([], [empty])]
    command = [sys.executable, "-c", START, str(FOLDER), json.dumps(calls)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {
        (name, " ".join(arguments).replace(empty, "EMPTY")): json.loads(line)
        for (name, arguments), line in zip(calls, lines.splitlines(), strict=True)
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_help(name, ends):
    code, text = ends[name, "--help"]
    assert code == 0
    assert f"usage: {name}.py" in text
    assert len(text.splitlines()) > 5


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in NEED_NO_DATA])
@pytest.mark.parametrize(("argument", "expected"), [("", "required: "), ("EMPTY", "expected a f")])
def test_without_data(name, argument, expected, ends):
    code, text = ends[name, argument]
    assert code == 2
    assert expected in text


def test_narayanan_reads_the_folder_of_the_netflix_prize(tmp_path):
    """A table is read alike as MovieLens 100K and as the Netflix Prize data."""
    for name, file, text in (
        ("movielens", "u.data", "7\t1\t3\t1125964800\n8\t1\t5\t1126051200\n7\t2\t4\t1126137600\n"),
        ("netflix", "combined_data_1.txt", "1:\n7,3,2005-09-06\n8,5,2005-09-07\n"),
        ("netflix", "combined_data_2.txt", "2:\n7,4,2005-09-08\n"),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / file).write_text(text)
    code = (
        "import sys; from pathlib import Path; import narayanan\n"
        "one, other = (narayanan.ratings_of(Path(each)) for each in sys.argv[1:])\n"
        "print(one == other, one.n_ratings, one.days.tolist())"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    folders = [str(tmp_path / name) for name in ("movielens", "netflix")]
    ran = subprocess.run(
        [*command, *folders], cwd=FOLDER, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True 3 [13032, 13034, 13033]\n"
