"""Access control of the workbench, and the security headers of all responses.

The guard runs before all pages. The workbench listens on this machine alone, but every web page in
a local browser can send requests to it, and so can other users of the machine. So it answers under
its own host names only (which stops DNS rebinding), requires the token that was printed, and
accepts changes from its own pages only.
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
    """A request that is refused."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


MULTIPART = "multipart/form-data"
# Limit in bytes before the file; our forms need a few hundred.
_MOST_BEFORE = 1 << 16
_BOUNDARY = re.compile(r'boundary="?([0-9A-Za-z\'()+_,./:=? -]{1,70})"?\s*(?:;|$)', re.I)
_NAME = re.compile(rb';\s*name="([^"]*)"', re.I)
_FILE_NAME = re.compile(rb';\s*filename="([^"]*)"', re.I)


class FormFile:
    """A multipart form whose last part is a file; its `name` is empty if none was chosen."""

    def __init__(self, receive: Receive, content_type: str) -> None:
        boundary = _BOUNDARY.search(content_type)
        if boundary is None:
            raise _unreadable()
        self.name = ""
        self._receive = receive
        self._boundary = b"\r\n--" + boundary[1].encode()
        # A line break first, so that the first boundary looks like the others.
        self._buffer = bytearray(b"\r\n")
        self._has_ended = False

    async def fields(self) -> dict[str, str]:
        """Read the fields before the file, and the file's name."""
        fields: dict[str, str] = {}
        await self._read_to(self._boundary)
        while True:
            head = await self._read_to(b"\r\n\r\n")
            name, file_name = _NAME.search(head), _FILE_NAME.search(head)
            if file_name is not None:
                self.name = _unescape_name(file_name[1].decode("utf-8", "replace"))
                return fields
            if name is None:
                raise _unreadable()
            value = await self._read_to(self._boundary)
            fields[name[1].decode("utf-8", "replace")] = value.decode("utf-8", "replace")

    async def receive(self) -> Message:
        """Return the next piece of the file, as a request body of its own."""
        while (at := self._buffer.find(self._boundary)) < 0:
            # The last bytes may be the beginning of a boundary.
            sure = len(self._buffer) - len(self._boundary) + 1
            if sure > 0:
                return self._take(sure, more=True)
            await self._read()
        return self._take(at, more=False)

    def _take(self, n_bytes: int, *, more: bool) -> Message:
        piece = bytes(self._buffer[:n_bytes])
        del self._buffer[:n_bytes]
        return {"type": "http.request", "body": piece, "more_body": more}

    async def _read_to(self, mark: bytes) -> bytes:
        while (at := self._buffer.find(mark)) < 0:
            if len(self._buffer) > _MOST_BEFORE:
                raise RefusedError(413, "The form is larger than any form of the workbench.")
            await self._read()
        text = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return text

    async def _read(self) -> None:
        if self._has_ended:
            raise _unreadable()
        message = await self._receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The request was cut off.")
        self._buffer += message.get("body", b"")
        self._has_ended = not message.get("more_body")


def _unescape_name(name: str) -> str:
    """Decode the three characters that browsers escape in file names."""
    for escape, mark in (("%22", '"'), ("%0D", "\r"), ("%0A", "\n")):
        name = name.replace(escape, mark)
    return name


def _unreadable() -> RefusedError:
    return RefusedError(400, "The form cannot be read; load the page again.")


# The system's lists of connections; the second has those of IPv6 and dual-stack programs.
_CONNECTION_LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_HOST = "127.0.0.1"
_OPEN = "01"
_ADMINISTRATOR = 0


def is_of_another_user(peer: tuple[str, int] | None, to_port: int) -> bool:
    """Check whether a connection may be another user's; an unknown one counts as such.

    >>> is_of_another_user(("127.0.0.1", 1), 2) in (True, False)
    True
    """
    lines: list[str] = []
    for file in _CONNECTION_LISTS:
        try:
            lines += file.read_text(encoding="ascii").splitlines()[1:]
        except (FileNotFoundError, PermissionError):  # there may be no IPv6
            continue
        except OSError:  # as where no more files can be opened
            return True
    return bool(lines) and not (peer and has_connection(lines, peer, to_port, os.geteuid()))


