"""What is installed: all of the package, its licences, and nothing else."""

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).parents[1]
# Kinds of files that a package is made of; whatever is compiled or cached is none.
KINDS = {".py", ".jinja", ".css", ".js", ".txt", ""}


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


def test_a_wheel_needs_no_compiler(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("/WHEEL")]
    result = HeaderParser().parsestr(wheel.read(name).decode())
    assert (result["Root-Is-Purelib"], result["Tag"]) == ("true", "py3-none-any")
    assert {Path(file).suffix for file in of_the_package()} <= KINDS | {".typed"}


def test_what_it_says_of_itself(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    result = HeaderParser().parsestr(wheel.read(name).decode())
    assert result["Requires-Python"] == ">=3.11"
    assert result["License-Expression"] == "Apache-2.0 AND 0BSD"  # ours, and htmx's
    assert result["Description-Content-Type"] == "text/markdown"
    assert "## Five commands" in result.get_payload()


def test_a_source_archive_has_what_a_wheel_is_made_of_and_no_data(built):
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as opened:
        names = {re.sub(r"^[^/]+/", "", member.name) for member in opened if member.isfile()}
    next_to = {"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"}
    next_to |= {"pyproject.toml", "PKG-INFO", ".gitignore"}
    assert names == {f"src/{name}" for name in of_the_package()} | next_to
