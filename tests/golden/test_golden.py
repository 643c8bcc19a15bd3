"""Frozen behaviour: what recveil published, reported and verified, it does to the letter.

Names and modules may move; what is below may not, unless a change means it. All goes through the
command line, as `recveil` calls it, and nothing of recveil is imported.

- `anonymize`: each method, layout, format and option that changes what is published, with two
  seeds: all files of both folders, and `--json`.
- Releases whose noise no seed repeats: their structure alone.
- `--json` of every verb, and the files that it wrote.
- `verify --json` of every stored release, and of each kind of release after every tampering.

digests.json has the first 64 bits of each SHA-256, or several where the last digits depend on the
processor. JSON has three, of its keys, its numbers and its words, each in the order of the text,
so that a new sentence leaves the digest of the numbers as it was. Versions, times and SHA-256s are
masked; numbers in JSON count to six digits. Parquet has two digests, of its rows and of its bytes;
the second counts only with the pyarrow that wrote them.

By default each release is made with one seed as Parquet and with the other as CSV, a sixth of the
tamperings is tried on each, and what takes long is left out. RECVEIL_GOLDEN_ALL=1 runs all.

To understand a difference, run before and after with RECVEIL_GOLDEN=FOLDER, which writes all texts
there, and compare the folders: `diff -r`. To renew the digests after a change that was meant:

    OPENBLAS_NUM_THREADS=1 .venv/bin/python tests/golden/test_golden.py
"""

import itertools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_cases import FORMATS, MADE, NOISY, RELEASES, SEEDS, VERBS
from golden_digests import Ran, digest, masked, parts_of_json, run, texts_of_folder
from golden_tables import write_tables
from golden_tampering import NoPlaceError, ways_of

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.json"
STORED = HERE.parent / "verification"
OF_WRITER = " bytes"
OF_JSON = ("keys", "numbers", "words")
IS_COMPLETE = bool(os.environ.get("RECVEIL_GOLDEN_ALL")) or __name__ == "__main__"
Texts = dict[str, dict[str, str | bytes]]
"""The texts of some entries of digests.json, by entry and part."""

# The newest release of each kind, and some of text that are made here.
TAMPERED = [
    *("format_5/predictive-padded", "format_8/synthetic-users", "format_5/levels"),
    *("format_5/predictive-simple-csv", "format_6/k-corating", "format_6/sparse"),
    *("format_7/words", "format_8/likes", "format_8/synthetic-model", "format_5/diverse"),
    *("format_5/hidden-items", "format_5/synthetic-exact", "format_1/predictive-padded"),
    *("made/padded-users-csv", "made/k-corating-csv", "made/sparse-csv", "made/limits"),
]


def said(ran: Ran, json_file: Path) -> dict[str, str | bytes]:
    """Return how a line ended, and its JSON in parts, or its error."""
    texts: dict[str, str | bytes] = {"exit": str(ran.code)}
    if json_file.is_file():
        text = json_file.read_text("utf-8").replace(str(json_file.parent.resolve()), "FOLDER")
        texts |= {f"json {name}": part for name, part in parts_of_json(text).items()}
        json_file.unlink()
    else:
        texts["error"] = masked(ran.err[max(ran.err.find("error: "), 0) :])
    return texts


def released(name: str, folder: Path) -> Texts:
    """Make a release with each seed in each format."""
    pairs = itertools.product(SEEDS, FORMATS) if IS_COMPLETE else zip(SEEDS, FORMATS, strict=True)
    if name.startswith("synthetic") and not IS_COMPLETE:  # they take long
        pairs = [(SEEDS[0], FORMATS[0])]
    texts = {}
    for seed, form in pairs:
        here = folder / f"{seed}-{form}"
        here.mkdir()
        write_tables(here)
        more = ("--seed", str(seed), "--file-format", form)
        texts[f"anonymize {name} {seed} {form}"] = _anonymized(here, *RELEASES[name].split(), *more)
    return texts


