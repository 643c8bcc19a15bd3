"""The data card: what a reader of a release must know, in plain words."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

# The words of an older format stay as they were: its cards are rendered again to be compared.
_TEMPLATES = {
    "recveil-release-1": "data_card_1.md.jinja",
    "recveil-release-2": "data_card.md.jinja",
}


def data_card(manifest: dict[str, Any], ratings_file: str) -> str:
    """Return the README.md that stands in a published folder.

    Parameters
    ----------
    manifest : dict
        The content of release.json; nothing is asked of its `files`.
    ratings_file : str
        Name of the file that holds the ratings.
    """
    template = files("recveil.release").joinpath(_TEMPLATES[manifest["format"]])
    # Markdown for people to read, not HTML: nothing to escape.
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = template.read_text(encoding="utf-8")
    return environment.from_string(text).render(**manifest, ratings_file=ratings_file) + "\n"