def has_connection(lines: Iterable[str], peer: tuple[str, int], to_port: int, user: int) -> bool:
    """Check whether a list of connections has one of this user's, or the administrator's."""
    sources, targets = _address_forms(*peer), _address_forms(_HOST, to_port)
    for line in lines:
        _, local, other, state, *_, uid = line.split()[:8]
        if local not in sources or other not in targets:
            continue
        # The system reports a connection that its client closed as the administrator's.
        if int(uid) in (user, _ADMINISTRATOR) and (int(uid) or state == _OPEN):
            return True
    return False


def _address_forms(address: str, port: int) -> tuple[str, ...]:
    """Return an address and a port as the system's lists write them; () if it is no address."""
    try:
        raw = socket.inet_pton(socket.AF_INET, address)
    except OSError:
        return ()
    # Words of 32 bits in the machine's byte order.
    short, mark = (f"{int.from_bytes(word, sys.byteorder):08X}" for word in (raw, b"\0\0\xff\xff"))
    return f"{short}:{port:04X}", f"{'0' * 16}{mark}{short}:{port:04X}"


# Pages load our own files only, have no inline script or style, and cannot be framed.
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
_READ_METHODS = ("GET", "HEAD")
_WRITE_METHODS = ("POST", "PUT")
_FORM = "application/x-www-form-urlencoded"
# Limits of a form, in bytes and fields.
_MOST_OF_FORM, _MOST_FIELDS = 1 << 16, 200
# Keys of the scope for the form's fields and its file's name; the file is the body.
FORM, FILE_NAME = "recveil.form", "recveil.file name"


class Keys:
    """The secrets of a start: `token` of the address, `session` cookie, `change` of every form."""

    def __init__(self) -> None:
        self.token, self.session, self.change = (secrets.token_urlsafe(32) for _ in range(3))


