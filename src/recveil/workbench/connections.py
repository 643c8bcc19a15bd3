"""Limits on how long, and how many, connections may wait before they send a request.

Every user of this machine can open connections and send nothing. Each connection therefore has
some seconds, and where too many wait, the one that has waited longest is closed. Browsers send
their requests at once, and are answered.
"""

import asyncio
import os
import sys
import traceback
from collections.abc import Mapping
from typing import Any

from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which a request must arrive, without its upload.
SECONDS = 10.0
# A browser opens six at once; some systems allow 256 open files.
MOST = 100
# Connections that may arrive together before the next check.
BACKLOG = 100


class PatientProtocol(H11Protocol):
    """A connection that is closed if it sends no request in time, or too many others wait."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; if there are too many, close the one that has waited longest."""
        super().connection_made(transport)
        self._update_deadline()
        if len(self.connections) > MOST:
            # If all others are being answered, it is this one.
            waiting = [
                (each._deadline.when(), each)
                for each in self.connections
                if isinstance(each, PatientProtocol) and each._deadline is not None
            ]
            min(waiting, key=lambda pair: pair[0])[1]._close()

    def data_received(self, data: bytes) -> None:
        """Receive a piece of a request."""
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request, or start one that has arrived already."""
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop a connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def _update_deadline(self) -> None:
        """Set a deadline for the request; once its headers are known, there is none."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS, self._close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self._cancel_deadline()
        self.connections.discard(self)
        self.transport.abort()


class QuietServer(Server):
    """A server that prints no traces, unless RECVEIL_TRACEBACK is set."""

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(_print_error)
        await super().startup(sockets)


def _print_error(_: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
    if "RECVEIL_TRACEBACK" in os.environ:
        print(context.get("message", ""), file=sys.stderr)
        if isinstance(error := context.get("exception"), BaseException):
            traceback.print_exception(error, file=sys.stderr)
