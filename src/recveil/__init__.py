"""recveil: publish rating data without giving its people away."""

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up when somebody asks: the command line starts faster without."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("recveil")
