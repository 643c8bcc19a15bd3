"""Public description of releases of nominal labels."""

from recveil.release.claim import card_text
from recveil.release.method import Method, Option, PublicSetting, Variant, problems_of_full_rows
from recveil.release.specs.predictive import GROUPING_NAMES, GROUPINGS

UNDONE = (
    "Shared rows of nominal labels do not hide membership, nor the labels of a group: they "
    "carry no noise. On half of the users of MovieLens 100K, four fifths of their ratings "
    "cut to three labels, an adversary with 32 shadow releases infers membership with an AUC "
    "of 0.97 with commonest labels and k = 5, 0.74 with k = 20, and with sampled labels 0.86 "
    "and 0.70, where exact counts of each item with each label give 1.00 (0.5 is a random "
    "guess). Better attacks may infer more; recveil audit --release --shadows 32 measures it "
    "for yours."
)


def _variant(name: str, description: str, **options: object) -> Variant:
    return Variant(
        name=name,
        description=description,
        options=options,
        claim="identical-rows",
        kind="nominal labels",
        colour="#117733",
        in_all=True,
        of="nominal",
    )


NOMINAL = Method(
    name="nominal",
    title="nominal labels",
    description="groups share one row of labels without an order",
    family="identical rows",
    settings=(
        PublicSetting("method", ("nominal labels",)),
        PublicSetting("homogenize", ("commonest", "shares")),
        PublicSetting("grouping", GROUPINGS[:-2]),  # without those for privacy levels
    ),
    claim_of=lambda _: "identical-rows",
    card=card_text("nominal"),
    options=(
        Option(
            name="homogenize",
            help="commonest (default), the most frequent label in the group; shares, a label "
            "sampled by its share.",
            choices=("commonest", "shares"),
            metavar="HOW",
        ),
        Option(
            name="grouping",
            choices=GROUPING_NAMES,
            help="k-gather (default), or one of the others.",
        ),
    ),
    variants=(
        _variant(
            "nominal",
            "Groups of at least k users get, for each item, the label with the largest share in "
            "their rows; empty cells count by the probability of each label.",
        ),
        _variant(
            "nominal-shares",
            "Groups of at least k users get, for each item, a label sampled by its share in their "
            "rows; empty cells count by the probability of each label.",
            homogenize="shares",
        ),
    ),
    first_format=7,
    takes_unordered=True,
    problems_of_rows=lambda _settings, _k, counts: problems_of_full_rows(
        "of nominal labels", counts
    ),
    undone_by=lambda _: (UNDONE,),
)
