"""How easily are the people in a table found again?"""

from recveil.audit.auditing import Audit, audit
from recveil.audit.controls import Check, check_attack, selftest
from recveil.audit.figures import Figure, Point, draw_figures
from recveil.audit.outcome import Outcome, run_attack
from recveil.audit.outside import Suspects, look_for
from recveil.audit.risk import Risk, measure_risk
from recveil.audit.risk_table import read_risk, write_risk
from recveil.audit.sufficient import Sufficient

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
