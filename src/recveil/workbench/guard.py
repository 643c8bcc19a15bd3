"""Guard: who may speak to the workbench at all, and what every answer says to the browser.

It stands before all pages. The workbench is bound to this machine, but every page of the web that
is open in a browser here can send requests to it, and so can other users of the machine. So it
answers only under its own names (else a foreign name could be led to this machine: DNS rebinding),
only to whoever has the token that was printed, and it changes something only for its own pages.
"""

import hmac
import os
import secrets
import sys
import traceback
from urllib.parse import parse_qsl

from recveil.workbench.asgi import Application, Message, Receive, RefusedError, Scope, Send
from recveil.workbench.form_file import MULTIPART, FormFile
from recveil.workbench.peers import is_of_somebody_else

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
    """Asks who is there, before the application hears of it.

    Parameters
    ----------
    application : callable
        An ASGI application.
    public : callable
        Another one, which knows no project: it gives what lies under /static/ to everybody.
    keys : Keys
    port : int
        Where we listen.
    """

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
        if is_of_somebody_else(scope.get("client"), self._port):
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
