"""All tables and figures of the papers that MovieLens can carry, on one page.

    python experiments/reproduction.py path/to/ml-100k [--ml1m path/to/ml-1m] [--page PAGE]
        [--only SCRIPT ...]

Writes PAGE (docs/appendix/reproduction.md if not given), and its charts into a folder of the
same name beside it. Seeds are fixed: the same data give the same page, but for the times of
GeCom. Without MovieLens 1M (a folder with ratings.csv), its sections are left out. What needs other
packages that are not there is not run: its section stays as it is.
"""

import argparse
import importlib
import time
from pathlib import Path
from typing import NamedTuple

from page import Row, draw, table

SCRIPTS = (
    *("outside_attacks", "outside_lists"),
    *(f"narayanan_{name}" for name in ("figure_1", "figures_2_3", "figure_4", "figure_5")),
    *(f"narayanan_{name}" for name in ("figure_6", "figure_7", "figure_8", "figure_9")),
    *(f"narayanan_{name}" for name in ("figure_10", "figure_11", "figure_12", "table")),
    *("chang_table_1", "chang_table_2", "chang_table_3"),
    *("chang_figure_3", "chang_figure_4", "chang_figure_5"),
    *("thesis_figure_3_5", "thesis_figure_4_1", "thesis_figure_4_2", "thesis_figure_4_4"),
    *("thesis_figure_6_1", "thesis_figure_6_2"),
    *("k_corating_table_2", "k_corating_table_3", "k_corating_figures_1_2", "k_corating_figure_3"),
    *("likes", "words"),
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

    def line(self) -> str:
        """Return its line of the summary."""
        lowered = self.title.lower().replace(" ", "-")
        anchor = "".join(c for c in lowered if c.isalnum() or c in "-_")
        good, bad = self.text.count("| yes |\n"), self.text.count("| **no** |\n")
        return f"| [{self.title}](#{anchor}) | {good} | {bad} |"


class Part(NamedTuple):
    """A script, and the folder of its data."""

    name: str
    folder: Path | None
    of_1m: bool

    @property
    def is_again(self) -> bool:
        """Whether the script has a section about MovieLens 100K, too."""
        return self.of_1m and self.name in SCRIPTS

    def title(self) -> str:
        """Return the section's title."""
        title: str = importlib.import_module(self.name).TITLE
        return f"{title}, on MovieLens 1M" if self.is_again else title

    def missing(self) -> str:
        """Say which other packages it needs that are not there; empty if none."""
        script = importlib.import_module(self.name)
        found: str = script.missing() if hasattr(script, "missing") else ""
        return found


def main(folder: Path, folder_1m: Path | None, page: Path, only: list[str]) -> None:
    """Run all scripts, or some of them, and write the page."""
    parts = [Part(name, folder, False) for name in SCRIPTS]
    parts += [Part(name, folder_1m, True) for name in SCRIPTS_1M]
    old = read_sections(page) if page.is_file() else {}
    sections = []
    for part in parts:
        is_asked = part.folder is not None and (not only or part.name in only)
        missing = part.missing() if is_asked else ""
        if is_asked and not missing:
            sections.append(write_section(part, page))
            continue
        if missing:
            print(f"{part.name}: not run; {missing}", flush=True)
        if (only or missing) and part.title() in old:
            sections.append(old[part.title()])
    summary = ["| table or figure | claims that hold | claims that fail |", "|---|---:|---:|"]
    summary += [section.line() for section in sections]
    texts = "\n\n".join(section.text for section in sections)
    page.write_text(OPENING + "\n".join(summary) + "\n\n" + texts + "\n", encoding="utf-8")
    print(f"wrote {page}")


def read_sections(page: Path) -> dict[str, Section]:
    """Return the sections of a page, by their titles."""
    texts = page.read_text(encoding="utf-8").split("\n## ")[1:]
    titles = [text.partition("\n")[0] for text in texts]
    return {
        title: Section(title, f"## {text}".strip())
        for title, text in zip(titles, texts, strict=True)
    }


def write_section(part: Part, page: Path) -> Section:
    """Run one script, draw its chart, and write its part of the page."""
    start = time.perf_counter()
    script, title = importlib.import_module(part.name), part.title()
    rows: list[Row] = script.run(part.folder)
    # A script for both says how it reads the figure where MovieLens 100K stands.
    reading = "As on MovieLens 100K; without dates." if part.is_again else script.READING
    parts = [
        f"## {title}",
        f"*Reading.* {reading}",
        table(rows, getattr(script, "BESIDE", "paper")),
    ]
    if script.AXES:
        file = page.with_suffix("") / f"{part.name}{'_1m' * part.is_again}.svg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(draw(rows, *script.AXES) + "\n", encoding="utf-8")
        parts.append(f"![{title}]({file.parent.name}/{file.name})")
    data = "path/to/ml-1m" if part.of_1m else "path/to/ml-100k"
    parts.append(f"`python experiments/{part.name}.py {data}`")
    print(f"{part.name}: {time.perf_counter() - start:.0f} s", flush=True)
    return Section(title, "\n\n".join(parts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pages = Path(__file__).resolve().parent.parent / "docs" / "appendix"
    parser.add_argument("folder", type=Path, help="the folder of MovieLens 100K")
    parser.add_argument("--ml1m", type=Path, help="the folder of MovieLens 1M, with ratings.csv")
    parser.add_argument("--page", type=Path, default=pages / "reproduction.md")
    parser.add_argument(
        "--only", nargs="+", default=[], help="run these scripts; the page keeps the other sections"
    )
    options = parser.parse_args()
    if not (options.folder / "u1.base").is_file():
        parser.error(f"{options.folder} has no u1.base; name the folder of MovieLens 100K")
    if options.ml1m and not (options.ml1m / "ratings.csv").is_file():
        parser.error(f"{options.ml1m} has no ratings.csv; name the folder of MovieLens 1M")
    main(options.folder, options.ml1m, options.page, options.only)