def _anonymized(folder: Path, *options: str) -> dict[str, str | bytes]:
    before = set(folder.rglob("*"))
    ran = run("anonymize", *options, "-o", "out", "--json", "said.json", folder=folder)
    return said(ran, folder / "said.json") | texts_of_folder(folder, before)


def noisy(name: str, folder: Path) -> Texts:
    """Make a release with noise: its numbers are masked."""
    write_tables(folder)
    # A ledger has a key of its own, and the times of its runs.
    texts = _anonymized(folder, *NOISY[name].split(), "--ledger", "none")
    kept = {
        part: text for part, text in texts.items() if not part.endswith((" numbers", OF_WRITER))
    }
    for part, text in kept.items():
        if part.endswith("release.json"):
            text = parts_of_json(str(text))["keys"]
        elif part.endswith(" rows"):
            text = str(pq.read_schema(folder / part.removesuffix(" rows")))
        elif part.endswith(".csv"):
            text = str(text).partition("\n")[0]
        elif part.endswith(".md"):  # what it says depends on what was found below the noise
            text = "\n".join(line for line in str(text).splitlines() if line.startswith("#"))
        if part != "exit":
            # How many directions of embedding there are depends on the noise.
            lines = re.sub(r"\d[\d.,]*(e-?\d+)?", "N", str(text)).splitlines()
            text = "\n".join(line for line in dict.fromkeys(lines) if not line.endswith(".[]"))
        kept[part] = text
    return {f"noisy {name}": kept}


def verb(name: str, folder: Path, made: Path) -> Texts:
    """Ask a verb, with some releases at hand."""
    here = folder / "here"
    shutil.copytree(made, here)
    before = set(here.rglob("*"))
    ran = run(*VERBS[name].split(), "--json", "said.json", folder=here)
    return {f"verb {name}": said(ran, here / "said.json") | texts_of_folder(here, before)}


def demo(folder: Path) -> Texts:
    """Run the demo; what it draws with noise is left out."""
    ran = run("demo", "--json", "said.json", folder=folder)
    texts = said(ran, folder / "said.json") | texts_of_folder(folder, set())
    drawn = ("recveil-demo-synthetic", "json numbers", "json words")
    return {"demo": {part: text for part, text in texts.items() if not part.startswith(drawn)}}


def verified(name: str, folder: Path) -> Texts:
    """Verify a stored release, and say how sure it makes of links."""
    texts = {}
    for options in ((), ("--links",)):
        ran = run("verify", str(STORED / name), "--json", "said.json", *options, folder=folder)
        texts[" ".join(["stored", name, *options])] = said(ran, folder / "said.json")
    return texts


def tampered(name: str, folder: Path, made: Path) -> Texts:
    """Verify a release after every tampering: how it ended, where it failed, and all it said."""
    source = made / name.removeprefix("made/") if name.startswith("made/") else STORED / name
    texts: dict[str, str | bytes] = {}
    ways = list(ways_of(source).items())
    for at, (what, way) in enumerate(ways if IS_COMPLETE else ways[TAMPERED.index(name) % 6 :: 6]):
        here = folder / str(at)
        here.mkdir()
        release = Path(shutil.copytree(source, here / "out"))
        try:
            way(release)
        except NoPlaceError:
            continue
        ran = run("verify", "out", "--json", "said.json", folder=here)
        file = here / "said.json"
        violations = json.loads(file.read_text())["violations"] if file.is_file() else []
        where = ", ".join([*dict.fromkeys(each["where"] for each in violations)][:3])
        texts[what] = f"{ran.code} {where} | " + "\n".join(map(str, said(ran, file).values()))
    return {f"tampered {name}": texts}


def _stored() -> list[str]:
    return sorted(str(file.parent.relative_to(STORED)) for file in STORED.rglob("release.json"))


