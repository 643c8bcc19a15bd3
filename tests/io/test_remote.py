"""What lies with a service is read as if it lay here, and leaves nothing behind."""

import os
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.auditing.auxiliary_file import read_knowledge
from recveil.io import read_levels, read_ratings, read_trust, understand
from recveil.io.remote import _is_part, fetched, local_path

TABLE = pa.table({"user": ["ann", "ben", "cleo"], "item": [7, 7, 9], "rating": [4.0, 3.5, 1.0]})
CSV = "user,item,rating\nann,7,4\nben,7,3.5\ncleo,9,1\n"


@pytest.fixture
def bucket(tmp_path):
    """A folder with a file, and tables in parts."""
    folder = tmp_path / "bucket"
    (folder / "parts").mkdir(parents=True)
    (folder / "my ratings.csv").write_text(CSV)
    for at in range(3):
        pq.write_table(TABLE.slice(at, 1), folder / "parts" / f"part-{at}.parquet")
        inner = folder / "dates" / f"date=2020-01-{at + 1:02}"
        inner.mkdir(parents=True)
        pq.write_table(TABLE.slice(at, 1), inner / "0.parquet")
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def expected(bucket):
    return read_ratings(bucket / "my ratings.csv")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, of which nothing may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert list(folder.iterdir()) == []


class TestWithAFileSystemOfOurOwn:
    """A folder in the place of a service."""

    @pytest.fixture(autouse=True)
    def system(self, bucket, monkeypatch, temporary):
        own = pa.fs.SubTreeFileSystem(str(bucket), pa.fs.LocalFileSystem())

        def from_uri(uri):
            return own, unquote(uri.partition("://")[2].partition("/")[2])

        monkeypatch.setattr(pa.fs, "FileSystem", SimpleNamespace(from_uri=from_uri))

    @pytest.mark.parametrize("scheme", ["s3", "gs"])
    def test_a_file(self, scheme, expected):
        reading = understand(f"{scheme}://bucket/my%20ratings.csv")
        assert reading.ratings == expected
        assert reading.name == "my ratings.csv"

    @pytest.mark.parametrize("place", ["parts", "parts/", "parts/part-*.parquet", "p*/part-*"])
    def test_parts(self, place, expected):
        assert read_ratings(f"s3://bucket/{place}") == expected

    def test_what_stands_next_to_a_table(self, bucket, expected):
        (bucket / "levels.csv").write_text("user_id,k\nann,3\n")
        (bucket / "trust.txt").write_text("ann ben 1\n")
        (bucket / "known.jsonl").write_text('{"target": "x", "item": 7, "rating": 4}\n')
        levels = read_levels("s3://bucket/levels.csv", expected.users, 1)
        assert levels.tolist() == [3, 1, 1]
        assert read_trust("s3://bucket/trust.txt", expected.users).links.sum() == 1
        for known in ("known.jsonl", "my%20ratings.csv"):
            assert read_knowledge(f"s3://bucket/{known}").ratings.n_items > 0
        found = audit(
            expected,
            auxiliary="s3://bucket/known.jsonl",
            targets=2,
            curves=False,
            duplicates="last",
        )
        assert [each.target for each in found.suspects] == ["x"]

    @pytest.mark.parametrize("address", ["sqlite:///shop.db", "postgresql://ann@host/shop"])
    def test_no_database_stands_next_to_a_table(self, address, expected):
        for name, read in {
            "privacy_levels": lambda: read_levels(address, expected.users, 1),
            "trust": lambda: read_trust(address, expected.users),
            "auxiliary": lambda: read_knowledge(address),
        }.items():
            with raises("input.unknown-format") as error:
                read()
            assert str(error.value).startswith(f"{name} (--")

    def test_partitions(self, expected):
        reading = understand("s3://bucket/dates")
        assert reading.ratings.n_ratings == 3
        assert reading.ratings.days is not None
        assert understand("s3://bucket/dates/*/*.parquet").ratings.days is not None

    @pytest.mark.parametrize("place", ["nope.csv", "empty", "parts/*.csv", "my%20ratings.csv/*"])
    def test_nothing_there(self, place):
        with raises("input.not-found"):
            understand(f"s3://bucket/{place}")

    def test_the_copy_is_its_owners_alone(self):
        with fetched("s3://bucket/parts") as path:
            files = [path, *path.iterdir()]
            assert len(files) == 4
            assert not any(file.stat().st_mode & 0o077 for file in files)
            assert not path.parent.parent.stat().st_mode & 0o077

    def test_nothing_stays_after_an_error(self):
        with raises("column.missing"):
            understand("s3://bucket/parts", user="nobody")

    def test_too_little_room(self, monkeypatch):
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
        with raises("machine.disk"):
            understand("s3://bucket/my%20ratings.csv")


