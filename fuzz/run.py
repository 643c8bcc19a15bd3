"""Fuzz one target, or all in turn: python fuzz/run.py [--seconds 60] [--patience 20] [TARGET ...].

Each target runs in a process of its own, guided by what of recveil it reaches. What is found is
written to fuzz/findings; put it into the corpus once it is mended, and `make test` keeps it so.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import mutating

HERE = Path(__file__).parent
WATCHED = [
    *(f"recveil.{name}" for name in ("io", "ratings", "release", "verification")),
    "recveil.runtime.errors",
    "recveil.methods.synthetic.options",
]
# Compiled kernels cannot be watched.
COMPILED = (
    *("recveil.runtime.compiled", "recveil.ratings.sorted_rows", "recveil.io.columns.ids"),
    *(
        "recveil.verification.equivalence_classes",
        "recveil.verification.not_covered",
        "recveil.verification.diversity",
        "recveil.verification.parquet_bytes",
        "recveil.verification.rule_of_users",
    ),
    "recveil.release.exact_ratings",
)
OF_LINES = ("text", "gzip", "packed", "json", "wide", "netflix", "catalogue", "levels")
OF_PARTS = ("stored-ratings", "stored-model")
MOST_BYTES, MOST_MEGABYTES = 1 << 13, 4096


def main() -> int:
    """Run the targets that are asked for; return 1 if one of them has a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--patience", type=int, default=20, help="seconds that one input may take")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given, _ = parser.parse_known_args()
    if given.here:
        return fuzz(given.targets[0])
    names = given.targets or sorted(folder.name for folder in (HERE / "corpus").iterdir())
    return max(run(name, given.seconds, given.patience) for name in names)


def run(name: str, seconds: int, patience: int) -> int:
    """Fuzz a target for so many seconds in another process; what it learns is thrown away."""
    (HERE / "findings").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as learned:
        command = [
            *(sys.executable, __file__, name, "--here", learned, str(HERE / "corpus" / name)),
            *(f"-max_total_time={seconds}", f"-timeout={patience}", "-print_final_stats=1"),
            *(f"-max_len={MOST_BYTES}", f"-rss_limit_mb={MOST_MEGABYTES}", "-verbosity=0"),
            f"-artifact_prefix={HERE / 'findings' / name}-",
        ]
        ended = subprocess.run(command, check=False)
    print(f"{name}: {'a finding' if ended.returncode else 'no finding'} in {seconds} seconds")
    return int(ended.returncode != 0)


def fuzz(name: str) -> int:
    """Fuzz a target in this process; it ends with it."""
    import atheris

    sys.path[:0] = [str(HERE.parent / "tests" / "verification")]  # the second checker lives there

    with atheris.instrument_imports(include=WATCHED, exclude=list(COMPILED)):
        import targets
        from dialects import change_table

    change = dict.fromkeys(OF_LINES, mutating.change_lines) | {"release": mutating.change_release}
    change |= dict.fromkeys(OF_PARTS, mutating.change_parts) | {"dialects": change_table}

    def by_change(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.4:
            return atheris.Mutate(data, most)
        for _ in range(rng.choice([1, 1, 2, 4])):
            data = change[name](data, rng)
        return data[:most]

    own = [argument for argument in sys.argv[1:] if argument not in (name, "--here")]
    how = {"custom_mutator": by_change} if name in change else {}
    atheris.Setup([sys.argv[0], *own], targets.TARGETS[name], **how)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
