"""classes.csv: a digest of each class, and how many people it has."""

from collections.abc import Mapping


def class_list(people_of: Mapping[bytes, int]) -> bytes:
    r"""Return the content of classes.csv.

    Parameters
    ----------
    people_of : mapping of bytes to int
        The people of each class, by its digest.

    Examples
    --------
    >>> class_list({b"\xb0": 5, b"\x0a": 7})
    b'digest,people\n0a,7\nb0,5\n'
    """
    lines = [f"{digest.hex()},{people}\n" for digest, people in sorted(people_of.items())]
    return ("digest,people\n" + "".join(lines)).encode()
