"""What the fast and the slow tests of `test_packing.py` share."""

import bz2
import gzip
import io
import lzma
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

CSV = "user,item,rating\n" + "".join(f"{n % 7},{n},{n % 5 + 1}\n" for n in range(3_000))


def zipped(content, name="ml/ratings.csv", method=zipfile.ZIP_DEFLATED):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        archive.writestr("ml/", "")
        archive.writestr("ml/README.txt", "How to cite us.")
        archive.writestr("__MACOSX/ml/._ratings.csv", "\0")
        archive.writestr(name, content)
    return sink.getvalue()


def of_zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(content)
    return sink.getvalue().to_pybytes()


PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": of_zstd,
    "zip": zipped,
}


def as_parquet():
    sink = pa.BufferOutputStream()
    columns = {"user": [n % 7 for n in range(60)], "item": list(range(60)), "rating": [3, 4] * 30}
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()
