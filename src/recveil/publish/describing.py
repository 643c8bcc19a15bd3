"""describe: a release in the words of data portals, in a file beside it."""

from os import PathLike
from pathlib import Path

from recveil.beside import write_beside
from recveil.errors import RecveilError
from recveil.io.pipes import is_standard, refuse_no_path
from recveil.io.write import refuse_to_replace
from recveil.publish.card_page import card_page
from recveil.publish.croissant import croissant
from recveil.publish.findings import read_findings
from recveil.publish.publisher_card import PublisherCard
from recveil.release.form import known_manifest
from recveil.release.manifest import MANIFEST, FileEntry
from recveil.verify import Verification, verify


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
    """Describe a release for data portals, in Croissant or Markdown, in a file beside it.

    The release is verified first: what does not keep its promise is not described. Nothing private
    is read, and nothing of this machine stands in the file.

    Parameters
    ----------
    release : path
        The published folder. It stays as it is: the description is no part of it.
    output : path
        The file to be written, such as ``croissant.json``; beside the folder, unless the card says
        where the folder is published. If its name ends in ``.md``, it is a page for people: the
        release's own card with all that is told here.
    card : path, optional
        The publisher's words, as TOML: title, description, publisher, contact, licence, date, url,
        version, citation, collection, keywords.
    audit : path, optional
        What an audit of this release found, as ``recveil audit --release --json`` writes it: its
        sentences about the release are told, too, as measured by the publisher; and for what the
        table had columns, and how many of its rows were off the scale.
    evaluation : path, optional
        What an evaluation of this release found, as ``recveil evaluate --json`` writes it: what the
        release is still worth is told, too.
    column_names : bool
        Tell what the owner's table calls its columns, too, which `audit` says.
    force : bool
        Replace a file that stands at `output`.

    Returns
    -------
    Verification
        What the checker says of the release.

    Raises
    ------
    RecveilError
        If the release cannot be read or does not hold, the card makes no sense, the audit or the
        evaluation is none of this release, or the output cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> made = PredictiveAnonymizer(4, seed=1).anonymize(make_ratings(40, 20, 400, seed=2))
    >>> with TemporaryDirectory() as folder:
    ...     _ = made.write(Path(folder, "out"))
    ...     _ = describe(Path(folder, "out"), Path(folder, "croissant.json"))
    ...     text = Path(folder, "croissant.json").read_text()
    >>> '"contentUrl": "out/ratings.parquet"' in text
    True
    """
    refuse_no_path("a release folder", release=release)
    refuse_no_path("a file", output=output)
    if is_standard(output):
        raise RecveilError("output -: a description stands beside its release; name a file")
    if card is not None:
        refuse_no_path("a card", card=card)
    if audit is not None:
        refuse_no_path("the result of an audit", audit=audit)
    elif column_names:
        raise RecveilError(
            "column_names (--column-names): only an audit tells them; give its result with audit "
            "(--audit)"
        )
    if evaluation is not None:
        refuse_no_path("the result of an evaluation", evaluation=evaluation)
    folder, target = Path(release).resolve(), Path(output).absolute()
    refuse_to_replace(target, force=force)
    words = PublisherCard() if card is None else PublisherCard.read(card)
    if not words.url and target.parent.resolve() != folder.parent:
        raise RecveilError(
            f"{target.name}: it names the files of the release by their place beside it; write it "
            f"beside {folder.name}, or say with url in the card where that is published"
        )
    manifest = known_manifest(folder)
    files_of = (None if file is None else Path(file) for file in (audit, evaluation))
    found = read_findings(manifest, folder.name, *files_of, column_names=column_names)
    result = verify(folder)
    if not result.holds:
        raise RecveilError(
            f"{folder.name}: does not keep its promise ({result.violations[0].problem}), and is "
            f"not described; ask recveil verify"
        )
    names = [*manifest.files, MANIFEST]
    files = {name: FileEntry.of(folder / name) for name in names}
    if target.suffix.lower() == ".md":
        text = card_page(manifest, files[MANIFEST].sha256, folder.name, words, found)
    else:
        base = words.url.rstrip("/") or folder.name
        text = croissant(manifest, files, folder.name, base, words, found)
    write_beside(target, lambda beside: beside.write_text(text, "utf-8"))
    return result
