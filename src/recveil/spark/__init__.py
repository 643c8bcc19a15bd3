"""Releases, audits and verification by Spark, for tables that fit on no machine."""

from recveil.methods import Released
from recveil.spark._anonymize import anonymize
from recveil.spark._audit import audit
from recveil.spark.verification import verify

__all__ = ["Released", "anonymize", "audit", "verify"]
