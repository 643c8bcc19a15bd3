"""Sparse rows, as far as everybody may know them."""

from recveil.release.claim import card_text
from recveil.release.method import Method, Option, PublicSetting, Variant

# Tastes are never taken from fewer people than this; the larger number bounds what can be asked.
LEAST_CROWD, MOST_CROWD = 20, 256

SPARSE = Method(
    name="sparse",
    title="sparse rows",
    description="at least k people share one row, drawn from the tastes of at least 20",
    family="identical rows",
    settings=(
        PublicSetting("method", ("sparse rows",)),
        PublicSetting("crowd", tuple(range(LEAST_CROWD, MOST_CROWD + 1))),
        PublicSetting("label_step", any_step=True),
    ),
    claim_of=lambda _: "identical-rows",
    card=card_text("sparse.md.jinja"),
    options=(
        Option(
            name="crowd",
            kind=int,
            metavar=None,
            panel="Sparse rows",
            help="At least so many people of similar tastes are gathered, and rows are drawn from "
            "what they choose: 20 (default) to 256, and never fewer than k.",
        ),
    ),
    variants=(
        Variant(
            name="sparse",
            description="Groups of at least k people share one row of items and predicted labels, "
            "drawn from what at least 20 people of similar tastes chose.",
            claim="identical-rows",
            kind="sparse",
            colour="#332288",
            in_all=True,
        ),
    ),
    label_grid=lambda settings, _: settings.get("label_step"),
    no_links="",
)
