"""Forgeries of an adversary who wants a changed release to verify: all is adapted that can be.

Like the second checker, which it asks, it shares nothing with recveil but the data card.
"""

import contextlib
import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import independent

from recveil.release.data_card import data_card
from recveil.release.earlier_formats import with_todays_names
from recveil.release.manifest import FORMATS, Manifest


def complete(folder: Path, name: str) -> None:
    """Make all fit to release.json and the ratings: counts, classes, the card and the digests."""
    file = folder / "release.json"
    try:
        result = json.loads(file.read_text())
        records = independent.records_of(
            independent.rows_of(folder / name),
            result["item_type"] == "text",
            result["scale"].get("labels", result["scale"].get("words")),
        )
        if "classes.csv" in result["files"]:
            classes, counts = independent.described(records, result)
            (folder / "classes.csv").write_text(classes)
        else:
            counts = {"users": len(records), "labels": sum(len(one[1]) for one in records)}
            counts["items"] = len({item for one in records for item in one[1]})
        if name.endswith(".csv"):
            number_anew(folder / name, counts["users"])
        if independent.number_of(result) == 9:
            names = {"labels": "values", "alone": "singletons"}
            counts = {names.get(name, name): count for name, count in counts.items()}
        result["counts"] |= counts
        state_formulas(result, {item for _, items, *_ in records for item in items})
        (folder / "README.md").write_text(card_of(result, name))
        write(folder, result)
    except Exception:  # whatever it is, nothing can be made to fit
        pass
    sign(folder)


def card_of(result: dict, name: str) -> str:
    """Return the card that follows from release.json; an error of whatever kind if none does."""
    number = FORMATS.index(result["format"]) + 1
    return data_card(Manifest.from_json(with_todays_names(result, number)), name)


def state_formulas(result: dict, items: set) -> None:
    """List the ids that a spreadsheet would run, where the format knows of them."""
    found = sorted(item for item in items if isinstance(item, str) and independent.RUN.match(item))
    files = result.pop("files")
    result.pop("formulas", None)
    if found and independent.number_of(result) >= 5:
        result["formulas"] = {"items": len(found), "example": found[0][:40]}
    result["files"] = files


def number_anew(file: Path, n_users: int) -> None:
    """Give the records pseudonyms from 0 on, as they come."""
    header, *lines = file.read_bytes().decode().split("\n")
    users = [line.partition(",")[0] for line in lines]
    starts = {at for at, user in enumerate(users) if user and (at == 0 or user != users[at - 1])}
    digits, number = len(str(n_users)), -1
    for at, line in enumerate(lines):
        number += at in starts
        if users[at]:
            pseudonym = f'"{users[0][1:7]}{number:0{digits}d}"'
            lines[at] = pseudonym + line.removeprefix(users[at])
    file.write_bytes("\n".join([header, *lines]).encode())


