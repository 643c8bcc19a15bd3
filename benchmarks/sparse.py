"""How long sparse rows take, from ratings in memory to a verified release, and how much memory.

python benchmarks/sparse.py              1 and 10 million ratings
python benchmarks/sparse.py --netflix    480,189 people, 100 million ratings

Everything is invented, so that anybody can run it. The release is streamed to Parquet in a
temporary folder (--folder), read back and verified, and removed.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from recveil.anonymize import SparseRows
from recveil.datasets import make_ratings

SIZES = ((4_790, 5_000, 1_000_000), (47_900, 10_000, 10_000_000))
NETFLIX = (480_189, 17_770, 100_480_507)


def main() -> None:
    """Read the options, anonymize, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--netflix", action="store_true", help="the size of the Netflix Prize data")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where releases are written and removed")
    options = parser.parse_args()

    print(f"load {os.getloadavg()[0]:.1f}")
    # Compile before the clock runs.
    SparseRows(5, seed=1).anonymize(make_ratings(200, 100, 3_000))
    print("people, items, ratings | anonymize (processor) | write and verify | peak memory")
    for size in (NETFLIX,) if options.netflix else SIZES:
        measure(size, options)


def measure(size: tuple[int, int, int], options: argparse.Namespace) -> None:
    """Make one release of an invented table, and print what that took."""
    ratings = make_ratings(*size, seed=1)
    start, worked = time.perf_counter(), time.process_time()
    release = SparseRows(options.k, seed=1).anonymize(ratings)
    made, worked = time.perf_counter(), time.process_time() - worked
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        verdict = release.write(Path(folder) / "out")
    written = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{', '.join(f'{number:,}' for number in size)} | {made - start:.1f} s ({worked:.1f} s) | "
        f"{written - made:.1f} s, at least {verdict.k_achieved} share a row | {peak:.2f} GB",
        flush=True,
    )


if __name__ == "__main__":
    main()
