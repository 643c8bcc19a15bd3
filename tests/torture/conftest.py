"""The program stands at the top of the repository, and is imported from there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
