"""The source is parsed once, before any test, so that none is blamed for the time of all."""

import pytest

from repository import MODULES, nodes_of


@pytest.fixture(scope="session", autouse=True)
def parsed_modules():
    for file in MODULES:
        nodes_of(file)