def sign(folder: Path) -> None:
    """Make the digests of all files anew."""
    try:
        result = json.loads((folder / "release.json").read_text())
        for name, entry in result["files"].items():
            content = (folder / name).read_bytes()
            entry |= {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
        write(folder, result)
    except Exception:  # as above
        pass


def write(folder: Path, result: dict) -> None:
    content = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    (folder / "release.json").write_bytes(content.encode())


def forge(folder: Path, change: Callable[[dict], object]) -> None:
    """Change what release.json says, and make the card, where there can be one, and digests fit."""
    result = json.loads((folder / "release.json").read_text())
    change(result)
    name = next(iter(result["files"]))
    with contextlib.suppress(Exception):  # nothing may fit to that
        (folder / "README.md").write_text(card_of(result, name))
    write(folder, result)
    sign(folder)


def forge_rows(folder: Path, change: Callable[[list[list[str]]], object]) -> None:
    """Change the rows of a CSV file, as lists of fields, and make the digests fit."""
    file = folder / "ratings.csv"
    header, *lines = file.read_text().splitlines()
    rows = [line.split(",") for line in lines]
    change(rows)
    file.write_text("\n".join([header, *map(",".join, rows), ""]))
    sign(folder)


def forge_text(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the text of a CSV file, and make the digests fit."""
    file = folder / "ratings.csv"
    file.write_bytes(change(file.read_bytes()))
    sign(folder)


def _of_labels(how: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return how the labels of the first user are written in another way; all say the same."""

    def change(content: bytes) -> bytes:
        header, *lines = content.split(b"\n")
        user = lines[0].partition(b",")[0]
        own = re.compile(re.escape(user) + b'(,[^,]+|,"[^\n]*"),([^,]+)(.*)')
        for at, line in enumerate(lines):
            if found := own.fullmatch(line):
                lines[at] = user + found[1] + b"," + how(found[2]) + found[3]
        return b"\n".join([header, *lines])

    return change


def _of_last(field: int, how: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return how a field of the last line is written in another way."""

    def change(content: bytes) -> bytes:
        before, line = content[:-1].rsplit(b"\n", 1)
        fields = line.split(b",")
        fields[field] = how(fields[field])
        return before + b"\n" + b",".join(fields) + b"\n"

    return change


def _with_point(label: bytes) -> bytes:
    return label + (b"0" if b"." in label else b".0")


# The same values in other texts: items are whole numbers, and labels stand behind them.
OF_TEXT: dict[str, Callable[[bytes], bytes]] = {
    "a cell more": lambda text: text[:-1] + b',"Alice"\n',
    "a column more": lambda text: text.replace(b"\n", b",\n").replace(b",\n", b',"a"\n', 1),
    "a space": _of_last(1, lambda item: b" " + item),
    "a space behind": _of_last(1, lambda item: item + b" "),
    "a zero before": _of_last(1, lambda item: b"0" + item),
    "a low line": _of_last(1, lambda item: b"0_" + item),
    "Arabic digits": _of_last(
        1, lambda item: item.decode().translate({48 + n: 0x660 + n for n in range(10)}).encode()
    ),
    "a plus": _of_last(1, lambda item: b"+" + item),
    "quotes around a number": _of_last(1, lambda item: b'"' + item + b'"'),
    "no quotes around a text": _of_last(0, lambda user: user.strip(b'"')),
    "quotes around a label": _of_last(2, lambda label: b'"' + label + b'"'),
    "one person's labels with a point": _of_labels(_with_point),
    "one person's labels with a plus": _of_labels(lambda label: b"+" + label),
    "one person's labels with a power": _of_labels(lambda label: label + b"e0"),
    "one person's labels with a large power": _of_labels(lambda label: label + b"E0"),
    "another line end": lambda text: text.replace(b"\n", b"\r\n"),
    "another line end once": lambda text: text[:-1] + b"\r\n",
    "an empty line": lambda text: text + b"\n",
    "an empty line between": lambda text: text.replace(b"\n", b"\n\n", 2),
    "no last line end": lambda text: text[:-1],
    "a mark of UTF-8": lambda text: b"\xef\xbb\xbf" + text,
    "a header without quotes": lambda text: text.replace(b'"', b"", 2),
    "wider pseudonyms": lambda text: re.sub(rb'("p[0-9a-f]{4}-)', rb"\g<1>0", text),
    "a wider pseudonym": lambda text: re.sub(rb'("p[0-9a-f]{4}-)(0+")', rb"\g<1>0\2", text),
    "no UTF-8": lambda text: text[:-1] + b"\xff\n",
}


def _in_order(result: dict, **more: object) -> None:
    """Put keys before all others."""
    own = dict(result)
    result.clear()
    result.update(more | own)


def _named(result: dict, name: str) -> str:
    """Return the name of a setting in the release's format."""
    before = {"value_step": "label_step", "user_counts": "activity"}
    return name if result["format"] == "recveil-release-9" else before[name]


def _with_step(result: dict, step: object) -> None:
    result["settings"][_named(result, "value_step")] = step


def _step_first(result: dict) -> None:
    name = _named(result, "value_step")
    _in_order(result["settings"], **{name: result["settings"].pop(name, 0.1)})


def _one_count_more(result: dict) -> None:
    counts = result["settings"][_named(result, "user_counts")]
    counts.append(counts[-1])


# What no release.json says, or not in this way.
OF_FORM: dict[str, Callable[[dict], object]] = {
    "nobody": lambda result: result.update(k=0),
    "fewer than nobody": lambda result: result.update(k=-3),
    "a k with a point": lambda result: result.update(k=float(result["k"])),
    "a k that is true": lambda result: result.update(k=True),
    "a k as text": lambda result: result.update(k=str(result["k"])),
    "levels as a number": lambda result: result.update(levels=0),
    "sets of no items": lambda result: result["diversity"].update(b=0),
    "sets that are true": lambda result: result["diversity"].update(b=True),
    "rows with a point": lambda result: result["diversity"].update(l=1.0),
    "diversity with a note": lambda result: result["diversity"].update(note="ann"),
    "a format to come": lambda result: result.update(format="recveil-release-12"),
    "the format of attributes": lambda result: result.update(format="recveil-release-11"),
    "the format of dates": lambda result: result.update(format="recveil-release-10"),
    "a format with a name": lambda result: result.update(format="ann-release-3"),
    "another format": lambda result: result.update(format="recveil-release-1"),
    "the format of noisy sums": lambda result: result.update(format="recveil-release-8"),
    "a version that is none": lambda result: result.update(recveil="0.1.0 for ann"),
    "no version": lambda result: result.pop("recveil"),
    "a note": lambda result: result.update(note="ann"),
    "a note at the start": lambda result: _in_order(result, note="ann"),
    "another order": lambda result: _in_order(result, k=result.pop("k")),
    "a layout": lambda result: result.update(layout="people"),
    "an item_type": lambda result: result.update(item_type="ann"),
    "a note in settings": lambda result: result["settings"].update(note="ann"),
    "a method": lambda result: result["settings"].update(method="ann's"),
    "no settings": lambda result: result.update(settings={}),
    "settings in another order": _step_first,
    "a step as text": lambda result: _with_step(result, "ann"),
    "a step of nothing": lambda result: _with_step(result, 0.0),
    "a step without a point": lambda result: _with_step(result, 1),
    "hidden items that stand there": lambda result: result["settings"].update(items="ann"),
    "a scale with a note": lambda result: result["scale"].update(note="ann"),
    "a scale without a point": lambda result: result["scale"].update(low=1),
    "counts with a note": lambda result: result["counts"].update(note="ann"),
    "counts with a point": lambda result: result["counts"].update(
        items=float(result["counts"]["items"])
    ),
    "counts that are true": lambda result: result["counts"].update(items=True),
    "a file with a note": lambda result: result["files"]["README.md"].update(note="ann"),
    "files in another order": lambda result: _in_order(
        result["files"], **{"README.md": result["files"].pop("README.md")}
    ),
}
# Of a promise that follows from a ledger.
OF_A_LEDGER: dict[str, Callable[[dict], object]] = {
    "a claim with a note": lambda result: result["claim"].update(note="ann"),
    "a ledger with a note": lambda result: result["claim"]["ledger"].update(note="ann"),
    "a query with a note": lambda result: result["claim"]["ledger"]["queries"][0].update(
        note="ann"
    ),
    "a query of ann": lambda result: result["claim"]["ledger"]["queries"][0].update(what="ann"),
    "values with a point": lambda result: result["claim"]["ledger"]["queries"][0].update(
        values=24.0
    ),
    "a sensitivity that is true": lambda result: result["claim"]["ledger"]["queries"][0].update(
        sensitivity=True
    ),
    "long numbers": lambda result: result["settings"]["spreads"].__setitem__(0, 0.1234567891234),
    "numbers more": _one_count_more,
}
# The same content, written in another way; each digest fits.
OF_WRITING: dict[str, Callable[[bytes], bytes]] = {
    "other spaces": lambda text: text.replace(b'"k": ', b'"k":  '),
    "another line end": lambda text: text.replace(b"\n", b"\r\n"),
    "no last line end": lambda text: text[:-1],
    "a key twice": lambda text: text.replace(b'  "k": ', b'  "k": 7,\n  "k": ', 1),
    "escapes": lambda text: text.replace(b'"recveil":', b'"\\u0072ecveil":'),
    "a longer number": lambda text: text.replace(b'"low": 1.0', b'"low": 1.00'),
    "no number": lambda text: text.replace(b'"step": 1.0', b'"step": NaN'),
    "half a character": lambda text: text.replace(b'"0.1.0"', b'"\\ud800"'),
}


def _less_noise(result: dict, by: float = 0.9) -> None:
    for query in result["claim"]["ledger"]["queries"]:
        query["sigma"] *= by


def _without_a_query(result: dict) -> None:
    del result["claim"]["ledger"]["queries"][0]


def _query_twice(result: dict) -> None:
    queries = result["claim"]["ledger"]["queries"]
    queries.append(queries[0])


def _other_units(result: dict) -> None:
    """All that one user can change is twice as long, and so is the noise."""
    for query in result["claim"]["ledger"]["queries"]:
        query.update(sensitivity=2 * query["sensitivity"], sigma=2 * query["sigma"])


def _of_fewer_items(result: dict) -> None:
    for query in result["claim"]["ledger"]["queries"]:
        if query["name"] == "item sums":
            query["values"] = 2


def _other_part(result: dict) -> None:
    """Names of items have a part of delta though none was chosen, or none though they were."""
    claim = result["claim"]
    claim["ledger"]["threshold_delta"] = (
        0.0 if claim["ledger"]["threshold_delta"] else claim["delta"] / 10
    )


def _smaller_delta(result: dict) -> None:
    result["claim"]["delta"] /= 10
    result["claim"]["ledger"]["threshold_delta"] /= 10


# False claims about drawn users.
OF_A_PROMISE = {
    "a lower epsilon": lambda result: result["claim"].update(
        epsilon=result["claim"]["epsilon"] * 0.999
    ),
    "a higher epsilon": lambda result: result["claim"].update(
        epsilon=result["claim"]["epsilon"] * 1.01
    ),
    "no epsilon": lambda result: result["claim"].update(epsilon=0.0),
    "a smaller delta": _smaller_delta,
    "a large delta": lambda result: result["claim"].update(delta=0.4),
    "no unit": lambda result: result["claim"].pop("unit"),
    "another unit": lambda result: result["claim"].update(unit="rating"),
    "no neighbouring relation": lambda result: (
        result["claim"].pop("neighbours", None) or result.update(format="recveil-release-8")
    ),
    "another neighbouring relation": lambda result: result["claim"].update(
        neighbours="replace one user"
    ),
    "less noise": _less_noise,
    "no noise": lambda result: _less_noise(result, 0.0),
    "a query left out": _without_a_query,
    "no query": lambda result: result["claim"]["ledger"].update(queries=[]),
    "a query twice": _query_twice,
    "other units": _other_units,
    "sums of fewer items": _of_fewer_items,
    "another part of delta": _other_part,
    "exact sums": lambda result: result.update(claim="aggregates", k=943),
    "a k": lambda result: result.update(k=5),
}
# Of any release of users who are drawn, or of their model.
OF_DRAWN = {
    "levels": lambda result: result.update(levels=True),
    "diversity": lambda result: result.update(diversity={"b": 1, "l": 2}),
    "more of what is counted": lambda result: result["counts"].update(items=1_000),
    "a claim that nobody knows": lambda result: result.update(claim="certified"),
    "a promise of nothing": lambda result: result.update(claim="nothing"),
    "an unknown promise": lambda result: result.update(claim="unknown"),
    "a promise of another kind": lambda result: result.update(claim={"kind": "certified"}),
    "a promise in another form": lambda result: result.update(claim=["co-rated"]),
    "no claim": lambda result: result.update(claim=None),
    "identical rows": lambda result: result.update(claim="identical-rows"),
    "an older format": lambda result: result.update(format="recveil-release-2"),
}
OF_EXACT = {
    "too few people": lambda result: result.update(k=5),
    "noise": lambda result: result["settings"].update(noise="gaussian"),
    "exact sums as an object": lambda result: result.update(claim={"kind": "aggregates"}),
}
# And of their rows: a pseudonym, an item and a label each.
OF_DRAWN_ROWS = {
    "a name": lambda rows: [row.__setitem__(0, '"ann"') for row in rows if row[0] == rows[0][0]],
    "a person left out": lambda rows: rows.__delitem__(
        slice(0, sum(row[0] == rows[0][0] for row in rows))
    ),
    "a row left out": lambda rows: rows.__delitem__(-1),
    "an item twice": lambda rows: rows.insert(0, rows[0]),
    "a label off the grid": lambda rows: rows[0].__setitem__(2, "2.22"),
    "a label off the scale": lambda rows: rows[0].__setitem__(2, "7"),
    "no label": lambda rows: rows[0].__setitem__(2, "nan"),
    "a person in two pieces": lambda rows: rows.append(rows.pop(0)),
}
