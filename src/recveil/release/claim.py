"""Claim: what a release promises about its published rows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What a release promises about its published rows.

    Parameters
    ----------
    kind : str
        "identical-rows": every record is shared, item for item and label for label, by at least
        `k` people. "co-rated": at least `k` people have the same items in their records, whatever
        the labels. "nothing": a baseline, to be compared with; `k` is 1, and it is never written.
    k : int
        If people have levels of their own, the lowest of them.
    levels : bool
        Whether each record says how many people share it at least: the highest level of them.
    b, l : int
        Every set of b items that stands in a record stands in at least l different ones; 1 and 1
        say nothing.
    """

    kind: str
    k: int
    levels: bool = False
    b: int = 1
    l: int = 1  # noqa: E741
