"""Publish rating data without exposing its users.

The verbs and the classes that most programs need are here; `docs/api.md` lists the packages.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recveil.attacks import Adversary
    from recveil.auditing import audit
    from recveil.comparison import compare
    from recveil.evaluation import Evaluator, audit_lists, evaluate
    from recveil.inspection import inspect
    from recveil.io import read
    from recveil.methods import (
        KCoRater,
        PredictiveAnonymizer,
        SparseRows,
        Synthesizer,
        anonymize,
        forget,
    )
    from recveil.publish import Release, budget, convert
    from recveil.ratings import Ratings, RatingScale
    from recveil.runtime.errors import RecveilError
    from recveil.verification import verify

    __version__: str

__all__ = [
    "Adversary",
    "Evaluator",
    "KCoRater",
    "PredictiveAnonymizer",
    "RatingScale",
    "Ratings",
    "RecveilError",
    "Release",
    "SparseRows",
    "Synthesizer",
    "__version__",
    "anonymize",
    "audit",
    "audit_lists",
    "budget",
    "compare",
    "convert",
    "evaluate",
    "forget",
    "inspect",
    "read",
    "verify",
]

_HOMES = {
    "Adversary": "recveil.attacks",
    "Evaluator": "recveil.evaluation",
    "KCoRater": "recveil.methods",
    "PredictiveAnonymizer": "recveil.methods",
    "RatingScale": "recveil.ratings",
    "Ratings": "recveil.ratings",
    "RecveilError": "recveil.runtime.errors",
    "Release": "recveil.publish",
    "SparseRows": "recveil.methods",
    "Synthesizer": "recveil.methods",
    "anonymize": "recveil.methods",
    "audit": "recveil.auditing",
    "audit_lists": "recveil.evaluation",
    "budget": "recveil.publish",
    "compare": "recveil.comparison",
    "convert": "recveil.publish",
    "evaluate": "recveil.evaluation",
    "forget": "recveil.methods",
    "inspect": "recveil.inspection",
    "read": "recveil.io",
    "read_ratings": "recveil.io",  # the name of `read` in recveil 1
    "verify": "recveil.verification",
}

# Names in other libraries, and what to call here.
_OTHER_CALLS = {
    **dict.fromkeys(("Dataset", "Reader", "load", "read_csv"), "; call recveil.read(source)"),
    **dict.fromkeys(("Anonymizer", "fit"), "; call recveil.anonymize(source, k=5)"),
}

if not TYPE_CHECKING:  # else a checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        """Import the home of a name when it is used first, so that `import recveil` is fast."""
        if name == "__version__":
            from importlib.metadata import version

            found = version("recveil")
        elif name in _HOMES:
            from importlib import import_module

            found = getattr(import_module(_HOMES[name]), name)
        else:
            call = _OTHER_CALLS.get(name, "")
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{call}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return the verbs alone; classes are imported by name."""
    return [name for name in __all__ if name.islower() and not name.startswith("_")]