CASES: dict[str, Callable[[Path, Path], Texts]] = {
    **{f"anonymize {name}": lambda f, _, n=name: released(n, f) for name in RELEASES},
    **{f"noisy {name}": lambda f, _, n=name: noisy(n, f) for name in NOISY},
    **{f"verb {name}": lambda f, made, n=name: verb(n, f, made) for name in VERBS},
    **{f"stored {name}": lambda f, _, n=name: verified(n, f) for name in _stored()},
    **{f"tampered {name}": lambda f, made, n=name: tampered(n, f, made) for name in TAMPERED},
}
CASES["demo"] = lambda folder, _: demo(folder)
LONG = ("demo", "verb compare-shared", "verb compare-co-rated", "verb compare-drawn")


def make(folder: Path) -> Path:
    """Write the tables, and the releases of which other verbs are asked."""
    write_tables(folder)
    for name, options in MADE.items():
        ran = run("anonymize", *options.split(), "-o", name, folder=folder)
        assert ran.code == 0, ran.err
    return folder


def digests_of(texts: Texts) -> dict[str, dict[str, str]]:
    """Return what stands in digests.json; what is short is written out."""
    digests: dict[str, dict[str, str]] = {}
    for entry, parts in texts.items():
        found = digests[entry] = {}
        for part, text in parts.items():
            name, _, last = part.rpartition(" ")
            if last in OF_JSON:  # on one line
                found[name] = f"{found.get(name, '')} {digest(text)}".strip()
            else:
                found[part] = _short(part, text)
    return digests


def _short(part: str, text: str | bytes) -> str:
    if part == "exit":
        return str(text)
    if isinstance(text, str) and (ended := re.match(r"\d [^|]*\| ", text)):
        return ended.group() + digest(text)  # of a tampering
    return digest(text)


def keep(texts: Texts) -> None:
    """Write the texts to the folder that RECVEIL_GOLDEN names, if it does."""
    if not (folder := os.environ.get("RECVEIL_GOLDEN")):
        return
    for entry, parts in texts.items():
        for part, text in parts.items():
            file = Path(folder, *entry.split(" "), part.replace("/", "~"))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize("case", [case for case in CASES if IS_COMPLETE or case not in LONG])
def test_nothing_changed(case, tmp_path, made):
    frozen = json.loads(DIGESTS.read_text("utf-8"))
    texts = CASES[case](tmp_path, made)
    keep(texts)
    for entry, digests in digests_of(texts).items():
        expected = frozen[entry]
        if entry.startswith("tampered") and not IS_COMPLETE:
            expected = {part: of for part, of in expected.items() if part in digests}
        if frozen["pyarrow"] != pa.__version__:
            digests, expected = (
                {part: of for part, of in each.items() if not part.endswith(OF_WRITER)}
                for each in (digests, expected)
            )
        assert digests.keys() == expected.keys(), entry
        changed = [part for part, of in digests.items() if of not in _forms(expected[part])]
        assert not changed, entry


def _forms(frozen: str | list[str]) -> list[str]:
    """Return what a part may be: processors sum in another order, which last digits show."""
    return frozen if isinstance(frozen, list) else [frozen]


def test_each_entry_has_a_case():
    frozen = set(json.loads(DIGESTS.read_text("utf-8"))) - {"pyarrow"}
    assert {entry for entry in frozen if not entry.startswith(tuple(CASES))} == set()


def renew() -> None:
    """Write all digests anew."""
    digests: dict[str, Any] = {"pyarrow": pa.__version__}
    before = json.loads(DIGESTS.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RECVEIL_LEDGER"] = str(Path(tempfile.mkdtemp(dir=folder), "ledger"))
        made = make(Path(tempfile.mkdtemp(dir=folder)))
        for case in CASES:
            os.environ["RECVEIL_LEDGER"] = str(Path(tempfile.mkdtemp(dir=folder), "ledger"))
            texts = CASES[case](Path(tempfile.mkdtemp(dir=folder)), made)
            keep(texts)
            digests |= digests_of(texts)
    for entry in digests.keys() & before.keys() - {"pyarrow"}:
        for part in digests[entry].keys() & before[entry].keys():
            if digests[entry][part] in _forms(before[entry][part]):
                digests[entry][part] = before[entry][part]
    DIGESTS.write_text(json.dumps(digests, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(renew())
