"""What became of a table that Spark made into a release, printed for people."""

from pathlib import Path
from typing import Any

from recveil.cli.explanations import explain
from recveil.cli.options import echo
from recveil.cli.show import show_verification, words_of
from recveil.cli.show_release import describe_what_to_publish
from recveil.release.manifest import twin_name
from recveil.runtime.errors import describe_count, printable
from recveil.spark import Released
from recveil.verification.other_files import describe_formulas


def show_released(made: Released, output: Path, *, is_explained: bool = False) -> None:
    """Print the verdict, what the release tells all the same, and what to do with it."""
    likes = made.scale.unary
    what = "like" if likes else "rating"
    scale = "; no ratings: read as likes" if likes else f"; scale {made.scale}"
    echo(
        f"Read {describe_count(made.n_ratings, what)} of {describe_count(made.n_items, 'item')} by "
        f"{describe_count(made.n_users, 'user')}"
        f"{scale}; by Spark."
    )
    for note in made.notes:
        echo(printable(note))
    show_verification(made.verification, str(output))
    for sentence in (*made.statements, *describe_formulas(made.release.published.items)):
        echo(sentence)
    of_people = made.release.published.claim.about.contains_users
    tells = "who is who" if of_people else f"whose {what} it was drawn from"
    describe_what_to_publish(output, tells, is_first=not made.earlier)
    if is_explained:
        explain(words_of(made.verification))


def as_json(made: Released, output: Path) -> dict[str, Any]:
    """Return the JSON object: as of a release that was made here, but for what is not known."""
    return {
        "output": str(output),
        "private": twin_name(str(output)),
        "engine": "spark",
        "data": {
            "users": made.n_users,
            "items": made.n_items,
            "ratings": made.n_ratings,
            "density": made.n_ratings / (made.n_users * made.n_items),
            "scale": str(made.scale),
            "notes": list(made.notes),
        },
        "settings": made.release.published.settings,
        "verification": made.verification.to_dict(),
        "earlier": [
            {
                "release": str(earlier.folder),
                "people": earlier.people,
                "warning": warning,
            }
            for earlier, warning in zip(made.earlier, made.warnings(output), strict=True)
        ],
    }
