"""Re-identification and inference audits of tables and releases."""

from recveil.auditing._audit import Audit, audit
from recveil.auditing._selftest import Check, check_attack, selftest
from recveil.auditing.auxiliary_file import Suspects, look_for
from recveil.auditing.curves import Figure, Point, Sufficient, draw_figures
from recveil.auditing.risk import Risk, measure_risk, read_risk, write_risk
from recveil.auditing.table_attacks import Outcome, run_attack

__all__ = [
    "Audit",
    "Check",
    "Figure",
    "Outcome",
    "Point",
    "Risk",
    "Sufficient",
    "Suspects",
    "audit",
    "check_attack",
    "draw_figures",
    "look_for",
    "measure_risk",
    "read_risk",
    "run_attack",
    "selftest",
    "write_risk",
]
