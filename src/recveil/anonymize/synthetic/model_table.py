"""Model table: the rule by which people are drawn, as it is published, and read back."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.anonymize.synthetic.people_model import PeopleModel
from recveil.ratings import RatingScale
from recveil.release.manifest import Manifest
from recveil.release.records import Records
from recveil.release.synthetic_form import DIGITS
from recveil.release.synthetic_words import SYNTHETIC


def model_table(items: NDArray[Any], model: PeopleModel) -> pa.Table:
    """Return one row an item: its id, and its numbers as float32.

    Examples
    --------
    >>> scale = RatingScale(1, 5, 1)
    >>> tastes, one = np.zeros((2, 3), np.float32), np.ones(2)
    >>> model = PeopleModel(np.zeros(2, np.float32), tastes, one, one, np.zeros(4), 0.5, 0.5, scale)
    >>> model_table(np.array([7, 9]), model).column_names
    ['item_id', 'offset', 'worth', 'taste_0', 'taste_1', 'taste_2']
    """
    numbers = [model.offsets, model.worth, *model.tastes.T]
    names = SYNTHETIC.model_columns(1 + len(numbers)) if SYNTHETIC.model_columns else ()
    columns = [np.ascontiguousarray(column, np.float32) for column in numbers]
    return pa.table(dict(zip(names, [pa.array(items), *columns], strict=True)))


def model_settings(model: PeopleModel) -> dict[str, list[float]]:
    """Return what else the rule consists of, as it stands in release.json."""
    numbers = {
        "activity": model.activity,
        "cuts": model.cuts,
        "spreads": np.array([model.strictness, model.chance]),
    }
    return {name: [round(float(number), DIGITS) for number in of] for name, of in numbers.items()}


def read_model(table: pa.Table, settings: Mapping[str, Any], scale: RatingScale) -> PeopleModel:
    """Return the rule that a table and settings tell; see `model_table` and `model_settings`."""
    columns = [np.asarray(column.to_numpy()) for column in table.columns[1:]]
    strictness, chance = settings["spreads"]
    return PeopleModel(
        offsets=columns[0].astype(np.float32),
        tastes=np.column_stack(columns[2:]).astype(np.float32),
        activity=np.asarray(settings["activity"], np.float64),
        worth=columns[1].astype(np.float64),
        cuts=np.asarray(settings["cuts"], np.float64),
        strictness=float(strictness),
        chance=float(chance),
        scale=scale,
        noise=settings["noise"],
    )


def sample_people(
    manifest: Manifest, table: pa.Table, n_people: int, rng: np.random.Generator
) -> Iterator[Records]:
    """Draw people from a published model, over the table's items."""
    model = read_model(table, manifest.settings, manifest.scale)
    grid, step = manifest.settings["label_step"], manifest.scale.step
    return model.draw(n_people, rng, whole=step is not None and grid == step)
