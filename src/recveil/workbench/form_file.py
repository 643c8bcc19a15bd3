"""Form file: a file within a form, as browsers send it where no script of ours has run.

The form is read as it comes, and never held: what stands before the file is small, and the file is
handed on piece by piece.
"""

import re

from recveil.workbench.asgi import Message, Receive, RefusedError

MULTIPART = "multipart/form-data"
# A form of ours has a secret and a file; all before the file is a few hundred bytes.
_MOST_BEFORE = 1 << 16
_BOUNDARY = re.compile(r'boundary="?([0-9A-Za-z\'()+_,./:=? -]{1,70})"?\s*(?:;|$)', re.I)
_NAME = re.compile(rb';\s*name="([^"]*)"', re.I)
_FILE_NAME = re.compile(rb';\s*filename="([^"]*)"', re.I)


class FormFile:
    """A form that comes, of which the last part is a file.

    Parameters
    ----------
    receive : callable
        Gives the body of the request.
    content_type : str
        The header, which says what stands between the parts.

    Attributes
    ----------
    name : str
        What the file is called; empty if none was chosen.
    """

    def __init__(self, receive: Receive, content_type: str) -> None:
        boundary = _BOUNDARY.search(content_type)
        if boundary is None:
            raise _unreadable()
        self.name = ""
        self._receive = receive
        self._mark = b"\r\n--" + boundary[1].encode()
        # So that the first mark looks like all others.
        self._held = bytearray(b"\r\n")
        self._has_ended = False

    async def fields(self) -> dict[str, str]:
        """Read all that stands before the file, and what the file is called."""
        fields: dict[str, str] = {}
        await self._read_to(self._mark)
        while True:
            head = await self._read_to(b"\r\n\r\n")
            name, file_name = _NAME.search(head), _FILE_NAME.search(head)
            if file_name is not None:
                self.name = _written_out(file_name[1].decode("utf-8", "replace"))
                return fields
            if name is None:
                raise _unreadable()
            value = await self._read_to(self._mark)
            fields[name[1].decode("utf-8", "replace")] = value.decode("utf-8", "replace")

    async def receive(self) -> Message:
        """Give the next piece of the file, as if it came alone."""
        while (at := self._held.find(self._mark)) < 0:
            # The last bytes may be the beginning of a mark.
            sure = len(self._held) - len(self._mark) + 1
            if sure > 0:
                return self._taken(sure, more=True)
            await self._read()
        return self._taken(at, more=False)

    def _taken(self, n_bytes: int, *, more: bool) -> Message:
        piece = bytes(self._held[:n_bytes])
        del self._held[:n_bytes]
        return {"type": "http.request", "body": piece, "more_body": more}

    async def _read_to(self, mark: bytes) -> bytes:
        while (at := self._held.find(mark)) < 0:
            if len(self._held) > _MOST_BEFORE:
                raise RefusedError(413, "The form is larger than any form of ours.")
            await self._read()
        found = bytes(self._held[:at])
        del self._held[: at + len(mark)]
        return found

    async def _read(self) -> None:
        if self._has_ended:
            raise _unreadable()
        message = await self._receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The request was cut off.")
        self._held += message.get("body", b"")
        self._has_ended = not message.get("more_body")


def _written_out(name: str) -> str:
    """Write out the three marks that browsers never send in a name as they are."""
    for sent, mark in (("%22", '"'), ("%0D", "\r"), ("%0A", "\n")):
        name = name.replace(sent, mark)
    return name


def _unreadable() -> RefusedError:
    return RefusedError(400, "The form that came cannot be read; load the page again.")
