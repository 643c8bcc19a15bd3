"""Read and write a user model as a published table."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.methods.synthetic.user_model import LikesModel, UserModel
from recveil.ratings import RatingScale
from recveil.release.manifest import Manifest
from recveil.release.records import Records
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.release.synthetic_form import DIGITS
from recveil.runtime.errors import RecveilError

# Tilts and likings of models of formats 3 and 4, which did not measure them; tilts by kind of
# noise.
_TILTS_BEFORE, _LIKING_BEFORE = {"none": 0.4, "gaussian": 0.2}, 0.2


def model_table(items: NDArray[Any], model: UserModel | LikesModel) -> pa.Table:
    """Return one row per item, with its id and its numbers as float32."""
    worth = [model.worth] if isinstance(model, UserModel) else []
    numbers = [model.offsets, *worth, *model.tastes.T]
    settings = model_settings(model)
    names = SYNTHETIC.model_columns(1 + len(numbers), settings) if SYNTHETIC.model_columns else ()
    columns = [np.ascontiguousarray(column, np.float32) for column in numbers]
    return pa.table(dict(zip(names, [pa.array(items), *columns], strict=True)))


def model_settings(model: UserModel | LikesModel) -> dict[str, Any]:
    """Return the model's other parameters, as in release.json.

    Examples
    --------
    >>> one = LikesModel(np.zeros(2, np.float32), np.zeros((2, 3), np.float32), np.ones(2))
    >>> model_settings(one)
    {'user_counts': [1.0, 1.0], 'factors': 2, 'feedback': 'implicit'}
    """
    if isinstance(model, LikesModel):
        directions = model.tastes.shape[1] - 1
        return {
            "user_counts": _rounded(model.activity),
            "factors": directions,
            "feedback": "implicit",
        }
    return {
        "user_counts": _rounded(model.activity),
        "cutpoints": _rounded(model.cuts),
        "spreads": _rounded(np.array([model.strictness, model.chance])),
        "slopes": _rounded(model.tilts),
        "slope_spreads": _rounded(model.likings),
    }


def _rounded(numbers: NDArray[np.float64]) -> list[float]:
    # Plus 0, as -0.0 becomes 0.0 by that: zero has one notation.
    return [round(float(number), DIGITS) + 0.0 for number in numbers]


def read_model(table: pa.Table, settings: Mapping[str, Any], scale: RatingScale) -> UserModel:
    """Return the user model of a table and settings; see `model_table` and `model_settings`."""
    columns = [np.asarray(column.to_numpy()) for column in table.columns[1:]]
    strictness, chance = settings["spreads"]
    embeddings = np.column_stack(columns[2:]).astype(np.float32)
    tilts, likings = _by_direction(settings, embeddings.shape[1] - 1)
    return UserModel(
        offsets=columns[0].astype(np.float32),
        tastes=embeddings,
        activity=np.asarray(settings["user_counts"], np.float64),
        worth=columns[1].astype(np.float64),
        cuts=np.asarray(settings["cutpoints"], np.float64),
        strictness=float(strictness),
        chance=float(chance),
        tilts=tilts,
        likings=likings,
        scale=scale,
    )


def _by_direction(settings: Mapping[str, Any], n_directions: int) -> NDArray[np.float64]:
    """Return tilts and likings per direction."""
    if "slopes" not in settings:  # a model of an older format
        before = (_TILTS_BEFORE[settings["noise"]], _LIKING_BEFORE)
        return np.repeat(np.array(before)[:, None], n_directions, axis=1)
    strengths = np.array([settings["slopes"], settings["slope_spreads"]], np.float64)
    if strengths.shape[1] != n_directions:
        raise _other_directions(n_directions, strengths.shape[1])
    return strengths


def read_likes(table: pa.Table, settings: Mapping[str, Any]) -> LikesModel:
    """Return the implicit-feedback model of a table and settings."""
    columns = [np.asarray(column.to_numpy()) for column in table.columns[1:]]
    embeddings = np.column_stack(columns[1:]).astype(np.float32)
    if embeddings.shape[1] != 1 + settings["factors"]:
        raise _other_directions(embeddings.shape[1] - 1, settings["factors"])
    activity = np.asarray(settings["user_counts"], np.float64)
    return LikesModel(columns[0].astype(np.float32), embeddings, activity)


def _other_directions(n_found: int, n_stated: int) -> RecveilError:
    return RecveilError(
        f"model: it has {n_found} factors, but release.json states {n_stated}; ask the publisher "
        f"for the release again",
        code="release.damaged",
    )


def sample_users(
    manifest: Manifest, table: pa.Table, n_people: int, rng: np.random.Generator
) -> Iterator[Records]:
    """Sample users from a published model, over the table's items."""
    if manifest.scale.unary:
        return read_likes(table, manifest.settings).draw(n_people, rng)
    model = read_model(table, manifest.settings, manifest.scale)
    grid, step = manifest.settings["value_step"], manifest.scale.step
    return model.draw(n_people, rng, whole=step is not None and grid == step)
