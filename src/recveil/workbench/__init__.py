"""The workbench: from a file to a release that its owner understands, in a browser."""

from recveil.workbench.serving import workbench

__all__ = ["workbench"]