class Guard:
    """Checks every request before the application gets it."""

    def __init__(
        self, application: Application, public: Application, keys: Keys, port: int
    ) -> None:
        self._application, self._public, self._keys = application, public, keys
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._port = port
        # Cookies ignore ports, so that each workbench on this machine has its own name.
        self._cookie = f"recveil-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, pass on, or refuse a request."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            await self._dispatch(scope, receive, answer)
        except RefusedError as refused:
            await answer.page(refused.status, refused.why)
        except Exception as error:
            # A page must not show internals; a trace goes to the terminal on request.
            if "RECVEIL_TRACEBACK" in os.environ:
                traceback.print_exception(error, file=sys.stderr)
            await answer.page(500, FAULT)

    async def _dispatch(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        headers = _parse_headers(scope)
        if is_of_another_user(scope.get("client"), self._port):
            raise RefusedError(403, "The workbench belongs to another user; start another one.")
        self._check_origin(scope, headers)
        if scope["method"] not in _READ_METHODS + _WRITE_METHODS:
            raise RefusedError(405, "This method is not supported.")
        if scope["method"] in _READ_METHODS:
            if scope["path"].startswith("/static/"):
                await self._public(scope, receive, answer.send)
                return
            if await self._exchange_token(scope, answer):
                return
        self._check_session(headers)
        if scope["method"] in _WRITE_METHODS:
            receive = await self._check_change(scope, receive, headers)
        await self._application(scope, receive, answer.send)

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse requests under another host name, and from foreign pages."""
        host = headers.get("host", "")
        if host not in self._hosts:
            raise RefusedError(
                400, "Use the address that recveil printed; the workbench answers no other."
            )
        origin = headers.get("origin")
        is_foreign = origin is not None and origin != f"http://{host}"
        site = headers.get("sec-fetch-site", "none")
        # A link in a mail may open a page, but no other page may load or send anything.
        may_lead = scope["method"] in _READ_METHODS and headers.get("sec-fetch-mode") == "navigate"
        if is_foreign or not (site in ("none", "same-origin") or may_lead):
            raise RefusedError(
                403, "The request comes from another page; use the pages of the workbench."
            )
        if scope["method"] in _WRITE_METHODS and origin is None and "sec-fetch-site" not in headers:
            raise RefusedError(403, "The request does not say from which page it comes.")

    async def _exchange_token(self, scope: Scope, answer: "_Answer") -> bool:
        """Exchange the token in the address for a cookie; return whether there was one."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if "token" not in query:
            return False
        if not _is_same(query["token"], self._keys.token):
            raise RefusedError(403, _ENTER_BY_ADDRESS)
        cookie = f"{self._cookie}={self._keys.session}; Path=/; HttpOnly; SameSite=Strict"
        # A redirect would count as the foreign page's request, which gets no strict cookie; a
        # refresh counts as ours.
        await answer.page(
            200, "One moment.", [(b"set-cookie", cookie.encode()), (b"refresh", b"0; url=/")]
        )
        return True

    def _check_session(self, headers: dict[str, str]) -> None:
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        cookies = [value for name, _, value in pairs if name == self._cookie]
        if not any(_is_same(value, self._keys.session) for value in cookies):
            raise RefusedError(403, _ENTER_BY_ADDRESS)

    async def _check_change(
        self, scope: Scope, receive: Receive, headers: dict[str, str]
    ) -> Receive:
        """Refuse a change without the secret of our forms; return a receiver of the body."""
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == MULTIPART:
            form_file = FormFile(receive, headers["content-type"])
            self._check_form(scope, await form_file.fields())
            scope[FILE_NAME] = form_file.name
            return form_file.receive
        if content_type != _FORM:
            if not _is_same(headers.get("x-recveil-change", ""), self._keys.change):
                raise RefusedError(403, _NO_CHANGE)
            return receive
        body = await _read_body(receive)
        try:
            pairs = parse_qsl(
                body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace"
            )
        except ValueError:
            raise _unreadable() from None
        self._check_form(scope, dict(pairs))

        async def replay() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return replay

    def _check_form(self, scope: Scope, form: dict[str, str]) -> None:
        """Refuse a form without our secret; store its other fields."""
        if not _is_same(form.pop("change", ""), self._keys.change):
            raise RefusedError(403, _NO_CHANGE)
        scope[FORM] = form


FAULT = (
    "This is a fault in recveil; please report it. Start again with "
    "RECVEIL_TRACEBACK=1 to see where."
)
_ENTER_BY_ADDRESS = (
    "Open the address that recveil printed when it started: it contains a token that each start "
    "changes. Without it the workbench does not answer."
)
_NO_CHANGE = "The page is from an earlier start of the workbench, or foreign; load it again."


class _Answer:
    """The response: security headers for all, and pages of one sentence."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = False

    async def send(self, message: Message) -> None:
        """Send a message of the application, with the headers that it lacks."""
        if message["type"] == "http.response.start":
            self._has_begun = True
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            headers += [
                (name.encode(), value.encode())
                for name, value in _HEADERS.items()
                if name.encode() not in names
            ]
            message = {**message, "headers": headers}
        await self._send(message)

    async def page(
        self, status: int, sentence: str, extra: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        """Send a page of one sentence, unless the response has started."""
        if self._has_begun:
            return
        body = _PAGE.format(sentence=sentence).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), *(extra or [])]
        headers.append((b"content-length", str(len(body)).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


# The sentences are constants; they contain nothing from a request.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>recveil workbench</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/static/workbench.css"></head>
<body><main><h1>recveil workbench</h1><p>{sentence}</p></main></body></html>
"""


def _parse_headers(scope: Scope) -> dict[str, str]:
    """Return the headers; raise if one that decides something occurs twice."""
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in ("host", "origin", "content-type") and name in headers:
            raise RefusedError(400, "The request is ambiguous.")
        joined = f"{headers[name]}; " if name == "cookie" and name in headers else ""
        headers[name] = joined + value.decode("latin-1")
    return headers


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The request was cut off.")
        body += message.get("body", b"")
        if len(body) > _MOST_OF_FORM:
            raise RefusedError(413, "The form is larger than any form of the workbench.")
        if not message.get("more_body"):
            return bytes(body)


def _is_same(value: str, secret: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())
