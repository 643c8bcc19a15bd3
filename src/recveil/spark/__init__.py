"""The same releases from tables that no one machine holds: by Spark, where the data is."""

from recveil.spark._anonymize import Released, anonymize
from recveil.spark._audit import audit
from recveil.spark.verification import verify

__all__ = ["Released", "anonymize", "audit", "verify"]
