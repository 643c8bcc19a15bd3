"""The site that `make docs` built."""

import re
from pathlib import Path

import pytest

BUILT = Path(__file__).parents[1] / "site"


def test_nothing_is_loaded_from_elsewhere():
    """Pages load nothing from other sites."""
    if not (BUILT / "index.html").exists():
        pytest.skip("the site was not built here; make docs builds it")
    for page in BUILT.rglob("*.html"):
        loads = re.findall(
            r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*",
            page.read_text("utf-8"),
        )
        assert not loads, f"{page.name}: {loads}"
    for sheet in BUILT.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text("utf-8")), sheet.name
