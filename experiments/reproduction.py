"""All tables and figures of the papers that MovieLens can carry, on one page.

    python experiments/reproduction.py path/to/ml-100k [--ml1m path/to/ml-1m] [--page PAGE]

Writes PAGE (docs/reproduction.md if not given), and its charts into a folder of the same name
beside it. Seeds are fixed: the same data give the same page, but for the times of GeCom. Without
MovieLens 1M (a folder with ratings.csv), its sections are left out.
"""

import argparse
import importlib
import time
from pathlib import Path
from typing import NamedTuple

from page import Row, draw, table

SCRIPTS = (
    "outside_attacks",
    *(f"narayanan_{name}" for name in ("figure_1", "figures_2_3", "figure_4", "figure_5")),
    *(f"narayanan_{name}" for name in ("figure_6", "figure_7", "figure_8", "figure_9")),
    *(f"narayanan_{name}" for name in ("figure_10", "figure_11", "figure_12", "table")),
    *("chang_table_1", "chang_table_2", "chang_table_3"),
    *("chang_figure_3", "chang_figure_4", "chang_figure_5"),
    *("thesis_figure_3_5", "thesis_figure_4_1", "thesis_figure_4_2", "thesis_figure_4_4"),
    *("thesis_figure_6_1", "thesis_figure_6_2"),
    *("k_corating_table_2", "k_corating_table_3", "k_corating_figures_1_2", "k_corating_figure_3"),
)
SCRIPTS_1M = (
    *("narayanan_figure_1", "narayanan_figures_2_3", "narayanan_figure_7", "narayanan_figure_8"),
    *("narayanan_figure_12", "narayanan_table", "k_corating_table_3_1m"),
)
OPENING = """# Reproduction

What becomes of the papers' tables and figures on MovieLens 100K (943 people, 1682 items, 100,000
ratings) and, where it adds something, MovieLens 1M (6,040 people, 3,706 items, 1,000,209 ratings)?
This page is written by `make experiments DATA=path/to/ml-100k ML1M=path/to/ml-1m`; do not edit it.
Each section is one script of `experiments/`.

**How to read it.** Narayanan & Shmatikov and Chang et al. used the whole Netflix Prize data, so
their absolute figures cannot be met: what is compared are their claims, that is directions, orders
and factors. The thesis and k-coRating used MovieLens itself. Each claim carries the bound by which
it is judged; where a paper says "little" or "a lot", the bound is ours. Nothing was tuned until a
claim held. *Paper* is what the text prints, or what follows from it; where it is empty, the text
prints nothing, and what could only be read off a plot is not given. *Difference* is ours less the
paper's. What stands in brackets behind a figure is its 95 % interval.

"""


class Section(NamedTuple):
    """A script's part of the page."""

    title: str
    text: str
    good: int
    bad: int

    def line(self) -> str:
        """Return its line of the summary."""
        text = self.title.lower().replace(" ", "-")
        anchor = "".join(c for c in text if c.isalnum() or c in "-_")
        return f"| [{self.title}](#{anchor}) | {self.good} | {self.bad} |"


def main(folder: Path, folder_1m: Path | None, page: Path) -> None:
    """Run all scripts and write the page."""
    sections = [write_section(name, folder, page) for name in SCRIPTS]
    if folder_1m is not None:
        sections += [write_section(name, folder_1m, page, of_1m=True) for name in SCRIPTS_1M]
    summary = ["| table or figure | claims that hold | claims that fail |", "|---|---:|---:|"]
    summary += [section.line() for section in sections]
    texts = "\n\n".join(section.text for section in sections)
    page.write_text(OPENING + "\n".join(summary) + "\n\n" + texts + "\n", encoding="utf-8")
    print(f"wrote {page}")


def write_section(name: str, folder: Path, page: Path, *, of_1m: bool = False) -> Section:
    """Run one script, draw its chart, and write its part of the page."""
    start = time.perf_counter()
    script = importlib.import_module(name)
    rows: list[Row] = script.run(folder)
    title, reading, data = script.TITLE, script.READING, "path/to/ml-100k"
    if of_1m:
        data = "path/to/ml-1m"
        # A script for both says how it reads the figure where MovieLens 100K stands.
        if name in SCRIPTS:
            title, reading = f"{title}, on MovieLens 1M", "As on MovieLens 100K; without dates."
    parts = [f"## {title}", f"*Reading.* {reading}", table(rows)]
    if script.AXES:
        file = page.with_suffix("") / f"{name}{'_1m' * (of_1m and name in SCRIPTS)}.svg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(draw(rows, *script.AXES) + "\n", encoding="utf-8")
        parts.append(f"![{title}]({file.parent.name}/{file.name})")
    text = "\n\n".join([*parts, f"`python experiments/{name}.py {data}`"])
    verdicts = [row.holds for row in rows if row.holds is not None]
    print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return Section(title, text, verdicts.count(True), verdicts.count(False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    docs = Path(__file__).resolve().parent.parent / "docs"
    parser.add_argument("folder", type=Path, help="the folder of MovieLens 100K")
    parser.add_argument("--ml1m", type=Path, help="the folder of MovieLens 1M, with ratings.csv")
    parser.add_argument("--page", type=Path, default=docs / "reproduction.md")
    options = parser.parse_args()
    if not (options.folder / "u1.base").is_file():
        parser.error(f"{options.folder} has no u1.base; name the folder of MovieLens 100K")
    if options.ml1m and not (options.ml1m / "ratings.csv").is_file():
        parser.error(f"{options.ml1m} has no ratings.csv; name the folder of MovieLens 1M")
    main(options.folder, options.ml1m, options.page)
