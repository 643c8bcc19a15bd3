"""python -m recveil: the command line."""

from recveil.cli import main

if __name__ == "__main__":
    main()
