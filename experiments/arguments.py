"""Arguments of the scripts: the help is a docstring, and missing data are an error."""

import argparse
from collections.abc import Callable
from pathlib import Path


def parser_of(usage: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the script's docstring."""
    return argparse.ArgumentParser(
        description=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def ratings_file(text: str) -> Path:
    """Return the path of a table of ratings: a file, or the folder of the Netflix Prize."""
    path = Path(text)
    if path.is_file() or any(path.glob("combined_data_*.txt")) or any(path.glob("mv_*.txt")):
        return path
    raise argparse.ArgumentTypeError(
        f"{text}: expected a file of ratings, such as u.data of MovieLens 100K"
    )


def folder_with(*files: str) -> Callable[[str], Path]:
    """Return a check that a folder has one of the files."""

    def folder(text: str) -> Path:
        if any(Path(text, file).is_file() for file in files):
            return Path(text)
        raise argparse.ArgumentTypeError(
            f"{text}: expected a folder with {' or '.join(files)}, as MovieLens has"
        )

    return folder
