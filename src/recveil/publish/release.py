"""Both sides of anonymized ratings, and how they are written."""

from os import PathLike
from pathlib import Path

from recveil.io.columns.ids import reject_personal_ids
from recveil.publish.folder import naming_cost, write_release
from recveil.publish.written_release import WrittenRelease
from recveil.release.sides import FileFormat, Layout, Sides
from recveil.runtime.errors import RecveilError
from recveil.verification import Verification


class Release(Sides):
    """Anonymized ratings: `published` for recipients, `private` for the publisher."""

    @staticmethod
    def read(folder: str | PathLike[str]) -> WrittenRelease:
        """Read the published side of a written release, and no private data.

        Parameters
        ----------
        folder : path
            The published folder.

        Returns
        -------
        WrittenRelease
            `.to_arrow()`, `.to_pandas()`, `.to_polars()` and `.to_csr()` give its rows. Whether it
            keeps its claim is checked by `verify`.

        Raises
        ------
        RecveilError
            If it is no release, or one that this recveil does not know.
        """
        return WrittenRelease(folder)

    def write(
        self,
        folder: str | PathLike[str],
        *,
        layout: Layout = "auto",
        file_format: FileFormat = "parquet",
        force: bool = False,
        allow_large: bool = False,
    ) -> Verification:
        """Write the release to `folder` and its private folder to `folder` + ".private".

        Both are staged next to their targets, verified, and renamed, so a killed run leaves either
        no release or a complete one.

        Parameters
        ----------
        folder : path
            Must not exist, unless `force`.
        layout : {"auto", "users", "groups", "model"}
            One row per user, or one per group with its size. "auto" chooses groups for padded
            rows and users otherwise. "model", for synthetic users only, writes the model that
            they are sampled from.
        file_format : {"parquet", "csv"}
        force : bool
            Replace an older release at the same place; nothing else is ever replaced.
        allow_large : bool
            Allow more than 100 values per rating, which padded rows of many rarely rated items
            may need.

        Returns
        -------
        Verification
            The verdict over the written files; it always holds.

        Raises
        ------
        RecveilError
            If the release promises nothing, is too large, the folder exists or cannot be
            written, or the written release does not verify; then nothing is left behind. And
            if its noise follows from a seed, because an adversary who guesses the seed can
            remove the noise; or if ids of items look like those of users.
        """
        claim = self.published.claim
        if claim.about.is_differential and self.private.seed is not None:
            raise RecveilError(
                "seed (--seed): the noise of this release follows from a seed, and an adversary "
                "who guesses it can remove the noise; leave the seed out to publish, and keep "
                "seeds for experiments",
                code="release.refused",
            )
        with naming_cost(claim):
            reject_personal_ids(self.published.items, can_hide=claim.about.contains_users)
        return write_release(
            self, Path(folder), layout, file_format, force=force, allow_large=allow_large
        )
