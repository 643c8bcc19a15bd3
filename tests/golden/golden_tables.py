"""Small invented tables, drawn here so that no change of recveil changes them."""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from pathlib import Path

import numpy as np

Row = tuple[str, int, float]
WORDS = ("hate", "dislike", "like", "love")


def _rows(n_users: int, n_items: int, low: float, high: float, step: float, seed: int) -> list[Row]:
    """Three embedding dimensions, popular and rare items, active users and others."""
    rng = np.random.default_rng(seed)
    popularity = 1 / (1 + np.arange(n_items))
    popularity /= popularity.sum()
    rows = []
    for user in range(n_users):
        n_rated = int(rng.integers(6, min(n_items, 18)))
        for item in rng.choice(n_items, n_rated, replace=False, p=popularity).tolist():
            embedding = (
                0.5 + 0.3 * (1 if item % 3 == user % 3 else -0.5) + 0.15 * rng.standard_normal()
            )
            level = round(float(np.clip(embedding, 0, 1)) * (high - low) / step)
            rows.append((f"u{user:03}", 101 + 7 * item, low + step * level))
    return rows


def _write(file: Path, header: str, lines: Iterable[str]) -> None:
    file.write_text("\n".join([header, *lines, ""]), "utf-8")


def _stars(file: Path) -> None:
    rows = _rows(60, 24, 1, 5, 1, seed=11)
    _write(file, "user,item,rating", (f"{user},{item},{value:g}" for user, item, value in rows))


def _halves(file: Path) -> None:
    """Half stars with dates, and items whose ids are text, one of which a spreadsheet would run."""
    rng = np.random.default_rng(12)
    names = {101: "=SUM(A1)", 108: "Amélie", 115: "a,b"}
    rows = [
        f'{user},"{names.get(item, f"film {item}")}",{value:g},'
        f"{date(2024, 1, 1) + timedelta(int(rng.integers(400)))}"
        for user, item, value in _rows(70, 24, 0.5, 5, 0.5, seed=13)
    ]
    _write(file, "userId,movieId,rating,date", rows)


def _likes(file: Path) -> None:
    _write(file, "user,item", (f"{user},{item}" for user, item, _ in _rows(60, 24, 1, 2, 1, 14)))


def _counts(file: Path) -> None:
    rows = [f"{u},{i},{round(2**value)}" for u, i, value in _rows(60, 24, 0, 9, 1, seed=15)]
    _write(file, "user,item,plays", rows)


def _worded(file: Path) -> None:
    rows = [f"{u},{i},{WORDS[int(value)]}" for u, i, value in _rows(60, 24, 0, 3, 1, seed=16)]
    _write(file, "user,item,rating", rows)


def _few(file: Path) -> None:
    """The smallest: for what takes long."""
    rows = _rows(40, 18, 1, 5, 1, seed=17)
    _write(file, "user,item,rating", (f"{user},{item},{value:g}" for user, item, value in rows))


def _trust(file: Path) -> None:
    rng = np.random.default_rng(18)
    pairs = [(f"u{a:03}", f"u{b:03}") for a, b in rng.integers(0, 60, (200, 2)).tolist() if a != b]
    _write(file, "truster,trustee,value", (f"{a},{b},1" for a, b in dict.fromkeys(pairs)))


def _levels(file: Path) -> None:
    _write(file, "user_id,k", (f"u{user:03},{2 + user % 5}" for user in range(0, 60, 2)))


def _catalogue(file: Path) -> None:
    file.write_text("".join(f"{101 + 7 * item}\n" for item in range(26)), "utf-8")


def _other(file: Path) -> None:
    """Ratings by users of the stars, of items that they did not rate there."""
    rated = {row[:2] for row in _rows(60, 24, 1, 5, 1, seed=11)}
    rows = [row for row in _rows(60, 24, 1, 5, 1, seed=19) if row[:2] not in rated]
    _write(file, "user,item,rating", (f"{user},{item},{value:g}" for user, item, value in rows))


def _known(file: Path) -> None:
    """What an adversary knows of three users of the stars."""
    rows = _rows(60, 24, 1, 5, 1, seed=11)
    known = [f"{u},{i},{value:g}" for u, i, value in rows if u in ("u003", "u017", "u042")]
    _write(file, "target,item,rating", known)


def _card(file: Path) -> None:
    file.write_text(
        'title = "Invented stars"\npublisher = "Nobody"\ncontact = "nobody@example.org"\n'
        'licence = "CC-BY-4.0"\ndate = "2026-01-31"\n',
        "utf-8",
    )


TABLES: dict[str, Callable[[Path], None]] = {
    "stars.csv": _stars,
    "halves.csv": _halves,
    "likes.csv": _likes,
    "counts.csv": _counts,
    "words.csv": _worded,
    "few.csv": _few,
    "trust.csv": _trust,
    "levels.csv": _levels,
    "catalogue.txt": _catalogue,
    "other.csv": _other,
    "known.csv": _known,
    "card.toml": _card,
}


def write_tables(folder: Path) -> None:
    """Write all of them."""
    for name, write in TABLES.items():
        write(folder / name)
