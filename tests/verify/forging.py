"""What somebody does who changed a release and wants it to verify: all that can fit is made to fit.

Like the second checker, which it asks, it shares nothing with recveil but the data card.
"""

import json
from hashlib import sha256
from pathlib import Path

import independent

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
        (folder / "README.md").write_text(data_card(Manifest.from_json(told), name))
        write(folder, told)
    except Exception:  # whatever it is, nothing can be made to fit
        pass
    sign(folder)


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
