"""Floor 3: how easily are the people in a table found again?"""

from recveil.audit.audit import Audit, audit
from recveil.audit.figures import Figure, draw_figures
from recveil.audit.outcome import Outcome, run_attack
from recveil.audit.outside import Suspects, look_for
from recveil.audit.risk import Risk, measure_risk
from recveil.audit.selftest import Check, check_attack, selftest

__all__ = [
    "Audit",
    "Check",
    "Figure",
    "Outcome",
    "Risk",
    "Suspects",
    "audit",
    "check_attack",
    "draw_figures",
    "look_for",
    "measure_risk",
    "run_attack",
    "selftest",
]
