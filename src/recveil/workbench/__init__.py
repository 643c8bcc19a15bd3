"""A local web interface that takes a publisher from a table to a release."""

from recveil.workbench.serving import workbench

__all__ = ["workbench"]
