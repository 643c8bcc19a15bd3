"""A release in parts that one process writes."""

import itertools

import pyarrow as pa
import pyarrow.parquet as pq

from recveil.publish.folder import Here, Written, rating_writer, tables
from recveil.release.manifest import FileEntry, part_name


class InParts(Here):
    """Writes each block of records, and some of the users, to a part of their own."""

    def write_ratings(self, published, folder, file_format, *, in_groups):
        whole = super().write_ratings(published, folder, file_format, in_groups=in_groups)
        (folder / "ratings.parquet").unlink()
        files = {}
        for number, table in enumerate(self.cut(published, in_groups)):
            file = folder / part_name(number)
            with rating_writer(file, "parquet", published, in_groups=in_groups) as writer:
                writer.write_table(table)
            files[file.name] = FileEntry.of(file)
        return Written(files, whole.counts, whole.items)

    def cut(self, published, in_groups):
        """Yield the rows in three pieces of whole records."""
        found = [table for table, _ in tables(published, published.blocks(), in_groups=in_groups)]
        table = pa.concat_tables(found)
        ids = table["user_id"].to_pylist()
        starts = [at for at, name in enumerate(ids) if not at or name != ids[at - 1]]
        cuts = [0, starts[len(starts) // 3], starts[len(starts) // 2], len(ids)]
        for first, last in itertools.pairwise(cuts):
            yield table.slice(first, last - first)

    def write_users(self, release, folder, layout):
        super().write_users(release, folder, layout)
        table = pq.read_table(folder / "assignment.parquet")
        (folder / "assignment.parquet").unlink()
        pq.write_table(table.slice(0, 20), folder / part_name(0, "assignment"))
        pq.write_table(table.slice(20), folder / part_name(1, "assignment"))
        return {"assignment_parts": 2}
