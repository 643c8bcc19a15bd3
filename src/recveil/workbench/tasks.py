"""Tasks: what a worker can be asked to do, each by the library function of a verb."""

from collections.abc import Callable
from typing import Any

from recveil.errors import RecveilError, quoted
from recveil.workbench.assignment import Assignment
from recveil.workbench.looking_tasks import audit_input, draw_audit, inspect_input, warm_up

# Returns plain data: what it found.
Task = Callable[[Assignment], dict[str, Any]]

_TASKS: dict[str, Task] = {
    "audit": audit_input,
    "draw audit": draw_audit,
    "inspect": inspect_input,
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
        raise RecveilError(f"{quoted(name)}: no such task; expected one of {', '.join(_TASKS)}")
    return _TASKS[name]
