"""Stronger: what attacks that are not run here may do, so that low rates reassure nobody."""

MEMBERSHIP = (
    "This area is a lower bound: it is that of the best of the scores that are tried here. Whoever "
    "makes such releases of people whom they know, and learns from them what membership looks "
    "like, may tell more."
)
