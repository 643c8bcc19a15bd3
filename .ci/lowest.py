"""Print the oldest versions that pyproject.toml allows, extras included, as constraints for pip."""

import re
import tomllib
from itertools import chain
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"].values()
for entry in chain(project["dependencies"], *extras):
    if bound := re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", entry):
        print("{}=={}".format(*bound.groups()))
