"""Print the oldest versions that pyproject.toml allows, in the form of a file of constraints."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for entry in project["dependencies"]:
    name, least = re.fullmatch(r"([\w-]+)>=([\d.]+)", entry).groups()
    print(f"{name}=={least}")
