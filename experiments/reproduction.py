"""All tables and figures of the papers that MovieLens can carry.

    python experiments/reproduction.py path/to/ml-100k [--ml1m path/to/ml-1m] [--folder FOLDER]
        [--only SECTION ...]

A section is a script, or what the names of several begin with: outside, narayanan, chang, thesis,
k_corating, likes, words, synthetic (whose table is printed).

Writes measured.csv and the charts into FOLDER (docs/appendix/reproduction if not given), from which
docs/appendix/reproduction.md is written by hand. Seeds are fixed: the same data give the same
figures, but for the times of GeCom. Without MovieLens 1M (a folder with ratings.csv), its rows
stay as they are; so do those of scripts that fail, or that need packages or data which are not
there. Two families of scripts run at once, and the record is written after each. Each script's
seconds are printed, and those of all processors.
"""

import csv
import importlib
import resource
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
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
    *("k_corating_limits", "likes", "words", "synthetic_users"),
)
SCRIPTS_1M = (
    *("narayanan_figure_1", "narayanan_figures_2_3", "narayanan_figure_7", "narayanan_figure_8"),
    *("narayanan_figure_12", "narayanan_table", "k_corating_table_3"),
    "synthetic_users",
)
# Families of scripts run next to each other, from the one that takes longest.
_PROCESSES = 2
_LONGEST = "outside", "synthetic", "k", "likes", "narayanan", "chang", "thesis", "words"
_FAILED = "it failed"


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
    found = defaultdict[Part, list[Line]](list)
    for line in read_record(record) if record.is_file() else []:
        found[Part(line.script, line.data)].append(line)
    asked = [
        part
        for part in PARTS
        if not only or any(f"{part.script}_".startswith(f"{name}_") for name in only)
    ]
    n_failed = 0
    # Each family in a process of its own, the longest first.
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn"), max_tasks_per_child=1) as processes:
        runs = [
            processes.submit(run_family, family, sources, folder)
            for family in sorted(families_of(asked), key=_place)
        ]
        for done in as_completed(runs):
            for part, lines, reason in done.result():
                n_failed += reason == _FAILED
                if reason:
                    print(f"{part.script}, {part.data}: not run; {reason}", flush=True)
                found[part] = lines or found[part]
            write_record(record, [line for part in PARTS for line in found[part]])
    print(f"wrote {record}; {processor_seconds():.0f} s of all processors")
    return n_failed


def _place(family: list[Part]) -> int:
    return _LONGEST.index(_prefix(family[0]))


def _prefix(part: Part) -> str:
    return part.script.partition("_")[0]


def families_of(parts: Iterable[Part]) -> list[list[Part]]:
    """Return the scripts on one data set that share what they compute."""
    found = defaultdict[tuple[str, str], list[Part]](list)
    for part in parts:
        found[_prefix(part), part.data].append(part)
    return list(found.values())


def run_family(
    parts: list[Part], sources: dict[str, Path | None], folder: Path
) -> list[tuple[Part, list[Line], str]]:
    """Return the rows of each script, and why there are none."""
    result = []
    for part in parts:
        source, lines = sources[part.data], list[Line]()
        reason = missing_packages(part) if source else "no data"
        if source and not reason:
            try:
                lines = list(measure(part, source, folder))
            except Exception:
                traceback.print_exc()
                reason = _FAILED
        result.append((part, lines, reason))
    return result


def write_record(record: Path, lines: Iterable[Line]) -> None:
    """Write the rows of all scripts."""
    with record.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Line._fields)
        writer.writerows(lines)


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
