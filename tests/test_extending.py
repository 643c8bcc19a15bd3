"""docs/how-to/extending.md shows the code of tests, to the letter."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FROM, TO = "# docs/how-to/extending.md: from here\n", "# docs/how-to/extending.md: to here\n"
SHOWN = [
    file
    for file in sorted((ROOT / "tests").rglob("test_*.py"))
    if file != Path(__file__) and FROM in file.read_text(encoding="utf-8")
]


def test_there_is_one_for_each_registry():
    assert {file.stem for file in SHOWN} == {
        "test_another_method",
        "test_another_claim",
        "test_another_attack",
        "test_another_measure",
    }


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: file.stem)
def test_the_page_shows_what_is_tested(file):
    code = file.read_text(encoding="utf-8").split(FROM)[1].split(TO)[0].strip()
    page = (ROOT / "docs" / "how-to" / "extending.md").read_text(encoding="utf-8")
    assert f"```python\n{code}\n```" in page
