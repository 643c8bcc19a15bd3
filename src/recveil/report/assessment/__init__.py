"""Signed reports on releases, for data protection impact assessments."""

from recveil.report.assessment._report import Assessment, Signature, render_assessment, report

__all__ = ["Assessment", "Signature", "render_assessment", "report"]
