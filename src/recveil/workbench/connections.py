"""Patience: how long a connection may take to say what it asks, and how many may wait to.

Everybody on this machine can open connections to us, and say nothing, before anybody can know who
they are. So each has some seconds, and where too many wait, the one that has waited longest goes:
whoever asks at once, as browsers do, is answered.
"""

import asyncio
import os
import sys
import traceback
from typing import Any

from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which a request must have come, but for what is uploaded with it.
SECONDS = 10.0
# A browser opens six at once; some systems let us have no more than 256 files open.
MOST = 100
# So many may come in together, before the next look at how many wait.
BACKLOG = 100


class PatientProtocol(H11Protocol):
    """A connection that is closed if it asks nothing in time, or too many others wait, too."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let somebody in, and the one go who has waited longest, if there are too many."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > MOST:
            waiting = [each for each in self.connections if isinstance(each, PatientProtocol)]
            waiting = [each for each in waiting if each._deadline is not None]
            # Where all others are being answered, it is this one itself.
            min(waiting, key=lambda each: each._ends())._close()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request, or begin with the one that has come already."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Set a time in which to ask; once it is known what is asked, that may take its time."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS, self._close)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _ends(self) -> float:
        return 0.0 if self._deadline is None else self._deadline.when()

    def _close(self) -> None:
        self._wait_no_more()
        self.connections.discard(self)
        self.transport.abort()


class QuietServer(Server):
    """A server that shows no traces on the terminal, unless somebody asks for them."""

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(_tell)
        await super().startup(sockets)


def _tell(_: asyncio.AbstractEventLoop, met: dict[str, Any]) -> None:
    """Show where something went wrong to whoever asked to see it; who sent it is told so anyway."""
    if "RECVEIL_TRACEBACK" in os.environ:
        print(met.get("message", ""), file=sys.stderr)
        if isinstance(error := met.get("exception"), BaseException):
            traceback.print_exception(error, file=sys.stderr)
