"""Fuzz one target, or all in turn: python fuzz/run.py [--seconds 60] [--patience 20] [TARGET ...].

Each target runs in a process of its own, guided by what of recveil it reaches. What is found is
written to fuzz/findings; put it into the corpus once it is mended, and `make test` keeps it so.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
WATCHED = [
    *(f"recveil.{name}" for name in ("io", "ratings", "decoding", "release", "verify", "errors")),
    "recveil.anonymize.drawing_options",
]
# Compiled kernels cannot be watched.
COMPILED = (
    *("recveil.compiled", "recveil.ratings.assemble", "recveil.ratings.labels"),
    *("recveil.verify.notation", "recveil.verify.diversity", "recveil.verify.pages"),
    "recveil.release.as_given",
)
OF_LINES = ("text", "gzip", "netflix", "catalogue", "levels", "release")
ODD = [
    *(b"0", b"-0", b"1", b"-1", b"2", b"3.5", b"1e400", b"nan", b"inf", b"", b'"', b'""', b"null"),
    *(b"true", b"9223372036854775807", b"9223372036854775808", b"0.1", b"5.0", b"1e-320", b"\xff"),
    *(b"1.7976931348623157e308", b"[]", b"{}", b"p0000-0", "\u0660".encode(), b"4294967296"),
]
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

    sys.path[:0] = [str(HERE.parent / "tests" / "verify")]  # the second checker lives there

    with atheris.instrument_imports(include=WATCHED, exclude=list(COMPILED)):
        import targets

    def by_lines(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.4:
            return atheris.Mutate(data, most)
        for _ in range(rng.choice([1, 1, 2, 4])):
            data = change_lines(data, rng)
        return data[:most]

    own = [argument for argument in sys.argv[1:] if argument not in (name, "--here")]
    how = {"custom_mutator": by_lines} if name in OF_LINES else {}
    atheris.Setup([sys.argv[0], *own], targets.TARGETS[name], **how)
    atheris.Fuzz()
    return 0


def change_lines(data: bytes, rng: random.Random) -> bytes:
    """Change whole lines, fields and numbers, as single bytes seldom do."""
    lines = data.split(b"\n")
    one, other = sorted(rng.choices(range(len(lines)), k=2))
    way = rng.randrange(6)
    if way == 0:  # take lines out
        del lines[one : one + rng.choice([1, 1, 2, 6])]
    elif way == 1:  # the same lines again
        lines[other:other] = lines[one : one + rng.choice([1, 1, 2, 6])]
    elif way == 2:
        lines[one], lines[other] = lines[other], lines[one]
    else:  # a field takes the place of another one, or a number changes
        own, theirs = (re.split(rb"([,:\t ]+)", lines[at]) for at in (one, other))
        at = rng.randrange(len(own))
        own[at] = rng.choice(theirs) if way < 5 else rng.choice(ODD)
        lines[one] = b"".join(own)
    return b"\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