def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, temporary, monkeypatch):
    info = SimpleNamespace(type=pa.fs.FileType.Directory)
    evil = SimpleNamespace(path="bucket/parts/../../evil.csv", is_file=True, size=5)
    system = SimpleNamespace(get_file_info=lambda what: info if isinstance(what, str) else [evil])
    chosen = SimpleNamespace(from_uri=lambda uri: (system, "bucket/parts"))
    monkeypatch.setattr(pa.fs, "FileSystem", chosen)
    with raises("input.remote"):
        understand("s3://bucket/parts/*/*/*")


@pytest.mark.parametrize(
    "raised",
    [
        pa.ArrowNotImplementedError("built without S3: key geheim"),
        OSError("AWS Error ACCESS_DENIED during HeadObject: geheim"),
        OSError("AWS Error NO_SUCH_BUCKET during ListObjects: geheim"),
        OSError("AWS Error NETWORK_CONNECTION: curlCode: 6, geheim"),
        pa.ArrowInvalid("Cannot parse URI: 's3://geheim:geheim@b'"),
    ],
)
def test_errors_are_reported_without_secrets(raised, monkeypatch, temporary):
    def from_uri(uri):
        raise raised

    monkeypatch.setattr(pa.fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    with raises("input.remote") as refused:
        understand("s3://key:geheim@bucket/ratings.csv")
    assert str(refused.value).startswith("ratings.csv: ")
    assert "geheim" not in str(refused.value)


class TestALocalAddress:
    def test_it_is_a_file(self, bucket, expected):
        assert read_ratings((bucket / "my ratings.csv").as_uri()) == expected
        assert read_ratings(f"file://localhost{quote(str(bucket))}/parts") == expected

    @pytest.mark.parametrize("address", ["file://", "file:///", "file://host/data.csv"])
    def test_what_names_none(self, address):
        with raises("input.address"):
            local_path(address)

    def test_nothing_there(self, tmp_path):
        with raises("input.not-found"):
            understand(f"file://{tmp_path}/nope.csv")


class OneBucket(BaseHTTPRequestHandler):
    """As much of S3 as reading takes."""

    folder: Path

    def log_message(self, *given):
        pass

    def do_HEAD(self):  # the name that is looked for
        self.respond(body=False)

    def do_GET(self):
        parts = urlsplit(self.path)
        asked = parse_qs(parts.query)
        if "list-type" in asked or "prefix" in asked:
            self.listing(asked.get("prefix", [""])[0])
        else:
            self.respond(body=True)

    def respond(self, body):
        file = self.folder / unquote(urlsplit(self.path).path).removeprefix("/bucket").lstrip("/")
        if "geheim" not in self.headers.get("Authorization", ""):
            self.send_error(403)
            return
        if not file.is_file() and file != self.folder:
            self.send_error(404)
            return
        content = file.read_bytes() if file.is_file() else b""
        first, last = 0, len(content)
        if asked := self.headers.get("Range"):
            start, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(start), min(int(end or last), last - 1) + 1
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last - first))
        self.send_header("Content-Type", "text/csv")
        self.end_headers()
        if body:
            self.wfile.write(content[first:last])

    def listing(self, prefix):
        files = [file for file in sorted(self.folder.rglob("*")) if file.is_file()]
        keys = [(file.relative_to(self.folder).as_posix(), file.stat().st_size) for file in files]
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{size}</Size>"
            "<LastModified>2020-01-15T00:00:00.000Z</LastModified></Contents>"
            for key, size in keys
            if key.startswith(prefix)
        )
        content = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult '
            'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>'
            f"<KeyCount>{rows.count('<Key>')}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/xml")
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(folder):
    handler = type("Handler", (OneBucket,), {"folder": folder})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=here"
        server.shutdown()
        thread.join()


@pytest.mark.skipif(not hasattr(pa.fs, "S3FileSystem"), reason="pyarrow was built without S3")
class TestAgainstAServerThatSpeaksS3:
    @pytest.fixture(autouse=True)
    def credentials(self, monkeypatch, temporary):
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "geheim")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim-too")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    def test_a_file_and_parts(self, bucket, expected):
        with serving(bucket) as options:
            assert read_ratings(f"s3://bucket/my%20ratings.csv?{options}") == expected
            assert read_ratings(f"s3://bucket/parts?{options}") == expected
            assert read_ratings(f"s3://bucket/parts/part-*.parquet?{options}") == expected
            with raises("input.not-found"):
                understand(f"s3://bucket/nope.csv?{options}")

    def test_a_bucket_without_permission(self, bucket, monkeypatch):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stranger")
        with serving(bucket) as options, raises("input.remote"):
            understand(f"s3://bucket/my%20ratings.csv?{options}")


def test_what_a_pattern_finds_below_a_folder_that_is_passed_over_is_no_part():
    assert _is_part("0/p.csv", "*/*.csv")
    assert not _is_part("_temporary/p.csv", "*/*.csv")
    assert not _is_part("_temporary/p.csv", "")
