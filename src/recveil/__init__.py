"""recveil: publish rating data without giving its people away.

What most programs need stands here; `docs/api.md` lists the packages, which hold the rest. Verbs
share their name with a package, and are in it: ``from recveil.verification import verify``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recveil.attacks import Adversary
    from recveil.evaluation import Evaluator
    from recveil.io import read_ratings
    from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
    from recveil.ratings import Ratings, RatingScale
    from recveil.runtime.errors import RecveilError

    __version__: str

__all__ = [
    "Adversary",
    "Evaluator",
    "KCoRater",
    "PredictiveAnonymizer",
    "RatingScale",
    "Ratings",
    "RecveilError",
    "SparseRows",
    "Synthesizer",
    "__version__",
    "read_ratings",
]

_HOMES = {
    "Adversary": "recveil.attacks",
    "Evaluator": "recveil.evaluation",
    "KCoRater": "recveil.methods",
    "PredictiveAnonymizer": "recveil.methods",
    "RatingScale": "recveil.ratings",
    "Ratings": "recveil.ratings",
    "RecveilError": "recveil.runtime.errors",
    "SparseRows": "recveil.methods",
    "Synthesizer": "recveil.methods",
    "read_ratings": "recveil.io",
}

if not TYPE_CHECKING:  # else a checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        """Look a name up when somebody asks: `import recveil` and the command line start fast."""
        if name == "__version__":
            from importlib.metadata import version

            found = version("recveil")
        elif name in _HOMES:
            from importlib import import_module

            found = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Tell the names that were not looked up yet, too."""
    return sorted({*globals(), *__all__})
