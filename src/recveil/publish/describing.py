"""describe: a release in the words of data portals, in a file beside it."""

import json
from os import PathLike
from pathlib import Path

from recveil.beside import write_beside
from recveil.devices import read_whole
from recveil.errors import RecveilError, reason_of
from recveil.io.pipes import is_standard, refuse_no_path
from recveil.io.write import refuse_to_replace
from recveil.publish.croissant import croissant
from recveil.publish.publisher_card import PublisherCard, refuse_unseen
from recveil.release.form import known_manifest
from recveil.release.manifest import MANIFEST, FileEntry, Manifest
from recveil.verify import Verification, verify


def describe(
    release: str | PathLike[str],
    output: str | PathLike[str],
    *,
    card: str | PathLike[str] | None = None,
    audit: str | PathLike[str] | None = None,
    force: bool = False,
) -> Verification:
    """Describe a release in Croissant, the format of data portals, in a file beside it.

    The release is verified first: what does not keep its promise is not described. Nothing private
    is read, and nothing of this machine stands in the file.

    Parameters
    ----------
    release : path
        The published folder. It stays as it is: the description is no part of it.
    output : path
        The file to be written, such as ``croissant.json``; beside the folder, unless the card says
        where the folder is published.
    card : path, optional
        The publisher's words, as TOML: title, description, publisher, contact, licence, date, url,
        version, citation, collection, keywords.
    audit : path, optional
        What an audit of this release found, as ``recveil audit --json`` writes it: its sentences
        about the release are told, too, as measured by the publisher.
    force : bool
        Replace a file that stands at `output`.

    Returns
    -------
    Verification
        What the checker says of the release.

    Raises
    ------
    RecveilError
        If the release cannot be read or does not hold, the card makes no sense, the audit is none
        of this release, or the output cannot be written.

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
    folder, target = Path(release).resolve(), Path(output).absolute()
    refuse_to_replace(target, force=force)
    words = PublisherCard() if card is None else PublisherCard.read(card)
    if not words.url and target.parent.resolve() != folder.parent:
        raise RecveilError(
            f"{target.name}: it names the files of the release by their place beside it; write it "
            f"beside {folder.name}, or say with url in the card where that is published"
        )
    manifest = known_manifest(folder)
    measured = [] if audit is None else _measured(Path(audit), manifest, folder.name)
    result = verify(folder)
    if not result.holds:
        raise RecveilError(
            f"{folder.name}: does not keep its promise ({result.violations[0].problem}), and is "
            f"not described; ask recveil verify"
        )
    names = [*manifest.files, MANIFEST]
    files = {name: FileEntry.of(folder / name) for name in names}
    base = words.url.rstrip("/") or folder.name
    text = croissant(manifest, files, folder.name, base, words, measured)
    write_beside(target, lambda beside: beside.write_text(text, "utf-8"))
    return result


def _measured(file: Path, manifest: Manifest, name: str) -> list[str]:
    """Return what an audit says of a release, if it is of this one."""
    try:
        told = json.loads(read_whole(file))["release"]
        about = {key: told[key] for key in ("claim", "k", "layout", "settings")}
        sentences = [told["headline"], *told["verdict"], *told["warnings"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"{file.name}: no result of an audit of a release ({reason_of(error)}); write one: "
            f"recveil audit RATINGS --release {name} --json FILE"
        ) from error
    claim = manifest.claim
    own = {
        "claim": claim.kind,
        "k": claim.k,
        "layout": manifest.layout,
        "settings": dict(manifest.settings),
    }
    if about != own:
        raise RecveilError(
            f"{file.name}: the audit is of another release than {name}, with another claim or "
            f"other settings; audit this one"
        )
    for sentence in sentences:
        refuse_unseen(file.name, sentence, most=5_000)
    return sentences
