"""Files that are no ratings: what they are is said, and what to make of them."""

import bz2
import gzip
import io
import lzma
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pyarrow as pa
import pyarrow.orc
import pytest

from recveil.io import read_ratings, understand
from recveil.runtime.errors import RecveilError

TRIPLES = [(f"u{n % 7}", f"a=i{n}, the", n % 5 + 1) for n in range(60)]

OBJECTS = [dict(zip(("user", "item", "rating"), each, strict=True)) for each in TRIPLES]

NUMBERS = "".join(f"{n % 7 + 1} {n + 1} {n % 5 + 1}\n" for n in range(60))

ARFF = "@relation r\n@ATTRIBUTE user string\n\n@data\n%\n@u,i0,4\n"

CONVERTED = {
    "one dict a line": "".join(f"{each!r}\n" for each in OBJECTS) + "\n",
    "list of dicts": repr(OBJECTS),
    "list of dicts over lines": "ratings = [\n" + "".join(f" {r!r},\n" for r in OBJECTS) + "]\n",
    "one tuple a line": "".join(f"{each!r}\n" for each in TRIPLES),
    "tuples of numbers": "".join(f"{(n % 7, n, n % 5 + 1)},\n" for n in range(60)),
    "list of tuples": repr(TRIPLES),
    "list of tuples over lines": "r = [\n" + "".join(f" {r!r},\n" for r in TRIPLES) + "]\n",
    "one list a line": "".join(f"{[*each]}\n" for each in TRIPLES),
    "list of lists": repr([[*each] for each in TRIPLES]),
    "MatrixMarket": f"%%MatrixMarket matrix coordinate integer general\n%\n\n7 60 60\n{NUMBERS}",
    "matrixmarket": f"%%matrixmarket matrix coordinate integer general\n7 60 60\n{NUMBERS}",
    "ARFF": ARFF + "".join(f"u{n % 7},i{n},{n % 5 + 1}\n" for n in range(1, 60)),
    **{
        f"between {mark}": "".join(f"u{n % 7}{mark}i{n}{mark}{n % 5 + 1}\n" for n in range(60))
        for mark in ("^|^", "|~|", "¬", "þ", "$#", r"\t")
    },
}


def in_zip(content: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("README.txt", "not, a, table\n")
        archive.writestr("the ratings.txt", content)
    return sink.getvalue()


PACKERS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}

PACKERS |= {"zip": in_zip, "zstd": lambda content: pa.compress(content, "zstd", asbytes=True)}

UNPACKERS = {"gzip": "gunzip", "bzip2": "bunzip2", "xz": "unxz", "zstd": "unzstd", "zip": "unzip"}


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("kind", CONVERTED)
def test_the_command_of_an_error_makes_a_file_that_is_read(tmp_path, kind, packing):
    for program in ("awk", "grep", "tail", "sh", UNPACKERS.get(packing, "cat")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    (tmp_path / "download").write_bytes(PACKERS[packing](CONVERTED[kind].encode()))
    with pytest.raises(RecveilError) as caught:
        read_ratings(tmp_path / "download")
    assert len(str(caught.value)) < 300
    command, name = re.search(
        r": ((?:cat|\w+ <|unzip) .* > (ratings\.\w+))", str(caught.value)
    ).groups()
    command = command.replace("FILE", "download").replace("python", shlex.quote(sys.executable))
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    made = understand(tmp_path / name).ratings
    assert (made.n_ratings, made.n_items) == (60, 60)
    assert made.n_users == 7 + (kind == "ARFF")
