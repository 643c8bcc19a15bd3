"""A release becomes files: written beside their place, verified, renamed; and read again."""

from recveil.publish.converting import convert
from recveil.publish.describing import describe
from recveil.publish.folder import write_release
from recveil.publish.release import Release
from recveil.publish.written_release import WrittenRelease

__all__ = ["Release", "WrittenRelease", "convert", "describe", "write_release"]
