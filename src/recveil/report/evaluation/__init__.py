"""Documents, sentences and tables of evaluations."""

from recveil.report.evaluation.text import facts, headline, tables

__all__ = ["facts", "headline", "tables"]
