"""Documents of results, the plain data of their JSON."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np


def fields_of(result: Any, *names: str) -> dict[str, object]:
    """Return these attributes of a dataclass or named tuple, or all its fields."""
    if not names:
        names = getattr(result, "_fields", ()) or tuple(f.name for f in dataclasses.fields(result))
    return {name: getattr(result, name) for name in names}


@singledispatch
def parts_of(result: object) -> Mapping[str, object]:
    """Return the parts of a result's document: its fields, unless its type registers others."""
    return fields_of(result)


def plain(value: object) -> Any:
    """Return plain data: every result in it becomes its document, and nan None.

    >>> from recveil.attacks import Interval
    >>> plain({"control": Interval(float("nan"), 0.0, 1.0, 0), "edges": np.arange(2)})
    {'control': {'rate': None, 'low': 0.0, 'high': 1.0, 'trials': 0}, 'edges': [0, 1]}
    """
    if hasattr(value, "_asdict") or dataclasses.is_dataclass(value):
        value = parts_of(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same_figures(
    attacks: Iterable[Mapping[str, object]], *names: str
) -> list[list[Mapping[str, object]]]:
    """Put adversaries together that have the same figures of these names.

    >>> attacks = [{"name": name, "rate": rate} for name, rate in (("a", 1), ("b", 2), ("c", 1))]
    >>> [[one["name"] for one in same] for same in same_figures(attacks, "rate")]
    [['a', 'c'], ['b']]
    """
    groups: list[list[Mapping[str, object]]] = []
    for attack in attacks:
        for group in groups:
            if all(group[0][name] == attack[name] for name in names):
                group.append(attack)
                break
        else:
            groups.append([attack])
    return groups
