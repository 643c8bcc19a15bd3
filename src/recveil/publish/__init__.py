"""Writing, verification and reading of release folders."""

from recveil.publish._convert import convert
from recveil.publish._describe import describe
from recveil.publish.folder import write_release
from recveil.publish.release import Release, WrittenRelease

__all__ = ["Release", "WrittenRelease", "convert", "describe", "write_release"]
