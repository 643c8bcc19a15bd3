"""The same releases from tables that no one machine holds: by Spark, where the data is."""

from recveil.spark.rechecking import verify
from recveil.spark.releasing import Released, anonymize
from recveil.spark.table_audit import audit

__all__ = ["Released", "anonymize", "audit", "verify"]
