"""Self-contained HTML reports."""

from recveil.report.audit_page import audit_page, write_audit_page
from recveil.report.comparison_page import compare_page, write_compare_page

__all__ = ["audit_page", "compare_page", "write_audit_page", "write_compare_page"]
