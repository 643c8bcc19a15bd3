"""The command line: one module a verb, each a thin call of the library function of its name."""

from recveil.cli.entry import app, main

__all__ = ["app", "main"]
