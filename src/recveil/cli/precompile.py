"""recveil precompile."""

from recveil.report.terminal import echo


def precompile() -> None:
    """Compile what verbs usually need, once on this machine, ahead of their first calls.

    Rare methods may compile more. Repeat it after an update of recveil, Python or numba.

    Example: `recveil precompile`
    """
    from recveil.precompilation import precompile

    echo(f"Compiled in {precompile():.0f} s. Usual calls of all verbs start without compiling now.")
