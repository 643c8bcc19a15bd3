"""Stronger: what attacks that are not run here may do, so that low rates reassure nobody."""

# Scores of membership look at one release; who makes others for comparison usually tells more.
SHADOWS = "“recveil audit FILE --release OUT --shadows 32”"
SHADOWS_OF_ALL = "“recveil compare FILE --shadows 32”"
MEMBERSHIP = (
    "This area is a lower bound: it is that of the best of the scores that are tried here, all of "
    "which look at one release only. Whoever makes such releases of people whom they know, and "
    "learns from them what membership looks like, usually tells more: "
    f"{SHADOWS} measures that, and {SHADOWS_OF_ALL} for each setting."
)
