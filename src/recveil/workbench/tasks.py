"""Tasks: what a worker can be asked to do, each by the library function of a verb."""

from collections.abc import Callable
from typing import Any

from recveil.errors import RecveilError, quoted
from recveil.workbench.assignment import Assignment
from recveil.workbench.checking_tasks import check_published
from recveil.workbench.choosing_tasks import compare_input
from recveil.workbench.looking_tasks import audit_input, draw_audit, inspect_input, warm_up
from recveil.workbench.releasing_tasks import attack_release, describe_release, make_release

# Returns plain data: what it found.
Task = Callable[[Assignment], dict[str, Any]]

_TASKS: dict[str, Task] = {
    "attack": attack_release,
    "audit": audit_input,
    "check": check_published,
    "compare": compare_input,
    "describe": describe_release,
    "draw audit": draw_audit,
    "inspect": inspect_input,
    "release": make_release,
    "warm up": warm_up,
}


def find_task(name: str) -> Task:
    """Return a task by its name.

    Examples
    --------
    >>> find_task("inspect").__name__
    'inspect_input'
    """
    if name not in _TASKS:
        raise RecveilError(
            f"{quoted(name)}: no such task; expected one of {', '.join(_TASKS)}",
            code="argument.value",
        )
    return _TASKS[name]
