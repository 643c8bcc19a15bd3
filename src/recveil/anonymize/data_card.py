"""The data card: what a reader of a release must know, in plain words."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined


def data_card(manifest: dict[str, Any], ratings_file: str) -> str:
    """Return the README.md that stands in a published folder.

    Parameters
    ----------
    manifest : dict
        The content of release.json.
    ratings_file : str
        Name of the file that holds the ratings.
    """
    text = files("recveil.anonymize").joinpath("data_card.md.jinja").read_text(encoding="utf-8")
    # Markdown for people to read, not HTML: nothing to escape.
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text).render(**manifest, ratings_file=ratings_file) + "\n"
