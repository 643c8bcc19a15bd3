"""Dropping: a file that somebody drops or chooses on a page, taken into the project."""

from collections.abc import Callable
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from recveil.errors import RecveilError
from recveil.workbench.bench import bench_of, go_to
from recveil.workbench.guard import FILE_NAME
from recveil.workbench.uploads import LONGEST_NAME, Uploaded, receive


async def take_dropped(
    request: Request, folder: str, begin: Callable[[Uploaded], object], go_on: str
) -> Response:
    """Take a file, begin something with it, and say where that is shown.

    The script of our pages sends a file alone and hears JSON; a form, where no script has run, is
    led on to the page, or to one that says what is wrong.

    Parameters
    ----------
    request : Request
    folder : str
        Of the project: one of `recveil.workbench.uploads.UPLOADS`.
    begin : callable
        Gets what came.
    go_on : str
        The page where it goes on.
    """
    bench = bench_of(request)
    is_form = FILE_NAME in request.scope
    name = request.scope[FILE_NAME] if is_form else unquote(request.headers.get("x-file-name", ""))
    try:
        if is_form and not name:
            raise RecveilError(
                "no file was chosen; choose one, and send it again", code="option.required"
            )
        came = await receive(
            request.stream(),
            name[:LONGEST_NAME] or "table",
            bench.project.folder_for(folder),
            most=bench.most_bytes,
        )
        await run_in_threadpool(begin, came)
    except RecveilError as error:
        if is_form:
            raise
        return JSONResponse({"error": str(error), "code": error.code}, 400)
    return go_to(go_on) if is_form else JSONResponse({"next": go_on})
