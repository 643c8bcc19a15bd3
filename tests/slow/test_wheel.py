"""What is installed: all of the package, its licences, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).parents[2]

LICENCES = {"LICENSE", "src/recveil/workbench/static/htmx.LICENSE.txt"}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    (file,) = built.glob("*.whl")
    with zipfile.ZipFile(file) as opened:
        yield opened


def of_the_package() -> set[str]:
    """Return the files of the package, as git would keep them."""
    files = (file for file in (ROOT / "src" / "recveil").rglob("*") if file.is_file())
    return {
        file.relative_to(ROOT / "src").as_posix()
        for file in files
        if "__pycache__" not in file.parts and file.suffix not in (".pyc", ".so")
    }


def test_a_wheel_has_the_whole_package_and_its_licences(wheel):
    names = {name for name in wheel.namelist() if not name.endswith("/")}
    noted = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert names - noted == of_the_package()
    assert {name.partition("/")[2] for name in noted} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt"),
        *(f"licenses/{name}" for name in LICENCES),
    }
    assert "recveil/py.typed" in names
