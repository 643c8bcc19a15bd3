"""Narayanan & Shmatikov, section 5: items of two catalogues, matched by title and year.

    python experiments/narayanan_titles.py path/to/ml-100k

Needs the folder ml-latest-small (movies.csv) next to the given one. The titles of u.item are
the table's, those of movies.csv the auxiliary file's. A match is right if title and year are the
same text. As a control, the movies with the same text are taken out of movies.csv: every match of
their titles is wrong then.
"""

from pathlib import Path

from page import Row, main

from recveil.attacks.statistics import wilson_interval
from recveil.auditing import ItemMatch, match_titles
from recveil.io.side_tables import read_titles

TITLE = "Narayanan & Shmatikov, section 5: items matched by title and year"
READING = (
    "The paper matched the movies of IMDb with those of Netflix and prints no rate. Left out are "
    "titles that have a rival nearly as certain: MovieLens 100K lists some movies twice."
)
AXES = None


def run(folder: Path) -> list[Row]:
    """Match both catalogues, and the one without its right matches."""
    latest = folder.parent / "ml-latest-small" / "movies.csv"
    if not latest.is_file():
        return []
    mine, others = read_titles("item_titles", folder / "u.item"), read_titles("titles", latest)
    texts, other_texts = set(mine.values()), set(others.values())
    shared = {item: title for item, title in others.items() if title in texts}
    used = {one.auxiliary_item: one for one in match_titles(mine, others) if one.is_used}
    right = sum(_is_right(used[item]) for item in shared if item in used)
    wrong = sum(not _is_right(used[item]) for item in shared if item in used)
    rest = {item: title for item, title in others.items() if title not in texts}
    theirs = {item: title for item, title in mine.items() if title in other_texts}
    by_chance = sum(one.is_used for one in match_titles(theirs, rest))
    counts = {
        "titles of movies.csv that are in u.item": len(shared),
        "more matches, of titles that are not the same text": len(set(used) - set(shared)),
    }
    rates = {
        "of these matched, rightly": right,
        "of these matched, wrongly": wrong,
        "of these left out": len(shared) - right - wrong,
    }
    control = wilson_interval(by_chance, len(theirs))
    return [
        *(Row(label, number, form=",.0f") for label, number in counts.items()),
        *(_share(label, number, len(shared)) for label, number in rates.items()),
        Row(
            "control: titles of u.item matched, all wrongly, without their movies",
            *(control.rate,),
            form=".1%",
            interval=(control.low, control.high),
        ),
    ]


def _is_right(match: ItemMatch) -> bool:
    return match.title == match.auxiliary_title


def _share(label: str, number: int, of: int) -> Row:
    rate = wilson_interval(number, of)
    return Row(label, rate.rate, form=".1%", interval=(rate.low, rate.high))


if __name__ == "__main__":
    main(run, __doc__)
