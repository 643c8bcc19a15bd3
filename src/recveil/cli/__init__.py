"""The command line: one module a verb, each a thin call of the library function of its name."""

from typing import TYPE_CHECKING

from recveil.cli.launcher import main

if TYPE_CHECKING:
    from recveil.cli.entry import app

__all__ = ["app", "main"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load the verbs on access, since `main` must report errors before."""
        if name != "app":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from recveil.cli.entry import app

        return app
