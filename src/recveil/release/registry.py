"""Registry of methods."""

from recveil.release.claim import claim_kind
from recveil.release.method import Method, Settings, Variant
from recveil.release.specs.baselines import BASELINES
from recveil.release.specs.k_corating import K_CORATING
from recveil.release.specs.nominal import NOMINAL
from recveil.release.specs.predictive import PREDICTIVE
from recveil.release.specs.sparse import SPARSE
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.runtime.errors import RecveilError

_METHODS: dict[str, Method] = {
    method.title: method
    for method in (PREDICTIVE, K_CORATING, SPARSE, SYNTHETIC, NOMINAL, *BASELINES)
}
# The method of a request for k alone
DEFAULT = SPARSE


def register_method(method: Method) -> Method:
    """Register a method's public description alone (see `recveil.methods.registry.register`)."""
    names = {method.name, method.title, *(variant.name for variant in method.variants)}
    for other in _METHODS.values():
        taken = {other.name, other.title, *(variant.name for variant in other.variants)} & names
        if taken:
            raise RecveilError(
                f"method {sorted(taken)[0]!r}: there is one of that name; choose another",
                code="argument.value",
            )
    for variant in method.variants:
        claim_kind(variant.claim)  # raises if it is unknown
    _reject_other_kinds(method)
    _METHODS[method.title] = method
    return method


def _reject_other_kinds(method: Method) -> None:
    """Raise if an option has the name of another method's option but another type."""
    for other in _METHODS.values():
        for option in method.options:
            existing = other.option(option.name)
            if existing is not None and (existing.kind, existing.spelled) != (
                option.kind,
                option.spelled,
            ):
                raise RecveilError(
                    f"option {option.name!r} of the method {method.name!r}: the method "
                    f"{other.name!r} has one of that name, which is of another kind or spelled "
                    f"otherwise; choose another name",
                    code="argument.value",
                )


def forget_method(method: Method) -> None:
    """Undo `register_method`."""
    del _METHODS[method_of({"method": method.title}).title]


def all_methods() -> tuple[Method, ...]:
    """Return all registered methods in order of registration."""
    return tuple(_METHODS.values())


def find_method(settings: Settings) -> Method | None:
    """Return the method of public settings; None if it is unknown."""
    title = settings.get("method")
    return _METHODS.get(title) if isinstance(title, str) else None


def method_of(settings: Settings) -> Method:
    """Return the method of public settings."""
    method = find_method(settings)
    if method is None:
        raise RecveilError(
            f"method {settings.get('method')!r:.60}: unknown to this recveil, which has "
            f"{', '.join(known.title for known in _METHODS.values())}; take the recveil that made "
            f"the release",
            code="method.unknown",
        )
    return method


def all_variants() -> dict[str, tuple[Method, Variant]]:
    """Return all variants with their methods, by name."""
    return {
        variant.name: (method, variant)
        for method in _METHODS.values()
        for variant in method.variants
    }


def variant_of(name: str) -> Variant:
    """Return a variant by its name."""
    variants = all_variants()
    if name not in variants:
        raise RecveilError(
            f"method {name!r}: expected one of {', '.join(variants)}", code="method.unknown"
        )
    return variants[name][1]


def command_options(name: str) -> str:
    """Return the options of `recveil anonymize` that make a variant's releases."""
    variant_of(name)  # raises if it is unknown
    method, variant = all_variants()[name]
    words = ["--method", method.name]
    for key, value in variant.options.items():
        option = method.option(key)
        words.append(option.spelled if option else f"--{key.replace('_', '-')}")
        words.append(
            "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        )
    return " ".join(words)


def undone_of(name: str, *, has_ratings: bool = True) -> tuple[str, ...]:
    """Describe which protections of a variant's releases known attacks undo."""
    variant = variant_of(name)
    method, _ = all_variants()[name]
    feedback = {} if has_ratings else {"feedback": "implicit"}
    return method.undone_by({**variant.options, **feedback})
