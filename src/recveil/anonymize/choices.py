"""Choices: which options of a method were given, and whether they are its own."""

from collections.abc import Mapping
from typing import Any

from recveil.errors import RecveilError
from recveil.release.method import Method, Option
from recveil.release.registry import all_methods


def own_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide keywords into the options of methods, and all others.

    Examples
    --------
    >>> own_options({"fill": "random", "scale": None})
    ({'fill': 'random'}, {'scale': None})
    """
    names = {option.name for method in all_methods() for option in method.options}
    return (
        {name: value for name, value in given.items() if name in names},
        {name: value for name, value in given.items() if name not in names},
    )


def check_options(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were really given, or refuse what the method would not look at.

    None counts as not given, and so does what another method's option is anyway.

    Raises
    ------
    RecveilError
        If an option is another method's, or has a value that the method does not know.
    """
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or (method.option(name) is None and _is_usual(name, value)):
            continue
        chosen[name] = value
    _refuse_strange(method, chosen)
    for name, value in chosen.items():
        _refuse_of_another(method, name, value)
    return chosen


def choose_method(method: str | None, k: int | None, given: Mapping[str, Any]) -> str:
    """Return the method that follows from what was asked for: k, or what is given instead.

    Parameters
    ----------
    method : str or None
        As it was named; None if it was not.
    k : int or None
    given : dict
        The options of methods, None for those that were not given.

    Raises
    ------
    RecveilError
        If neither promise is asked for, or both.

    Examples
    --------
    >>> choose_method(None, 5, {}), choose_method("k-corating", 5, {})
    ('predictive', 'k-corating')
    """
    # One class of promise is asked for by k; each other one by an option of its own.
    asked = [each for each in all_methods() if each.asked_by and given.get(each.asked_by)]
    if k is not None and asked:
        flag = asked[0].asked_by
        raise RecveilError(
            f"k (--k) and {flag} (--{flag}): two promises that no release makes together; "
            f"{_promises()}; give one",
            code="option.conflict",
        )
    if method is not None:
        named = next((each for each in all_methods() if each.name == method), None)
        is_asked = named is None or (named in asked if named.asked_by else k is not None)
        if not is_asked:
            flag = "k" if named is None else named.asked_by or "k"
            raise RecveilError(
                f"the method {method} is asked for by {flag} (--{flag}), which was not given; "
                f"give it, or take another method (--method)",
                code="option.required",
            )
        return method
    if k is None and not asked:
        raise RecveilError(
            f"no promise is asked for; give one of: {_promises()}", code="option.required"
        )
    return asked[0].name if asked else next(each.name for each in all_methods() if each.card)


def _promises() -> str:
    """Say the promises that can be asked for, a line each."""
    told = ["--k K: at least k people share each published row"]
    told += [
        f"--{each.asked_by} E: {each.promise_in_short}" for each in all_methods() if each.asked_by
    ]
    return "".join(f"\n  {line}" for line in told)


def _is_usual(name: str, value: Any) -> bool:
    """Say whether a value is what an option of some method is if nobody gives it."""
    options = (known.option(name) for known in all_methods())
    return any(
        option is not None and type(option.default) is type(value) and option.default == value
        for option in options
    )


def _refuse_strange(method: Method, chosen: Mapping[str, Any]) -> None:
    """Refuse options that the method would not look at."""
    for other in all_methods():
        strange = [
            option
            for option in other.options
            if option.name in chosen and method.option(option.name) is None
        ]
        if strange:
            named = ", ".join(f"{option.name} ({_spelled(option)})" for option in strange)
            raise RecveilError(
                f"{named}: only for the method {other.name}, but the method is {_named(method)}; "
                f"leave that out, or take the method {other.name} (--method {other.name})",
                code="option.unsupported",
            )


def _refuse_of_another(method: Method, name: str, value: Any) -> None:
    """Refuse a value that another method knows by that name, as it is not unknown."""
    own = method.option(name)
    if own is None or not own.choices or not isinstance(value, str) or value in own.choices:
        return
    for other in all_methods():
        theirs = other.option(name)
        if theirs is None or value not in theirs.choices:
            continue
        needed = other.option(theirs.needs.get(value, ""))
        if needed is not None and method.option(needed.name) is None:
            raise RecveilError(
                f"{name} {value!r}: only for {needed.name} ({_spelled(needed)}), which the method "
                f"{method.name} does not know; take another {name}, or the method {other.name} "
                f"(--method {other.name}) with it",
                code="option.unsupported",
            )
        if needed is None:
            raise RecveilError(
                f"{name} {value!r}: only for the method {other.name}, but the method is "
                f"{_named(method)}; take another {name}, or the method {other.name} (--method "
                f"{other.name})",
                code="option.unsupported",
            )
    raise RecveilError(
        f"{name} {value!r}: expected one of {', '.join(own.choices)}", code="option.value"
    )


def _spelled(option: Option) -> str:
    """Return all flags of an option, as in "--round-fills, --no-round"."""
    return option.spelled.replace("/", ", ")


def _named(method: Method) -> str:
    first = next(known for known in all_methods() if known.card)
    return f"{method.name}, the default" if method == first else method.name
