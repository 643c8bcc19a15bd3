"""A release becomes files: written beside their place, verified, renamed."""

from recveil.publish.folder import write_release
from recveil.publish.release import Release

__all__ = ["Release", "write_release"]
