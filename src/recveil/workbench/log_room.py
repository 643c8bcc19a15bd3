"""The room Log: everything that was done in the project, by whom, when, and how to do it again."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.workbench.bench import bench_of


def _page(request: Request) -> Response:
    bench = bench_of(request)
    return bench.page(
        request,
        "log.html.jinja",
        log=bench.project.log(),
        jobs=bench.project.jobs(),
        inputs={each.id: each.name for each in bench.project.inputs()},
    )


ROUTES = [Route("/log", _page)]
