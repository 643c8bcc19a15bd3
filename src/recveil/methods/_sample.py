"""Sample synthetic users from a published model, as a new release."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io.pipes import require_path
from recveil.methods.base import check_seed, drawn_seed
from recveil.methods.registry import sampler_of
from recveil.methods.synthetic.options import MOST_PEOPLE
from recveil.publish.folder import check_form, write_drawn
from recveil.publish.size_estimate import FEWER_USERS, expect_drawn, reject_beyond_disk
from recveil.publish.staging import check_target
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.pseudonyms import fresh_prefix
from recveil.release.reader import read_model
from recveil.release.sides import FileFormat, Published
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.progress import THE_REST, parts
from recveil.verification import Verification, verify

_CHECKING = "Checking the model"


def sample(
    release: str | PathLike[str],
    output: str | PathLike[str],
    *,
    people: int,
    file_format: FileFormat = "parquet",
    seed: int | None = None,
    force: bool = False,
) -> Verification:
    """Sample users from a release of the layout `model`, and write them as a release.

    Sampling postprocesses the published model and reads no ratings. So the new release repeats the
    model's claim and ledger, has no private folder, and sampling may be repeated, with or without a
    seed.

    Parameters
    ----------
    release : path
        A release folder with a model.
    output : path
        The folder to write: a release of the layout `users`.
    people : int
        Number of synthetic users.
    file_format : {"parquet", "csv"}
    seed : int, optional
        The same seed samples the same users; drawn from the system by default.
    force : bool
        Replace an older release at the same path.

    Returns
    -------
    Verification
        The verification of the written files; it always passes.

    Raises
    ------
    RecveilError
        If the folder has no model or does not verify, if the number of users is invalid, or if the
        output exists or cannot be written.
    """
    require_path("a release folder", release=release)
    require_path("a release", is_output=True, output=output)
    check_seed(seed)
    _check_users(people)
    check_form("users", file_format)
    folder = Path(release).resolve()
    manifest = known_manifest(folder)
    if manifest.layout != "model":
        raise RecveilError(
            f"{folder.name}: it holds people already, in the layout {manifest.layout}; name a "
            f"release that was written with layout model (--layout model)",
            code="release.unsupported",
        )
    check_target(output, force=force)
    with parts("Drawing people", {_CHECKING: 1, THE_REST: 9}) as begin:
        begin(_CHECKING)
        published = _draw(folder, manifest, people, seed, Path(output), file_format)
        begin(THE_REST)
        return write_drawn(published, Path(output), file_format, force=force)


def _draw(
    folder: Path,
    manifest: Manifest,
    people: int,
    seed: int | None,
    output: Path,
    file_format: FileFormat,
) -> Published:
    """Return the published synthetic users of a verified model, sampled block by block."""
    found = verify(folder)
    if not found.holds:
        raise RecveilError(
            f"{folder.name}: it does not hold ({found.violations[0].problem}); ask recveil verify "
            f"what is wrong with it, and draw from no model that was changed",
            code="claim.false",
        )
    model, draw, drawing = read_model(folder, manifest), sampler_of(manifest), drawn_seed(seed)
    items = model.column(0).combine_chunks().to_numpy(zero_copy_only=False)
    _reject_beyond_disk(manifest, items, people, output, file_format)
    settings: dict[str, Any] = dict(manifest.settings)
    if "people" in settings:
        settings["people"] = "asked for"
    return Published(
        claim=manifest.claim,
        items=items,
        scale=manifest.scale,
        settings=settings,
        n_users=people,
        prefix=fresh_prefix(np.empty(0), np.random.default_rng([drawing, 1])),
        blocks=lambda: draw(manifest, model, people, np.random.default_rng(drawing)),
        default_layout="users",
        # What an older model promises, and by which queries, is told in the words of its format.
        format_number=manifest.number,
    )


def _reject_beyond_disk(
    manifest: Manifest, items: NDArray[Any], people: int, output: Path, file_format: str
) -> None:
    """Raise a RecveilError if the estimated release does not fit on the disk."""
    activity, step = manifest.settings.get("activity"), manifest.settings.get("label_step")
    if not activity or not step:
        return
    each = float(np.mean(activity))
    size = expect_drawn(items, manifest.scale, people, each, people * each, file_format, step)
    reject_beyond_disk(size, output.absolute().parent, FEWER_USERS)


def _check_users(people: Any) -> None:
    if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
        raise RecveilError(
            f"people (--people) is {quoted(people)}; expected how many to draw, from 1 to "
            f"{MOST_PEOPLE:,}",
            code="option.value",
        )
