"""Descriptions of releases for data portals."""

import json
from os import PathLike
from pathlib import Path

from recveil.io.pipes import is_standard, require_path
from recveil.io.write import reject_replacing
from recveil.publish.croissant import (
    card_page,
    croissant,
    problems_of_croissant,
    texts_of_publisher,
)
from recveil.publish.publisher_card import PublisherCard, read_findings
from recveil.release.manifest import MANIFEST, FileEntry, Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, named_twice, quoted, reason_of
from recveil.verification import Verification, verify
from recveil.verification.results import Limit, Violation


def describe(
    release: str | PathLike[str],
    output: str | PathLike[str],
    *,
    card: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    evaluation: str | PathLike[str] | None = None,
    column_names: bool = False,
    force: bool = False,
) -> Verification:
    """Describe a release for data portals in a Croissant or Markdown file.

    The release is verified first and must keep its claim. No private data is read, and the file
    contains nothing about this machine.

    Parameters
    ----------
    release : path
        The published folder, which is not changed: the description is not part of it.
    output : path
        The file to write, such as ``croissant.json``; next to the folder, unless the card
        states where the folder is published. With the ending ``.md``, a Markdown page: the
        release's own card and this description.
    card : path, optional
        What the publisher states, as TOML: title, description, publisher, contact, licence, date,
        url, version, citation, collection, keywords.
    audit : path, optional
        The result of ``recveil audit --release --json`` for this release. Its sentences are
        included as measured by the publisher, with the table's columns and the number of rows
        off the scale.
    evaluation : path, optional
        The result of ``recveil evaluate --json`` for this release; the retained utility is
        included.
    column_names : bool
        Include the original column names, which `audit` states.
    force : bool
        Replace an existing `output`.

    Returns
    -------
    Verification
        The verdict over the release.

    Raises
    ------
    RecveilError
        If the release cannot be read or does not hold, the card makes no sense, the audit or the
        evaluation is none of this release, or the output cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> made = PredictiveAnonymizer(4, seed=1).anonymize(make_ratings(40, 20, 400, seed=2))
    >>> with TemporaryDirectory() as folder:
    ...     _ = made.write(Path(folder, "out"))
    ...     _ = describe(Path(folder, "out"), Path(folder, "croissant.json"))
    ...     text = Path(folder, "croissant.json").read_text()
    >>> '"contentUrl": "out/ratings.parquet"' in text
    True
    """
    require_path("a release folder", release=release)
    require_path("a file", output=output)
    if is_standard(output):
        raise RecveilError(
            "output -: a description belongs next to its release; name a file",
            code="output.place",
        )
    if card is not None:
        require_path("a card", card=card)
    if audit is not None:
        require_path("the result of an audit", audit=audit)
    elif column_names:
        raise RecveilError(
            "column_names (--column-names): only an audit states them; give its result with audit "
            "(--audit)",
            code="option.required",
        )
    if evaluation is not None:
        require_path("the result of an evaluation", evaluation=evaluation)
    folder, target = Path(release).resolve(), Path(output).absolute()
    reject_replacing(target, force=force)
    words = PublisherCard() if card is None else PublisherCard.read(card)
    if not words.url and target.parent.resolve() != folder.parent:
        raise RecveilError(
            f"{target.name}: it names the files of the release by relative paths; write it next to "
            f"{folder.name}, or state with url in the card where that is published",
            code="output.place",
        )
    manifest = known_manifest(folder)
    files_of = (None if file is None else Path(file) for file in (audit, evaluation))
    found = read_findings(manifest, folder.name, *files_of, column_names=column_names)
    result = verify(folder)
    if not result.holds:
        raise RecveilError(
            f"{folder.name}: does not keep its promise ({result.violations[0].problem}), and is "
            f"not described; ask recveil verify",
            code="claim.false",
        )
    files = _files(manifest, folder)
    if target.suffix.lower() == ".md":
        text = card_page(manifest, files[MANIFEST].sha256, folder.name, words, found)
    else:
        base = words.url.rstrip("/") or folder.name
        text = croissant(manifest, files, folder.name, base, words, found)
    write_atomically(target, lambda temporary: temporary.write_text(text, "utf-8"))
    return result


def check_croissant(release: str | PathLike[str], file: str | PathLike[str]) -> list[Violation]:
    """Check a Croissant description against the files of its release."""
    content, problems, manifest, files = _read(release, file)
    problems += problems_of_croissant(content, manifest, files)
    return [Violation(Path(file).name, None, None, problem) for problem in problems]


def limit_of_croissant(release: str | PathLike[str], file: str | PathLike[str]) -> Limit:
    """Return the parts of a description that nothing checks."""
    content, _, manifest, files = _read(release, file)
    return Limit("croissant", (Path(file).name, *texts_of_publisher(content, manifest, files)))


def _read(
    release: str | PathLike[str], file: str | PathLike[str]
) -> tuple[object, list[str], Manifest, dict[str, FileEntry]]:
    """Read a description and its release, and report keys that occur twice."""
    require_path("a release folder", release=release)
    require_path("a description", croissant=file)
    folder, path = Path(release), Path(file)
    if not (folder / MANIFEST).is_file():
        raise RecveilError(
            f"croissant (--croissant): {folder} is no release, and a description is compared with "
            f"one; expected a folder with {MANIFEST}",
            code="release.not-found",
        )
    manifest = known_manifest(folder)
    twice: list[str] = []

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        twice.extend(named_twice(name for name, _ in pairs))
        return dict(pairs)

    try:
        content = json.loads(read_whole(path).decode(), object_pairs_hook=once)
    except (OSError, ValueError, RecursionError) as error:
        raise RecveilError(
            f"{path.name}: cannot be read as JSON ({reason_of(error)}); expected a description in "
            f"Croissant, as recveil describe writes it",
            code="input.unreadable" if isinstance(error, OSError) else "input.json",
        ) from error
    problems = [f"the key {quoted(name)} occurs twice" for name in twice]
    return content, problems, manifest, _files(manifest, folder)


def _files(manifest: Manifest, folder: Path) -> dict[str, FileEntry]:
    """Return size and digest of each file of a release that is there."""
    names = [name for name in (*manifest.files, MANIFEST) if (folder / name).is_file()]
    return {name: FileEntry.of(folder / name) for name in names}
