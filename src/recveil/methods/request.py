"""The request for a release, which every front end builds and passes on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Literal, Self, TypedDict, Unpack

from recveil.io.options import ReadingOptions
from recveil.release.registry import all_methods
from recveil.release.sides import FileFormat, Layout
from recveil.runtime.safe_repr import brief


class MethodOptions(TypedDict, total=False):
    """Options of the built-in methods; a registered method may have others."""

    homogenize: Literal["padded", "simple", "commonest", "shares"] | None
    grouping: str | None
    predictor: str | None
    round_values: str | float | None
    values: Literal["rated", "predicted"] | None
    privacy_levels: str | PathLike[str] | None
    b: int
    l: int  # noqa: E741
    fill: str | None
    trust: str | PathLike[str] | None
    round_fills: bool | None
    protect: Literal["none", "mean", "shuffle"] | None
    cluster_size: int | None
    epsilon: str | float | None
    delta: float | None
    n_users: int | None
    item_catalog: Any
    rating_grid: Literal["tenths", "whole"] | None


class ReleaseOptions(MethodOptions, ReadingOptions, total=False):
    """Keywords of `anonymize`: options of the method and of reading."""


class AnonymizeOptions(ReleaseOptions, total=False):
    """All keywords of `anonymize` that describe the release; see there."""

    k: int | None
    method: str | None
    layout: Layout
    file_format: FileFormat
    seed: int | None
    hide_items: bool
    force: bool
    allow_large: bool
    earlier_release: str | PathLike[str] | None


@brief
@dataclass(frozen=True, kw_only=True)
class AnonymizeRequest:
    """What `anonymize` is asked to do; see there for the fields."""

    source: Any
    output: str | PathLike[str]
    k: int | None = None
    method: str | None = None
    layout: Layout = "auto"
    file_format: FileFormat = "parquet"
    seed: int | None = None
    hide_items: bool = False
    force: bool = False
    allow_large: bool = False
    earlier_release: str | PathLike[str] | None = None
    # Options of the method that were given, by name
    options: Mapping[str, Any] = field(default_factory=dict)
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    @classmethod
    def of(
        cls, source: Any, output: str | PathLike[str], **keywords: Unpack[AnonymizeOptions]
    ) -> Self:
        """Sort the keywords of `anonymize` into options of the release, the method and reading.

        Examples
        --------
        >>> request = AnonymizeRequest.of("ratings.csv", "out", k=5, fill="random", user="1")
        >>> request.k, request.options, request.reading
        (5, {'fill': 'random'}, {'user': '1'})
        """
        own = {each.name for each in fields(cls)} - {"options", "reading"}
        of_methods = {option.name for method in all_methods() for option in method.options}
        sorted_: dict[str, dict[str, Any]] = {"own": {}, "options": {}, "reading": {}}
        for name, value in keywords.items():
            kind = "own" if name in own else "options" if name in of_methods else "reading"
            sorted_[kind][name] = value
        return cls(
            source=source,
            output=output,
            options=sorted_["options"],
            reading=ReadingOptions(**sorted_["reading"]),  # type: ignore[typeddict-item]
            **sorted_["own"],
        )
