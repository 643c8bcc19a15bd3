"""Narayanan & Shmatikov, section 5: what the record of a re-identified user reveals.

    python experiments/narayanan_sensitive.py path/to/ml-100k

Prints the share of users whose record an adversary finds and who are revealed to have rated a
sensitive item that the adversary did not know. No item of MovieLens is sensitive: genres stand
in for politics, religion and sexuality.
"""

from pathlib import Path
from tempfile import NamedTemporaryFile

from narayanan import ratings_of
from page import Row, main

from recveil import audit
from recveil.attacks import Adversary

TITLE = "Narayanan & Shmatikov, section 5: sensitive items"
READING = (
    "Eight known ratings, six of them right, dates within 14 days. The control takes a random "
    "other record in place of each target's own."
)
AXES = None
# Columns of u.item
GENRES = {"Documentary": 12, "Film-Noir": 15, "Western": 23}
ADVERSARY = Adversary(known=8, right=6, rating_error=0, date_error=14, name="6 of 8")


def run(folder: Path) -> list[Row]:
    """Return for how many users an item of each genre is revealed."""
    with NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("item,category\n")
        for line in (folder / "u.item").read_text(encoding="latin-1").splitlines():
            fields = line.split("|")
            for genre, column in GENRES.items():
                if fields[column] == "1":
                    file.write(f"{fields[0]},{genre}\n")
        file.flush()
        (found,) = audit(
            ratings_of(folder),
            adversaries=[ADVERSARY],
            targets=None,
            curves=False,
            sensitive=file.name,
        ).sensitive
    rows = []
    for one in found.categories:
        what = f"{one.category}, {one.items} items"
        rows.append(Row(f"{what}: users who rated one", one.n_raters, form=",.0f"))
        for label, share in (("revealed", one.revealed), ("control", one.control)):
            interval = (share.low, share.high)
            rows.append(Row(f"{what}: {label}", share.rate, form=".1%", interval=interval))
    return rows


if __name__ == "__main__":
    main(run, __doc__)
