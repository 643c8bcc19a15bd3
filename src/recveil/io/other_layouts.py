"""Layouts that libraries of recommenders load as a whole: a folder with a description in it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recveil.errors import RecveilError, quoted
from recveil.io.written_text import write_inter, written_table
from recveil.ratings import Ratings
from recveil.ratings.worded import labels_of

# The version of LensKit's data model whose interactions are sorted by user and item.
_LENSKIT_SCHEMA = "2025.3"
# RecBole has a small table of its own, which it takes for any data set of this name.
_RECBOLES_OWN = "ml-100k"


def write_lenskit(ratings: Ratings, folder: Path, target: Path) -> None:
    """Write a folder that ``lenskit.data.Dataset.load`` reads.

    Parameters
    ----------
    ratings : Ratings
    folder : Path
        Where to write: an empty folder.
    target : Path
        What the folder will be called.
    """
    for name, labels in (("user", ratings.users), ("item", ratings.items)):
        pq.write_table(
            pa.table({f"{name}_id": pa.array(labels)}), folder / f"{name}.parquet", compression=_ZIP
        )
    columns = {
        "user_num": pa.array(ratings.user_positions()),
        "item_num": pa.array(ratings.indices),
        "rating": labels_of(ratings.values.astype(np.float64), ratings.scale),
    }
    if ratings.days is not None:
        seconds = pa.array(ratings.days.astype(np.int64) * 86_400)
        columns["timestamp"] = seconds.cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    pq.write_table(pa.table(columns), folder / "rating.parquet", compression=_ZIP)
    attributes = {name: {"layout": "scalar"} for name in columns if not name.endswith("_num")}
    entities = {"user": ratings.users, "item": ratings.items}
    schema: dict[str, Any] = {
        "version": _LENSKIT_SCHEMA,
        "name": target.name,
        "default_interaction": "rating",
        "entities": {
            name: {"id_type": "str" if labels.dtype == object else "int", "attributes": {}}
            for name, labels in entities.items()
        },
        "relationships": {
            "rating": {
                "entities": {"user": None, "item": None},
                "interaction": True,
                "repeats": "forbidden",
                "attributes": attributes,
            }
        },
    }
    _write(folder / "schema.json", json.dumps(schema, indent=2, ensure_ascii=False))


def write_recbole(ratings: Ratings, folder: Path, target: Path) -> None:
    """Write RecBole's atomic file, and the ``.yaml`` that tells RecBole what is in it.

    Parameters
    ----------
    ratings, folder, target
        As for `write_lenskit`.

    Raises
    ------
    RecveilError
        If a label holds a tab or a line break, or if RecBole has a table of that name itself.
    """
    name = target.name
    if name == _RECBOLES_OWN:
        raise RecveilError(
            f"{name}: RecBole takes its own small table for every data set of this name; choose "
            f"another name",
            code="option.value",
        )
    inter = folder / f"{name}.inter"
    write_inter(ratings, inter, inter)
    columns = ", ".join(written_table(ratings).column_names)
    lines = [
        "# RecBole: run it in the folder that holds this one, with this file in config_file_list.",
        "data_path: .",
        f"dataset: {json.dumps(name, ensure_ascii=False)}",
        'field_separator: "\\t"',
        "USER_ID_FIELD: user_id",
        "ITEM_ID_FIELD: item_id",
        *([] if ratings.is_unary else ["RATING_FIELD: rating"]),
        *(["TIME_FIELD: timestamp"] if ratings.days is not None else []),
        "load_col:",
        f"  inter: [{columns}]",
    ]
    _write(folder / f"{name}.yaml", "\n".join(lines))


def how_to_load(format: str, target: Path, ratings: Ratings) -> str | None:
    r"""Say how a library loads what was written for it; None for a plain file.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1], [5, 6], [2, 4])
    >>> how_to_load("surprise", Path("u.data"), ratings)
    "surprise.Dataset.load_from_file('u.data', surprise.Reader(line_format='user item rating',
    sep='\\t', rating_scale=(2, 4)))"
    """
    place = quoted(str(target), 120)
    if format == "lenskit":
        return f"lenskit.data.Dataset.load({place})"
    if format == "recbole":
        file = quoted(f"{target.name}/{target.name}.yaml", 120)
        return f"run_recbole(model='BPR', config_file_list=[{file}])"
    if format == "surprise":
        times = "" if ratings.days is None else " timestamp"
        scale = ratings.scale
        return (
            f"surprise.Dataset.load_from_file({place}, surprise.Reader(line_format='user item "
            f"rating{times}', sep='\\t', rating_scale=({scale.low:g}, {scale.high:g})))"
        )
    return None


_ZIP = "zstd"


def _write(file: Path, text: str) -> None:
    file.write_text(f"{text}\n", "utf-8")
