"""The server of the workbench, on this machine alone, until the user ends it."""

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
from recveil.workbench.project import UPLOADS, Project, remove_orphans, remove_unfinished

if TYPE_CHECKING:
    from recveil.workbench.workspace import Workspace

_HOST = "127.0.0.1"
# Seconds that the server waits for open connections when it ends.
_SHUTDOWN_SECONDS = 1
_OPENER = "open.html"


def workbench(
    folder: str | PathLike[str] = "recveil-workbench", *, port: int = 0, open_browser: bool = True
) -> None:
    """Open a page on this machine that takes a table to a release; return when it is ended.

    Parameters
    ----------
    folder : path
        The project: it keeps all that is done. It is created if it does not exist.
    port : int
        Port to listen at, on this machine alone; 0 for any free one.
    open_browser : bool
        Whether to open the page in a browser; its address is printed in any case.

    Raises
    ------
    RecveilError
        If the extra is not installed, the folder holds other things or is open in another
        workbench, or the port is in use.
    """
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
    listener = _listen(port)
    try:
        project = Project(Path(folder))
    except BaseException:
        listener.close()
        raise
    from recveil.workbench.workspace import Workspace

    workspace = Workspace(project, has_spare=True)
    try:
        _serve(workspace, listener, open_browser=open_browser)
    finally:
        workspace.jobs.close()
        (project.folder / _OPENER).unlink(missing_ok=True)
        project.close()
        listener.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, os.name == "posix")
        listener.bind((_HOST, port))
        listener.listen()  # an early request waits
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise RecveilError(
            f"port {port}: cannot listen there ({why}); give another one with port (--port), or 0 "
            f"for any that is free",
            code="workbench.port",
        ) from None
    return listener


def _serve(workspace: "Workspace", listener: socket.socket, *, open_browser: bool) -> None:
    import uvicorn

    from recveil.workbench.application import make_application
    from recveil.workbench.connections import BACKLOG, PatientProtocol, QuietServer

    for folder in UPLOADS:
        remove_unfinished(workspace.project.folder_for(folder))
    remove_orphans(workspace.project)
    port = listener.getsockname()[1]
    address = f"http://{_HOST}:{port}/?token={workspace.keys.token}"
    config = uvicorn.Config(
        make_application(workspace, port),
        http=PatientProtocol,
        backlog=BACKLOG,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = QuietServer(config)
    workspace.project.note("opened the workbench")
    # Compile what an audit needs while the user looks for a file.
    workspace.jobs.start("start", "warm up", {})
    print(f"The workbench is open at {address}", flush=True)
    print(f"Nothing leaves this machine. Project: {workspace.project.folder}. Ctrl-C ends it.")
    sys.stdout.flush()
    if open_browser:
        _open(workspace.project.folder / _OPENER, address)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt as stop:
        stop.args = (f"the project is kept in {workspace.project.folder}",)
        raise


def _open(file: Path, address: str) -> None:
    """Open the page through a file that leads to it, as all users can read command lines."""
    text = (
        f'<!DOCTYPE html><meta charset="utf-8"><title>recveil workbench</title>'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
    )
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_OWNER), "w") as stream:
        stream.write(text)
    # Some browsers block their caller until they end.
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
