"""Looking: what a worker does for the rooms Data and Risk."""

import json
from pathlib import Path
from typing import Any

from recveil.errors import printable, shortened
from recveil.workbench.assignment import Assignment
from recveil.workbench.said import keywords_of

AUDIT_PAGE = "audit.html"
# Rows that the page shows, and of a value so many characters.
_ROWS, _CHARACTERS = 10, 80


def inspect_input(asked: Assignment) -> dict[str, Any]:
    """Look at a table: `recveil.inspect.inspect`, and its first rows for its owner's eyes.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `source`, and the `reading`: what was said of it.
    """
    from recveil.inspect import inspect

    found = inspect(asked.settings["source"], **keywords_of(asked.settings["reading"]))
    seen = found.rows
    return {
        **found.to_dict(),
        "rows": {
            "names": [str(name) for name in seen.names],
            "has_header": not any(isinstance(name, int) for name in seen.names),
            "roles": list(seen.roles),
            "rows": [
                [shortened(printable(cell), _CHARACTERS) for cell in row]
                for row in seen.rows[:_ROWS]
            ],
        },
    }


def audit_input(asked: Assignment) -> dict[str, Any]:
    """Audit a table: `recveil.audit.audit`, and everybody's risk.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `source`, the `reading`, and whether to compute the `curves`, with
        which its folder gets risk.csv.
    """
    from recveil.audit import audit, write_risk

    found = audit(
        asked.settings["source"],
        curves=asked.settings["curves"],
        **keywords_of(asked.settings["reading"]),
    )
    if found.risk is not None:
        write_risk(found.ratings.users, found.risk, asked.folder / "risk.csv")
    return found.to_dict()


def draw_audit(asked: Assignment) -> dict[str, Any]:
    """Draw the page of an audit that is done: `recveil.report.write_audit_page`.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `folder` of the audit's job, which gets audit.html, and the `result`
        that lies there.
    """
    from recveil.report import write_audit_page

    place = Path(asked.settings["folder"])
    found = json.loads((place / asked.settings["result"]).read_text(encoding="utf-8"))
    write_audit_page(found, place / AUDIT_PAGE)
    return {}


def warm_up(_: Assignment) -> dict[str, Any]:
    """Audit a few invented people, so that what audits need is compiled before one begins.

    Parameters
    ----------
    _ : Assignment
        Without settings.
    """
    from recveil.audit import audit
    from recveil.datasets import make_ratings

    audit(make_ratings(n_users=120, n_items=60, n_ratings=2_000, seed=1), targets=30)
    return {}
