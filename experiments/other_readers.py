r"""Would DuckDB or polars read a text as recveil does? Seconds and peak memory, and kept digits.

    python experiments/other_readers.py [--rows 20_000_000]

Writes a CSV of synthetic ratings, and reads all its columns as text in a process of its own. Then
it reads a rating of 3.50 in JSON.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from arguments import parser_of

READERS = {
    "recveil": "from recveil.io import read_table; read_table(path).table.num_rows",
    "DuckDB": "import duckdb; sum(b.num_rows for b in duckdb.sql(f\"FROM read_csv('{path}', "
    "all_varchar=true, delim=',', quote='\\\"', header=true)\").to_arrow_reader())",
    "polars": "import polars; polars.read_csv(path, infer_schema=False).height",
}
_MEASURED = (
    "import resource, sys, time; path = sys.argv[1]; start = time.perf_counter(); {}; "
    "print(f'{{time.perf_counter() - start:.1f}} s, "
    "{{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}} GB')"
)


def write_ratings(path: Path, n_rows: int) -> None:
    """Write synthetic ratings, a million rows at a time."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("user_id,item_id,rating\n")
        for start in range(0, n_rows, 1_000_000):
            n = min(1_000_000, n_rows - start)
            users, items = rng.integers(1, 2_000_000, n), rng.integers(1, 100_000, n)
            values = rng.integers(1, 11, n) / 2
            rows = zip(users.tolist(), items.tolist(), values.tolist(), strict=True)
            file.writelines(f"user-{u:09d},item-{i:07d},{r:.1f}\n" for u, i, r in rows)


def main() -> None:
    """Print what each reader takes, and what it reads."""
    import duckdb
    import polars as pl

    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder, "ratings.csv")
        write_ratings(path, options.rows)
        for name, code in READERS.items():
            command = [sys.executable, "-c", _MEASURED.format(code), str(path)]
            print(name, subprocess.check_output(command, text=True).strip())  # noqa: S603
        path = Path(folder, "ratings.json")
        path.write_text('{"rating": 3.50}\n')
        query = f"FROM read_json('{path}', columns={{rating: 'VARCHAR'}})"
        print("3.50 in JSON: DuckDB", duckdb.execute(query).fetchall(), end=", polars ")
        print(pl.read_ndjson(path, schema={"rating": pl.String}).row(0))


if __name__ == "__main__":
    main()
