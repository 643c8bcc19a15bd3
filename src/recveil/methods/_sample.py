"""Sample synthetic users from a published model, as a new release."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io.pipes import require_path
from recveil.methods.base import check_seed, seed_or_random
from recveil.methods.registry import sampler_of
from recveil.methods.synthetic.options import require_n_users
from recveil.publish.folder import check_form, write_synthetic
from recveil.publish.size_estimate import FEWER_USERS, expect_synthetic, reject_beyond_disk
from recveil.publish.staging import check_target
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.method import SAMPLED_FROM
from recveil.release.reader import read_items, read_model
from recveil.release.records import fresh_prefix
from recveil.release.sides import FileFormat, Published
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import THE_REST, parts
from recveil.verification import Verification, verify

_CHECKING = "Checking the model"


def sample(
    release: str | PathLike[str],
    output: str | PathLike[str],
    *,
    n_users: int,
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
    n_users : int
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
    require_n_users(n_users)
    check_form("users", file_format)
    folder = Path(release).resolve()
    manifest = known_manifest(folder)
    if manifest.layout != "model":
        raise RecveilError(
            f"{folder.name}: its layout is {manifest.layout}, which has no model; name a release "
            f"with layout model (--layout model)",
            code="release.unsupported",
        )
    check_target(output, force=force)
    with parts("Sampling users", {_CHECKING: 1, THE_REST: 9}) as begin:
        begin(_CHECKING)
        published = _draw(folder, manifest, n_users, seed, Path(output), file_format)
        begin(THE_REST)
        return write_synthetic(published, Path(output), file_format, force=force)


def _draw(
    folder: Path,
    manifest: Manifest,
    n_users: int,
    seed: int | None,
    output: Path,
    file_format: FileFormat,
) -> Published:
    """Return the published synthetic users of a verified model, sampled block by block."""
    verification = verify(folder)
    if not verification.holds:
        raise RecveilError(
            f"{folder.name}: its claim does not hold ({verification.violations[0].problem}); run "
            f"recveil verify, and do not sample from a changed model",
            code="claim.false",
        )
    model, draw, drawing = read_model(folder, manifest), sampler_of(manifest), seed_or_random(seed)
    items = model.column(0).combine_chunks().to_numpy(zero_copy_only=False)
    _reject_beyond_disk(manifest, items, n_users, output, file_format)
    settings: dict[str, object] = {}
    for name, value in manifest.settings.items():
        if name == "n_users":
            if manifest.number >= RENAMED_SINCE and _names_models(manifest):
                settings[SAMPLED_FROM] = manifest.sha256
            settings[name] = "requested"
        elif name != "answers":  # they are in the folder of the model
            settings[name] = value
    return Published(
        claim=manifest.claim,
        items=items,
        scale=manifest.scale,
        settings=settings,
        n_users=n_users,
        prefix=fresh_prefix(np.empty(0), np.random.default_rng([drawing, 1])),
        blocks=lambda: draw(manifest, model, n_users, np.random.default_rng(drawing)),
        default_layout="users",
        # The format of the model, whose claim and ledger it repeats.
        format_number=manifest.number,
        item_table=read_items(folder, manifest),
    )


def _names_models(manifest: Manifest) -> bool:
    return any(setting.name == SAMPLED_FROM for setting in manifest.method.settings)


def _reject_beyond_disk(
    manifest: Manifest, items: NDArray[Any], n_users: int, output: Path, file_format: str
) -> None:
    """Raise a RecveilError if the estimated release does not fit on the disk."""
    activity, step = manifest.settings.get("user_counts"), manifest.settings.get("value_step")
    if not activity or not step:
        return
    each = float(np.mean(activity))
    size = expect_synthetic(items, manifest.scale, n_users, each, n_users * each, file_format, step)
    reject_beyond_disk(size, output.absolute().parent, FEWER_USERS)
