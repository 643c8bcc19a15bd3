"""The place of a table that a user names."""

import pytest

from error_assertions import raises
from recveil.workbench.table_source import place_of


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "sqlite:///shop.db", "s3://bucket/release", "http://host/a"]
)
def test_what_is_checked_has_no_address(address):
    """It was once read as a path, and lost a slash: file:/etc/passwd."""
    with raises("input.remote") as refused:
        place_of(address, is_release=True)
    assert address in str(refused.value)


def test_the_address_of_a_file_is_its_path(tmp_path):
    """So that it is seen when the file changes."""
    (tmp_path / "my shop.csv").write_text("ann,film,1")
    found = place_of(f"file://{tmp_path}/my%20shop.csv")
    assert found.path == str(tmp_path / "my shop.csv")
    with raises("input.not-found"):
        place_of(f"file://{tmp_path}/nothing.csv")
