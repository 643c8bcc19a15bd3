"""Run a command line that says when it is about to do an operation on files, and waits there.

For a process that cannot kill itself: ``python -m torture.stopping AT TELLS WAITS FOLDER -- ...``.
"""

import os
import sys
from pathlib import Path

from recveil.cli.launcher import main
from torture.operations import Operations

if __name__ == "__main__":
    at, states, waits = map(int, sys.argv[1:4])
    folder, arguments = Path(sys.argv[4]), sys.argv[6:]

    def wait() -> None:
        """Say that we are there, and never go on."""
        os.write(states, b"!")
        os.read(waits, 1)
        os._exit(70)

    Operations(folder, {at: wait}).install()
    main(arguments)
