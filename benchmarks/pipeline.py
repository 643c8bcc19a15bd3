"""How long every stage of the main job takes, how much memory, and how both grow.

python benchmarks/pipeline.py                    1 million ratings, some minutes (make bench)
python benchmarks/pipeline.py --millions 1 10 100      up to the shape of the Netflix Prize data
python benchmarks/pipeline.py --millions 1 10 --items 296277 --only anonymize     a long tail
python benchmarks/pipeline.py --former ../recveil-1.0/src          another version beside this one

Each contender of `benchmarks/stages.py` runs in a process of its own, one after the other, so that
the peak is its alone and includes what Python and the inputs take. The invented table keeps its
17,770 items (--items) and 209 ratings a user at every size. Next to other work the clock says
little; "processor" is the seconds of all cores that the whole process took, what it loads or
compiles first included. The peers come with pip install "recveil[bench]".
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from stages import STAGES, Stage, file_size

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_480_507
FORMAT = "{:<26}{:<24}{:>9}{:>10}{:>11}{:>11}{:>9}{:>10}"
FORMER = "recveil, former"  # measured with the limits of this one
PEERS = {
    "scikit-surprise": "surprise",
    "k-means-constrained": "k_means_constrained",
    "pandas": "pandas",
    "pandas + scipy": "pandas",
}


def main() -> None:
    """Read the options; measure, or let children measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=int, nargs="+", default=[1], help="of ratings")
    parser.add_argument("--items", type=int, default=ITEMS, help="of the invented tables")
    parser.add_argument("--only", nargs="+", default=[], help="stages whose names start so")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--former", type=Path, help="the src folder of a version to measure, too")
    parser.add_argument("--folder", type=Path, help="keep the data here; temporary if not given")
    parser.add_argument("--limit", type=int, default=900, help="most seconds of a measurement")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)  # what a child is asked
    options = parser.parse_args()
    if options.measure:
        measure(options.folder, *options.measure)
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as temporary:
        report(options, options.folder or Path(temporary))


def measure(folder: Path, stage: str, contender: str) -> None:
    """Run one contender and print what it took, children included: time, and the peak memory."""
    seconds = STAGES[stage].contenders[contender](folder)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    peak = max(of.ru_maxrss for of in used) * 1024 / 1e9
    processor = sum(of.ru_utime + of.ru_stime for of in used)
    print(json.dumps({"seconds": seconds, "processor": processor, "gigabytes": peak}))


def report(options: argparse.Namespace, folder: Path) -> None:
    """Measure all stages at all sizes, a line each as soon as it is known."""
    head = "stage", "contender", "millions", "seconds", "processor", "ns/rating", "growth"
    print(FORMAT.format(*head, "peak GB"))
    first: dict[tuple[str, str], float] = {}
    for name, stage in STAGES.items():
        if options.only and not any(name.startswith(start) for start in options.only):
            continue
        for contender in _contenders(stage, options):
            if (contender not in ("recveil", FORMER) and options.ours) or not _installed(contender):
                continue
            for millions in options.millions:
                if millions > stage.most.get(contender.removesuffix(", former"), millions):
                    continue
                place = _place(options, folder, millions)
                n_ratings = round(RATINGS * millions / 100)
                _prepare(place, options.items, n_ratings)
                if contender == FORMER:
                    place = _linked(place)
                line = _ask(options, place, name, contender)
                if line is None:
                    print(FORMAT.format(name, contender, millions, "-", "", "", "", ""))
                    continue
                each = 1e9 * line["seconds"] / n_ratings
                growth = each / first.setdefault((name, contender), each)
                took = f"{line['seconds']:.2f}", f"{line['processor']:.1f}", f"{each:.1f}"
                grown = f"{growth:.2f}", f"{line['gigabytes']:.2f}"
                print(FORMAT.format(name, contender, millions, *took, *grown), flush=True)
    for millions in options.millions:
        _print_sizes(_place(options, folder, millions), millions)


def _contenders(stage: Stage, options: argparse.Namespace) -> list[str]:
    is_former = options.former is not None and "recveil" in stage.contenders
    return [*([FORMER] if is_former else []), *stage.contenders]


def _place(options: argparse.Namespace, folder: Path, millions: int) -> Path:
    return folder / f"{millions}-million-of-{options.items}-items"


def _linked(place: Path) -> Path:
    """Return a folder with the same data and none of the releases, which versions do not share."""
    former = place / "former"
    if not former.exists():
        former.mkdir()
        for file in place.iterdir():
            if file.suffix in (".parquet", ".csv", ".npz", ".npy"):
                os.link(file, former / file.name)
    return former


def _installed(contender: str) -> bool:
    return contender not in PEERS or find_spec(PEERS[contender]) is not None


def _prepare(place: Path, n_items: int, n_ratings: int) -> None:
    """Invent the data in a child, whose memory is given back."""
    n_users = max(2_000, round(USERS * n_ratings / RATINGS))
    sizes = f"Path({str(place)!r}), {n_users}, {n_items}, {n_ratings}"
    code = f"from pathlib import Path; from stages import prepare; prepare({sizes})"
    run = [sys.executable, "-c", code]
    subprocess.run(run, check=True, cwd=Path(__file__).parent)  # noqa: S603


def _ask(
    options: argparse.Namespace, place: Path, stage: str, contender: str
) -> dict[str, float] | None:
    """Let a child measure; None if it takes longer than the limit, or fails."""
    name, environment = contender, dict(os.environ)
    if contender == FORMER:
        name, environment["PYTHONPATH"] = "recveil", str(options.former.resolve())
    command = [sys.executable, __file__, "--folder", str(place), "--measure", stage, name]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            timeout=options.limit,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as error:  # out of memory, most likely
        print(f"{stage}, {contender}: ended with {error.returncode}", file=sys.stderr)
        return None
    line: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return line


def _print_sizes(place: Path, millions: int) -> None:
    for release in ("padded-50", "padded-5", "simple-5", "sparse-5", "epsilon-1"):
        if (place / release).exists():
            raw = file_size(place, "ratings.parquet")
            size = file_size(place, f"{release}/ratings.parquet")
            print(
                f"{millions} million: {release} takes {size:.0f} MB; the raw Parquet {raw:.0f} MB"
            )


if __name__ == "__main__":
    main()
