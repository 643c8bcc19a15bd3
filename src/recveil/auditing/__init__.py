"""Re-identification and inference audits of tables and releases."""

from recveil.auditing._audit import Audit, audit
from recveil.auditing._selftest import Check, check_attack, selftest
from recveil.auditing.attribute_inference import (
    AttributeInference,
    AttributeInRelease,
    AttributePrediction,
)
from recveil.auditing.auxiliary_file import (
    Alteration,
    AlteredItem,
    Explanation,
    KnownItem,
    Suspects,
    look_for,
)
from recveil.auditing.curves import Figure, Point, Sufficient, draw_figures
from recveil.auditing.decision import Calibration, Tuning, calibrate, tune_widths
from recveil.auditing.item_matches import ItemMatch, ItemMatches, match_titles
from recveil.auditing.risk import Risk, measure_risk, read_risk, write_risk
from recveil.auditing.sensitive import Revealed, SensitiveDisclosure
from recveil.auditing.table_attacks import Outcome, run_attack
from recveil.auditing.three_risks import RiskFigure, RiskLine, Risks

__all__ = [
    "Alteration",
    "AlteredItem",
    "AttributeInRelease",
    "AttributeInference",
    "AttributePrediction",
    "Audit",
    "Calibration",
    "Check",
    "Explanation",
    "Figure",
    "ItemMatch",
    "ItemMatches",
    "KnownItem",
    "Outcome",
    "Point",
    "Revealed",
    "Risk",
    "RiskFigure",
    "RiskLine",
    "Risks",
    "SensitiveDisclosure",
    "Sufficient",
    "Suspects",
    "Tuning",
    "audit",
    "calibrate",
    "check_attack",
    "draw_figures",
    "look_for",
    "match_titles",
    "measure_risk",
    "read_risk",
    "run_attack",
    "selftest",
    "tune_widths",
    "write_risk",
]
