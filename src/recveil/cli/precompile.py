"""recveil precompile."""

from recveil.report.terminal import echo


def precompile() -> None:
    """Compile what all verbs need, once on this machine; no verb then compiles at its first call.

    Takes about a minute. Repeat it after an update of recveil, Python or numba.

    Example: `recveil precompile`
    """
    from recveil.precompilation import precompile

    echo(f"Compiled in {precompile():.0f} s. No verb compiles at its first call now.")
