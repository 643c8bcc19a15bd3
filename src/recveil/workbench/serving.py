"""Serving: the workbench, on this machine alone, until somebody ends it."""

import os
import socket
import sys
import threading
import webbrowser
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from recveil.runtime.errors import RecveilError
from recveil.runtime.locks import FOR_OWNER
from recveil.workbench.project import UPLOADS, Project, forget_halves, remove_remnants

if TYPE_CHECKING:
    from recveil.workbench.bench import Bench

_HERE = "127.0.0.1"
# Seconds that a page which still listens may keep us.
_FAREWELL = 1
_OPENER = "open.html"


def workbench(
    folder: str | PathLike[str] = "recveil-workbench", *, port: int = 0, open_browser: bool = True
) -> None:
    """Open a page on this machine, in which a table becomes a release; return when it is ended.

    Parameters
    ----------
    folder : path
        Of the project: everything done is kept in there. Is made if it does not exist.
    port : int
        Where to listen, on this machine alone; 0 for any that is free.
    open_browser : bool
        Whether to show the page, too; its address is printed in any case.

    Raises
    ------
    RecveilError
        If the extra is not installed, the folder holds something else or is open in another
        workbench, or the port is taken.
    """
    reject_missing_extra()
    listener = _listen(port)
    try:
        project = Project(Path(folder))
    except BaseException:
        listener.close()
        raise
    from recveil.workbench.bench import Bench

    bench = Bench(project, has_spare=True)
    try:
        _serve(bench, listener, open_browser=open_browser)
    finally:
        bench.jobs.close()
        (project.folder / _OPENER).unlink(missing_ok=True)
        project.close()
        listener.close()


def reject_missing_extra() -> None:
    """Raise an error that says what to install, where the workbench cannot run."""
    try:
        import starlette
        import uvicorn
    except ImportError as error:
        raise RecveilError(
            f"the workbench needs {error.name}, which is not installed; install it with "
            f"pip install 'recveil[workbench]'",
            code="dependency.missing",
        ) from None
    del starlette, uvicorn


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, os.name == "posix")
        listener.bind((_HERE, port))
        listener.listen()  # a browser that is quicker than we are waits
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise RecveilError(
            f"port {port}: cannot listen there ({why}); give another one with port (--port), or 0 "
            f"for any that is free",
            code="workbench.port",
        ) from None
    return listener


def _serve(bench: "Bench", listener: socket.socket, *, open_browser: bool) -> None:
    import uvicorn

    from recveil.workbench.application import make_application
    from recveil.workbench.connections import BACKLOG, PatientProtocol, QuietServer

    for folder in UPLOADS:
        forget_halves(bench.project.folder_for(folder))
    remove_remnants(bench.project)
    port = listener.getsockname()[1]
    address = f"http://{_HERE}:{port}/?token={bench.keys.token}"
    config = uvicorn.Config(
        make_application(bench, port),
        http=PatientProtocol,
        backlog=BACKLOG,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_FAREWELL,
    )
    server = QuietServer(config)
    bench.project.note("opened the workbench")
    # What an audit needs is compiled while somebody looks for their file.
    bench.jobs.start("start", "warm up", {})
    print(f"The workbench is open at {address}", flush=True)
    print(f"Nothing leaves this machine; all is kept in {bench.project.folder}. Ctrl-C ends it.")
    sys.stdout.flush()
    if open_browser:
        _open(bench.project.folder / _OPENER, address)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt as stop:
        stop.args = (f"the project is kept in {bench.project.folder}",)
        raise


def _open(file: Path, address: str) -> None:
    """Show the page, by a file that leads to it: a command line is for all users to see."""
    text = (
        f'<!DOCTYPE html><meta charset="utf-8"><title>recveil workbench</title>'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
    )
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_OWNER), "w") as opened:
        opened.write(text)
    # Some browsers keep whoever starts them until they end.
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
