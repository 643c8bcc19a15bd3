"""What somebody does who changed a release and wants it to verify: all that can fit is made to fit.

Like the second checker, which it asks, it shares nothing with recveil but the data card.
"""

import contextlib
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import independent

from recveil.errors import RecveilError
from recveil.release.data_card import data_card
from recveil.release.manifest import Manifest


def complete(folder: Path, name: str) -> None:
    """Make all fit to release.json and the ratings: counts, classes, the card and the digests."""
    file = folder / "release.json"
    try:
        told = json.loads(file.read_text())
        records = independent.records_of(
            independent.rows_of(folder / name), told["item_type"] == "text"
        )
        if "classes.csv" in told["files"]:
            classes, counts = independent.described(records, told)
            (folder / "classes.csv").write_text(classes)
        else:
            counts = {"users": len(records), "labels": sum(len(one[1]) for one in records)}
            counts["items"] = len({item for one in records for item in one[1]})
        if name.endswith(".csv"):
            number_anew(folder / name, counts["users"])
        told["counts"] |= counts
        tell_formulas(told, {item for _, items, *_ in records for item in items})
        (folder / "README.md").write_text(card_of(told, name))
        write(folder, told)
    except Exception:  # whatever it is, nothing can be made to fit
        pass
    sign(folder)


def card_of(told: dict, name: str) -> str:
    """Return the card that follows from release.json; an error of whatever kind if none does."""
    return data_card(Manifest.from_json(told), name)


def tell_formulas(told: dict, items: set) -> None:
    """Tell the ids that a spreadsheet would run, where the format knows of them."""
    found = sorted(item for item in items if isinstance(item, str) and independent.RUN.match(item))
    files = told.pop("files")
    told.pop("formulas", None)
    if found and told["format"][-1] not in "1234":
        told["formulas"] = {"items": len(found), "example": found[0][:40]}
    told["files"] = files


def number_anew(file: Path, n_users: int) -> None:
    """Give the records pseudonyms from 0 on, as they come."""
    header, *lines = file.read_text().split("\n")
    users = [line.partition(",")[0] for line in lines]
    starts = {at for at, user in enumerate(users) if user and (at == 0 or user != users[at - 1])}
    digits, number = len(str(n_users)), -1
    for at, line in enumerate(lines):
        number += at in starts
        if users[at]:
            pseudonym = f'"{users[0][1:7]}{number:0{digits}d}"'
            lines[at] = pseudonym + line.removeprefix(users[at])
    file.write_text("\n".join([header, *lines]))


def sign(folder: Path) -> None:
    """Make the digests of all files anew."""
    try:
        told = json.loads((folder / "release.json").read_text())
        for name, entry in told["files"].items():
            content = (folder / name).read_bytes()
            entry |= {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
        write(folder, told)
    except Exception:  # as above
        pass


def write(folder: Path, told: dict) -> None:
    content = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    (folder / "release.json").write_bytes(content.encode())


def forge(folder: Path, change: Callable[[dict], object]) -> None:
    """Change what release.json says, and make the card, where there can be one, and digests fit."""
    told = json.loads((folder / "release.json").read_text())
    change(told)
    name = next(iter(told["files"]))
    with contextlib.suppress(RecveilError, KeyError, TypeError):  # nothing may fit to that
        (folder / "README.md").write_text(card_of(told, name))
    write(folder, told)
    sign(folder)


def forge_rows(folder: Path, change: Callable[[list[list[str]]], object]) -> None:
    """Change the rows of a CSV file, as lists of fields, and make the digests fit."""
    file = folder / "ratings.csv"
    header, *lines = file.read_text().splitlines()
    rows = [line.split(",") for line in lines]
    change(rows)
    file.write_text("\n".join([header, *map(",".join, rows), ""]))
    sign(folder)


def _less_noise(told: dict, by: float = 0.9) -> None:
    for query in told["claim"]["ledger"]["queries"]:
        query["sigma"] *= by


def _without_a_query(told: dict) -> None:
    del told["claim"]["ledger"]["queries"][0]


def _query_twice(told: dict) -> None:
    queries = told["claim"]["ledger"]["queries"]
    queries.append(queries[0])


def _other_units(told: dict) -> None:
    """All that one person can change is twice as long, and so is the noise."""
    for query in told["claim"]["ledger"]["queries"]:
        query.update(sensitivity=2 * query["sensitivity"], sigma=2 * query["sigma"])


def _of_fewer_items(told: dict) -> None:
    for query in told["claim"]["ledger"]["queries"]:
        if query["name"] == "item sums":
            query["values"] = 2


def _other_part(told: dict) -> None:
    """Names of items have a part of delta though none was chosen, or none though they were."""
    claim = told["claim"]
    claim["ledger"]["threshold_delta"] = (
        0.0 if claim["ledger"]["threshold_delta"] else claim["delta"] / 10
    )


def _smaller_delta(told: dict) -> None:
    told["claim"]["delta"] /= 10
    told["claim"]["ledger"]["threshold_delta"] /= 10


# What somebody may claim falsely of drawn people.
OF_A_PROMISE = {
    "a lower epsilon": lambda told: told["claim"].update(epsilon=told["claim"]["epsilon"] * 0.999),
    "a higher epsilon": lambda told: told["claim"].update(epsilon=told["claim"]["epsilon"] * 1.01),
    "no epsilon": lambda told: told["claim"].update(epsilon=0.0),
    "a smaller delta": _smaller_delta,
    "a large delta": lambda told: told["claim"].update(delta=0.4),
    "no unit": lambda told: told["claim"].pop("unit"),
    "another unit": lambda told: told["claim"].update(unit="rating"),
    "less noise": _less_noise,
    "no noise": lambda told: _less_noise(told, 0.0),
    "a query left out": _without_a_query,
    "no query": lambda told: told["claim"]["ledger"].update(queries=[]),
    "a query twice": _query_twice,
    "other units": _other_units,
    "sums of fewer items": _of_fewer_items,
    "another part of delta": _other_part,
    "exact sums": lambda told: told.update(claim="aggregates", k=943),
    "a k": lambda told: told.update(k=5),
}
# Of any release of people who are drawn, or of their model.
OF_DRAWN = {
    "levels": lambda told: told.update(levels=True),
    "diversity": lambda told: told.update(diversity={"b": 1, "l": 2}),
    "more of what is counted": lambda told: told["counts"].update(items=1_000),
    "a claim that nobody knows": lambda told: told.update(claim="certified"),
    "a promise of nothing": lambda told: told.update(claim="nothing"),
    "an unknown promise": lambda told: told.update(claim="unknown"),
    "a promise of another kind": lambda told: told.update(claim={"kind": "certified"}),
    "a promise in another form": lambda told: told.update(claim=["co-rated"]),
    "no claim": lambda told: told.update(claim=None),
    "identical rows": lambda told: told.update(claim="identical-rows"),
}
OF_EXACT = {
    "too few people": lambda told: told.update(k=5),
    "noise": lambda told: told["settings"].update(noise="gaussian"),
    "exact sums as an object": lambda told: told.update(claim={"kind": "aggregates"}),
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
