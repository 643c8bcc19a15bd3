"""Guard: who may speak to the workbench at all, and what every answer says to the browser.

It stands before all pages. The workbench is bound to this machine, but every page of the web that
is open in a browser here can send requests to it, and so can other users of the machine. So it
answers only under its own names (else a foreign name could be led to this machine: DNS rebinding),
only to whoever has the token that was printed, and it changes something only for its own pages.
"""

import hmac
import os
import re
import secrets
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class RefusedError(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


MULTIPART = "multipart/form-data"
# A form of ours has a secret and a file; all before the file is a few hundred bytes.
_MOST_BEFORE = 1 << 16
_BOUNDARY = re.compile(r'boundary="?([0-9A-Za-z\'()+_,./:=? -]{1,70})"?\s*(?:;|$)', re.I)
_NAME = re.compile(rb';\s*name="([^"]*)"', re.I)
_FILE_NAME = re.compile(rb';\s*filename="([^"]*)"', re.I)


class FormFile:
    """A form that comes, of which the last part is a file.

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


# The system's lists of connections; in the second stand those of programs that speak both kinds.
_LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_OURS = "127.0.0.1"
_OPEN = "01"
_ADMINISTRATOR = 0


def is_of_another_user(asks: tuple[str, int] | None, to_port: int) -> bool:
    """Say whether a connection to us is another user's, or may be: whoever is not found is not us.

    Examples
    --------
    >>> is_of_another_user(("127.0.0.1", 1), 2) in (True, False)
    True
    """
    lines: list[str] = []
    for file in _LISTS:
        try:
            lines += file.read_text(encoding="ascii").splitlines()[1:]
        except (FileNotFoundError, PermissionError):  # there may be no second kind
            continue
        except OSError:  # as where somebody has used all files up that we may open
            return True
    return bool(lines) and not (asks and may_ask(lines, asks, to_port, os.geteuid()))


def may_ask(lines: Iterable[str], asks: tuple[str, int], to_port: int, user: int) -> bool:
    """Say whether a list of connections holds one that is a user's, or the administrator's."""
    here, there = _places(*asks), _places(_OURS, to_port)
    for line in lines:
        _, this, other, state, *_, owner = line.split()[:8]
        if this not in here or other not in there:
            continue
        # Of a connection that was closed at its own end, the system has forgotten whose it was,
        # and says the administrator's.
        if int(owner) in (user, _ADMINISTRATOR) and (int(owner) or state == _OPEN):
            return True
    return False


def _places(address: str, port: int) -> tuple[str, ...]:
    """Return how the system's lists write an address and a port; nothing for what is no address."""
    try:
        raw = socket.inet_pton(socket.AF_INET, address)
    except OSError:
        return ()
    # Words of 32 bits, each in the order of the machine.
    short, mark = (f"{int.from_bytes(word, sys.byteorder):08X}" for word in (raw, b"\0\0\xff\xff"))
    return f"{short}:{port:04X}", f"{'0' * 16}{mark}{short}:{port:04X}"


# Nothing is loaded but from us, no script or style stands within a page, and nobody frames one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With no-referrer, browsers send forms with the origin "null".
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_READING = ("GET", "HEAD")
_CHANGING = ("POST", "PUT")
_FORM = "application/x-www-form-urlencoded"
# A form holds some names and choices.
_MOST_OF_FORM, _MOST_FIELDS = 1 << 16, 200
# Where the form that came is handed on, and what the file in it is called; the file is the body.
FORM, FILE_NAME = "recveil.form", "recveil.file name"


class Keys:
    """The secrets of one start of the workbench.

    Attributes
    ----------
    token : str
        Stands in the address that is printed.
    session : str
        Stands in the cookie that the token is exchanged for.
    change : str
        Stands in every form of our own pages.
    """

    def __init__(self) -> None:
        self.token, self.session, self.change = (secrets.token_urlsafe(32) for _ in range(3))


class Guard:
    """Asks who is there, before the application hears of it."""

    def __init__(
        self, application: Application, public: Application, keys: Keys, port: int
    ) -> None:
        self._application, self._public, self._keys = application, public, keys
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._port = port
        # Cookies do not tell ports apart: another workbench on this machine has its own.
        self._cookie = f"recveil-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, hand on, or refuse."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            await self._let_in(scope, receive, answer)
        except RefusedError as refused:
            await answer.page(refused.status, refused.why)
        except Exception as error:
            # A page must not show how we are built; whoever starts us can ask for it.
            if "RECVEIL_TRACEBACK" in os.environ:
                traceback.print_exception(error, file=sys.stderr)
            await answer.page(500, FAULT)

    async def _let_in(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        headers = _headers_of(scope)
        self._check_peer(scope)
        self._check_place(scope, headers)
        if scope["method"] not in _READING + _CHANGING:
            raise RefusedError(405, "Pages are read and sent, and nothing else.")
        if scope["method"] in _READING:
            if scope["path"].startswith("/static/"):
                await self._public(scope, receive, answer.send)
                return
            if await self._exchanged_token(scope, answer):
                return
        self._check_session(headers)
        if scope["method"] in _CHANGING:
            receive = await self._check_change(scope, receive, headers)
        await self._application(scope, receive, answer.send)

    def _check_peer(self, scope: Scope) -> None:
        """Refuse other users of this machine, whatever they have come by."""
        if is_of_another_user(scope.get("client"), self._port):
            raise RefusedError(403, "The workbench is another user's; start one of your own.")

    def _check_place(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse requests under another name, and from pages that are not ours."""
        host = headers.get("host", "")
        if host not in self._hosts:
            raise RefusedError(
                400, "This workbench answers under the address that recveil printed alone."
            )
        origin = headers.get("origin")
        is_foreign = origin is not None and origin != f"http://{host}"
        asked_from = headers.get("sec-fetch-site", "none")
        # A link in a mail may lead to a page of ours, but no other page may load or send anything.
        may_lead = scope["method"] in _READING and headers.get("sec-fetch-mode") == "navigate"
        if is_foreign or not (asked_from in ("none", "same-origin") or may_lead):
            raise RefusedError(403, "The request comes from another page; use this one's own.")
        if scope["method"] in _CHANGING and origin is None and "sec-fetch-site" not in headers:
            raise RefusedError(403, "The request does not say from which page it comes.")

    async def _exchanged_token(self, scope: Scope, answer: "_Answer") -> bool:
        """Give a cookie for the token of the address, and a page without it; say if that was so."""
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if "token" not in asked:
            return False
        if not _is_same(asked["token"], self._keys.token):
            raise RefusedError(403, _WHERE_FROM)
        cookie = f"{self._cookie}={self._keys.session}; Path=/; HttpOnly; SameSite=Strict"
        # A redirect would count as the foreign page's request, which gets no strict cookie; a page
        # of ours that goes on counts as ours.
        await answer.page(
            200, "One moment.", [(b"set-cookie", cookie.encode()), (b"refresh", b"0; url=/")]
        )
        return True

    def _check_session(self, headers: dict[str, str]) -> None:
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        given = [value for name, _, value in pairs if name == self._cookie]
        if not any(_is_same(value, self._keys.session) for value in given):
            raise RefusedError(403, _WHERE_FROM)

    async def _check_change(
        self, scope: Scope, receive: Receive, headers: dict[str, str]
    ) -> Receive:
        """Refuse a change without the secret of our forms; return what hands the body on."""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == MULTIPART:
            sent = FormFile(receive, headers["content-type"])
            self._check_form(scope, await sent.fields())
            scope[FILE_NAME] = sent.name
            return sent.receive
        if kind != _FORM:
            if not _is_same(headers.get("x-recveil-change", ""), self._keys.change):
                raise RefusedError(403, _NO_CHANGE)
            return receive
        body = await _body(receive)
        try:
            pairs = parse_qsl(
                body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace"
            )
        except ValueError:
            raise RefusedError(
                400, "The form that came cannot be read; load the page again."
            ) from None
        self._check_form(scope, dict(pairs))

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return again

    def _check_form(self, scope: Scope, form: dict[str, str]) -> None:
        """Refuse a form without the secret of ours; hand it on without that."""
        if not _is_same(form.pop("change", ""), self._keys.change):
            raise RefusedError(403, _NO_CHANGE)
        scope[FORM] = form


FAULT = (
    "Something went wrong in recveil, which is a fault; please report it. Start again with "
    "RECVEIL_TRACEBACK=1 to see where."
)
_WHERE_FROM = (
    "Open the address that recveil printed when it started: it holds a token, and without it "
    "nobody gets in. Each start has another one."
)
_NO_CHANGE = "The page is of an earlier start of the workbench, or not ours; load it again."


class _Answer:
    """What goes back: the headers of all answers, and pages of our own where none has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = False

    async def send(self, message: Message) -> None:
        """Send on what the application says, with the headers that it does not give."""
        if message["type"] == "http.response.start":
            self._has_begun = True
            own = list(message.get("headers", ()))
            given = {name.lower() for name, _ in own}
            own += [
                (name.encode(), value.encode())
                for name, value in _HEADERS.items()
                if name.encode() not in given
            ]
            message = {**message, "headers": own}
        await self._send(message)

    async def page(
        self, status: int, sentence: str, headers: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        """Send a page of one sentence, unless an answer has begun."""
        if self._has_begun:
            return
        body = _PAGE.format(sentence=sentence).encode()
        own = [(b"content-type", b"text/html; charset=utf-8"), *(headers or [])]
        own.append((b"content-length", str(len(body)).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": own})
        await self.send({"type": "http.response.body", "body": body})


# The sentences are ours; nothing that somebody sent stands in them.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>recveil workbench</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/static/workbench.css"></head>
<body><main><h1>recveil workbench</h1><p>{sentence}</p></main></body></html>
"""


def _headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers, of which each may stand but once where it decides something."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in ("host", "origin", "content-type") and name in found:
            raise RefusedError(400, "The request is ambiguous.")
        joined = f"{found[name]}; " if name == "cookie" and name in found else ""
        found[name] = joined + value.decode("latin-1")
    return found


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The request was cut off.")
        body += message.get("body", b"")
        if len(body) > _MOST_OF_FORM:
            raise RefusedError(413, "The form is larger than any form of ours.")
        if not message.get("more_body"):
            return bytes(body)


def _is_same(given: str, secret: str) -> bool:
    """Compare without telling by the time it takes how much is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
