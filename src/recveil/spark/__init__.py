"""Releases, audits and verification by Spark, for tables that fit on no machine."""

from recveil.spark._anonymize import Released, anonymize
from recveil.spark._audit import audit
from recveil.spark.verification import verify

__all__ = ["Released", "anonymize", "audit", "verify"]
