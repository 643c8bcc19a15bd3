"""A client that connects and sends nothing keeps no other out, and is not shown on the terminal."""

import asyncio
import socket
import threading
from contextlib import closing, contextmanager

import pytest

pytest.importorskip("uvicorn", reason="the extra [workbench] is not installed")

import uvicorn

from recveil.workbench import connections


async def answers(scope, receive, send):
    """Say so; the page /slowly takes longer than any client may wait."""
    if scope["path"] == "/slowly":
        await asyncio.sleep(1)
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def listening():
    """A server in this process; the port that it listens at."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        answers,
        http=connections.PatientProtocol,
        backlog=connections.BACKLOG,
        lifespan="off",
        ws="none",
        log_level="critical",
    )
    server = connections.QuietServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


def opened(port, said=b""):
    asks = socket.create_connection(("127.0.0.1", port), timeout=30)
    asks.sendall(said)
    return asks


def is_closed(asks):
    """Wait until the other end closes."""
    try:
        return asks.recv(1) == b""
    except ConnectionError:
        return True


def asked(port, place="/"):
    with closing(opened(port, f"GET {place} HTTP/1.1\r\nhost: x\r\n\r\n".encode())) as asks:
        return asks.recv(4_096)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nhos", b"POST / HTTP/1.1\r\n"])
def test_what_is_not_asked_in_time_is_let_go(monkeypatch, said):
    monkeypatch.setattr(connections, "SECONDS", 0.2)
    with listening() as port, closing(opened(port, said)) as asks:
        assert is_closed(asks)
        assert b"200 OK" in asked(port)


def test_so_is_a_second_question_that_is_asked_in_half(monkeypatch):
    monkeypatch.setattr(connections, "SECONDS", 0.2)
    with (
        listening() as port,
        closing(opened(port, b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET")) as asks,
    ):
        while piece := asks.recv(4_096):
            assert b"200 OK" in piece or piece.endswith(b"ok")


def test_an_answer_may_take_its_time(monkeypatch):
    monkeypatch.setattr(connections, "SECONDS", 0.2)
    with listening() as port:
        assert b"200 OK" in asked(port, "/slowly")
        both = b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET /slowly HTTP/1.1\r\nhost: x\r\n\r\n"
        with closing(opened(port, both)) as asks:
            heard = b""
            while heard.count(b"200 OK") < 2:
                piece = asks.recv(4_096)
                assert piece, heard
                heard += piece


def test_many_silent_clients_keep_no_other_out(monkeypatch):
    """The one that has waited longest goes; who asks at once is answered."""
    monkeypatch.setattr(connections, "MOST", 5)
    with listening() as port:
        held = [opened(port, b"GET / HTTP/1.1\r\nhos") for _ in range(20)]
        try:
            assert b"200 OK" in asked(port)
            assert all(is_closed(asks) for asks in held[:14])
        finally:
            for asks in held:
                asks.close()


def test_no_traceback_is_shown_unless_asked_for(monkeypatch, capfd):
    """As where the system lets us open nothing more."""
    error = OSError(24, "Too many open files")
    met = {"message": "socket.accept() out of system resource", "exception": error}
    monkeypatch.delenv("RECVEIL_TRACEBACK", raising=False)
    connections._print_error(None, met)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("RECVEIL_TRACEBACK", "1")
    connections._print_error(None, met)
    assert "Too many open files" in capfd.readouterr().err


def test_what_goes_wrong_in_the_server_is_no_trace(monkeypatch, capfd):
    def fail(self, data):
        raise ZeroDivisionError

    monkeypatch.setattr(connections.PatientProtocol, "data_received", fail)
    with listening() as port, closing(opened(port, b"GET")) as asks:
        assert is_closed(asks)
    assert capfd.readouterr().err == ""
