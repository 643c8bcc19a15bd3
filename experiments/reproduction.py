"""All tables and figures of the papers that MovieLens 100K can carry, on one page.

    python experiments/reproduction.py path/to/ml-100k [PAGE]

Writes PAGE (docs/reproduction.md if not given), and its charts into a folder of the same name
beside it. Seeds are fixed: the same data give the same page.
"""

import importlib
import sys
import time
from pathlib import Path

from page import Row, draw, table

SCRIPTS = (
    *("chang_table_1", "chang_table_2", "chang_table_3"),
    *("chang_figure_3", "chang_figure_4", "chang_figure_5"),
    *("thesis_figure_3_5", "thesis_figure_4_1", "thesis_figure_4_2", "thesis_figure_4_4"),
    *("thesis_figure_6_1", "thesis_figure_6_2"),
    *("k_corating_table_3", "k_corating_figure_3"),
)
OPENING = """# Reproduction

What becomes of the papers' tables and figures on MovieLens 100K (943 people, 1682 items, 100,000
ratings)? This page is written by `make experiments DATA=path/to/ml-100k`; do not edit it. Each
section is one script of `experiments/`.

**How to read it.** Chang et al. used the whole Netflix Prize data, so their absolute figures cannot
be met: what is compared are their claims, that is directions, orders and factors. The thesis and
k-coRating used MovieLens 100K itself. Each claim carries the bound by which it is judged; where a
paper says "little" or "a lot", the bound is ours. Nothing was tuned until a claim held. *Paper* is
what the text prints, or what follows from it; where it is empty, the text prints nothing, and what
could only be read off a plot is not given. *Difference* is ours less the paper's.

"""


def main(folder: Path, page: Path) -> None:
    """Run all scripts and write the page."""
    summary = ["| table or figure | claims that hold | claims that fail |", "|---|---:|---:|"]
    sections = []
    for name in SCRIPTS:
        start = time.perf_counter()
        script = importlib.import_module(name)
        rows: list[Row] = script.run(folder)
        verdicts = [row.holds for row in rows if row.holds is not None]
        title = script.TITLE
        anchor = "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
        good, bad = verdicts.count(True), verdicts.count(False)
        summary.append(f"| [{title}](#{anchor}) | {good} | {bad} |")
        parts = [f"## {title}", f"*Reading.* {script.READING}", table(rows)]
        if script.AXES:
            file = page.with_suffix("") / f"{name}.svg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(draw(rows, *script.AXES) + "\n", encoding="utf-8")
            parts.append(f"![{title}]({file.parent.name}/{file.name})")
        sections.append("\n\n".join([*parts, f"`python experiments/{name}.py path/to/ml-100k`"]))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    text = OPENING + "\n".join(summary) + "\n\n" + "\n\n".join(sections) + "\n"
    page.write_text(text, encoding="utf-8")
    print(f"wrote {page}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not Path(sys.argv[1], "u1.base").is_file():
        sys.exit(__doc__)
    docs = Path(__file__).resolve().parent.parent / "docs"
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else docs / "reproduction.md")
