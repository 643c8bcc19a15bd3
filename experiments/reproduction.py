"""All tables and figures of the papers that MovieLens can carry.

    python experiments/reproduction.py path/to/ml-100k [--ml1m path/to/ml-1m] [--folder FOLDER]
        [--only SECTION ...]

A section is a script, or what the names of several begin with: outside, narayanan, chang, thesis,
k_corating, likes, words.

Writes measured.csv and the charts into FOLDER (docs/appendix/reproduction if not given), from which
docs/appendix/reproduction.md is written by hand. Seeds are fixed: the same data give the same
figures, but for the times of GeCom. Without MovieLens 1M (a folder with ratings.csv), its rows
stay as they are; so do those of scripts that fail, or that need packages or data which are not
there. Each script's seconds are printed, and those of all processors.
"""

import csv
import importlib
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arguments import folder_with, parser_of
from page import Row, draw, ours

SCRIPTS = (
    *("outside_attacks", "outside_lists"),
    *(f"narayanan_{name}" for name in ("figure_1", "figures_2_3", "figure_4", "figure_5")),
    *(f"narayanan_{name}" for name in ("figure_6", "figure_7", "figure_8", "figure_9")),
    *(f"narayanan_{name}" for name in ("figure_10", "figure_11", "figure_12", "table", "titles")),
    *("narayanan_noise", "narayanan_sensitive"),
    *("chang_table_1", "chang_table_2", "chang_table_3"),
    *("chang_figure_3", "chang_figure_4", "chang_figure_5", "chang_padding"),
    *("thesis_figure_3_5", "thesis_figure_4_1", "thesis_figure_4_2", "thesis_figure_4_4"),
    *("thesis_figure_6_1", "thesis_figure_6_2", "thesis_rotation"),
    "thesis_worst_case",
    *("k_corating_table_2", "k_corating_table_3", "k_corating_figures_1_2", "k_corating_figure_3"),
    *("k_corating_limits", "likes", "words"),
)
SCRIPTS_1M = (
    *("narayanan_figure_1", "narayanan_figures_2_3", "narayanan_figure_7", "narayanan_figure_8"),
    *("narayanan_figure_12", "narayanan_table", "k_corating_table_3"),
)


class Part(NamedTuple):
    """A script on one data set."""

    script: str
    data: str


class Line(NamedTuple):
    """One row of measured.csv; `compared` is the paper's figure, or who else measured it."""

    script: str
    data: str
    what: str
    recveil: str
    compared: str
    holds: str


PARTS = (*(Part(s, "ml-100k") for s in SCRIPTS), *(Part(s, "ml-1m") for s in SCRIPTS_1M))


def main(sources: dict[str, Path | None], folder: Path, only: list[str]) -> int:
    """Run all scripts, or some of them, write the record, and return how many failed."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "measured.csv"
    old = read_record(record) if record.is_file() else []
    lines: list[Line] = []
    n_failed = 0
    for part in PARTS:
        source = sources[part.data]
        is_asked = not only or any(f"{part.script}_".startswith(f"{name}_") for name in only)
        missing = missing_packages(part) if source else "no data"
        measured: list[Line] = []
        if is_asked and source and not missing:
            try:
                measured = list(measure(part, source, folder))
            except Exception:
                traceback.print_exc()
                missing = "it failed"
                n_failed += 1
        if is_asked and not measured:
            print(f"{part.script}, {part.data}: not run; {missing or 'no data'}", flush=True)
        lines += measured or [line for line in old if (line.script, line.data) == part]
    with record.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Line._fields)
        writer.writerows(lines)
    print(f"wrote {record}; {processor_seconds():.0f} s of all processors")
    return n_failed


def processor_seconds() -> float:
    """Return the processor time of this process and the ones that it started."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def read_record(record: Path) -> list[Line]:
    """Return the rows of an earlier run."""
    with record.open(encoding="utf-8", newline="") as file:
        return [Line(**row) for row in csv.DictReader(file)]


def missing_packages(part: Part) -> str:
    """Name the packages that a script needs and that are not installed; empty if none."""
    script = importlib.import_module(part.script)
    return str(script.missing()) if hasattr(script, "missing") else ""


def measure(part: Part, source: Path, folder: Path) -> Iterator[Line]:
    """Run one script, draw its chart, and return its labelled rows."""
    start, of_processors = time.perf_counter(), processor_seconds()
    script = importlib.import_module(part.script)
    rows: list[Row] = script.run(source)
    if rows and script.AXES:
        suffix = "_1m" if part.data == "ml-1m" and part.script in SCRIPTS else ""
        chart = folder / f"{part.script}{suffix}.svg"
        chart.write_text(draw(rows, *script.AXES) + "\n", encoding="utf-8")
    seconds, of_processors = time.perf_counter() - start, processor_seconds() - of_processors
    took = f"{seconds:.0f} s, of all processors {of_processors:.0f} s"
    print(f"{part.script}, {part.data}: {took}", flush=True)
    for row in rows:
        if row.label:
            compared = "" if row.paper is None else format(row.paper, row.form)
            holds = "" if row.holds is None else "yes" if row.holds else "no"
            yield Line(*part, row.label, ours(row), compared, holds)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    appendix = Path(__file__).resolve().parent.parent / "docs" / "appendix"
    parser.add_argument("data", type=folder_with("u1.base"), help="the folder of MovieLens 100K")
    parser.add_argument("--ml1m", type=folder_with("ratings.csv"), help="of MovieLens 1M")
    parser.add_argument("--folder", type=Path, default=appendix / "reproduction")
    parser.add_argument(
        "--only", nargs="+", default=[], help="run these sections; the others' rows stay"
    )
    options = parser.parse_args()
    for name in options.only:
        if not any(f"{script}_".startswith(f"{name}_") for script in SCRIPTS):
            parser.error(f"--only {name}: expected a script, or what its name begins with")
    sources = {"ml-100k": options.data, "ml-1m": options.ml1m}
    sys.exit(main(sources, options.folder, options.only) > 0)
