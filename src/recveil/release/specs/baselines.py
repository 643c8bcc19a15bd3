"""Public descriptions of the baselines, which make no promise."""

from recveil.release.method import Method, PublicSetting, Variant
from recveil.runtime.number_format import percent

# Defaults of the practices and of randomized response, which their descriptions state.
USER_SHARE, CHANGED_SHARE, MIN_RATINGS, TRUTH_PROBABILITY = 0.1, 0.02, 5, 0.7
MAX_SHIFT = 365

_GREY = "#666666"
# The attacks read values as ratings and do not try to undo a rotation, so a low rate is no evidence
# of safety.
_NOT_UNDONE = ("rotation", "geometric", "geometric-noise-first")
# Variants that `--methods all` leaves out, because they differ little from others.
_LEFT_OUT_OF_ALL = ("randomized-response", "geometric-noise-first")
# What publishers do today, which `--methods today` compares with the default settings.
DATED = "date-shift"  # the only one that publishes dates
TODAY = ("raw", "user-sample", "netflix-perturbation", "k-core", DATED)


def _variant(name: str, description: str, **options: object) -> Variant:
    return Variant(
        name=name,
        description=description,
        options=options,
        claim="nothing",
        kind="nothing",
        colour=_GREY,
        in_all=name not in (*_LEFT_OUT_OF_ALL, *TODAY[1:]),
        is_attacked=name not in _NOT_UNDONE,
        is_control=name == "raw",
        of="any" if name in TODAY else "ratings",
    )


def _baseline(name: str, title: str, settings: tuple[str, ...], *variants: Variant) -> Method:
    return Method(
        name=name,
        title=title,
        description=variants[0].description,
        family="baseline",
        settings=(
            PublicSetting("method", (title,)),
            *(PublicSetting(setting) for setting in settings),
        ),
        claim_of=lambda _: "nothing",
        card="",
        takes_k=False,
        variants=variants,
    )


BASELINES = (
    _baseline(
        "names-removed",
        "names removed",
        (),
        _variant("raw", "The ratings as they are, only the names (and dates) removed."),
    ),
    _baseline(
        "user-sample",
        "user sample",
        ("share",),
        _variant(
            "user-sample",
            f"The ratings of a sample of the users ({percent(USER_SHARE)} by default), as they "
            f"are.",
        ),
    ),
    _baseline(
        "netflix-perturbation",
        "netflix perturbation",
        ("share",),
        _variant(
            "netflix-perturbation",
            f"Of the ratings, a share ({percent(CHANGED_SHARE)} by default) is removed, one as "
            f"large is changed and as many are added: our reading of what Netflix did (Narayanan & "
            f"Shmatikov, section 5).",
        ),
    ),
    _baseline(
        "k-core",
        "k-core",
        ("min_ratings",),
        _variant(
            "k-core",
            f"Only users and items with enough ratings ({MIN_RATINGS} by default), as they are; "
            f"this k is no k-anonymity.",
        ),
    ),
    _baseline(
        "date-shift",
        "date shift",
        ("max_shift",),
        _variant(
            "date-shift",
            f"The ratings as they are, with all dates of a user shifted by one random number of "
            f"days ({MAX_SHIFT} at most by default).",
        ),
    ),
    _baseline(
        "global-item-means",
        "global item means",
        ("value_step",),
        _variant("item-means", "All users get one row: the mean rating of each item."),
    ),
    _baseline(
        "random",
        "random values",
        (),
        _variant("random-values", "The rated items are real, the ratings are random."),
    ),
    _baseline(
        "randomized-response",
        "randomized response",
        ("truth_probability",),
        _variant(
            "randomized-response",
            f"Each rating stays with a probability ({TRUTH_PROBABILITY} by default), or becomes "
            f"another level (Warner 1965; Chen 2012, section 2.2); the rated items stay real.",
        ),
    ),
    _baseline(
        "additive-noise",
        "additive noise",
        ("kind", "scale"),
        _variant(
            "gaussian-noise",
            "Each rating plus Gaussian noise of a quarter of the scale's range; the "
            "rated items stay real.",
            kind="gaussian",
        ),
        _variant(
            "uniform-noise",
            "Each rating plus uniform noise of a quarter of the scale's range (standard "
            "deviation); the rated items stay real.",
            kind="uniform",
        ),
    ),
    _baseline(
        "rotation-perturbation",
        "rotation perturbation",
        ("space", "predictor"),
        _variant(
            "rotation",
            "Padded rows turned by a secret rotation that the attacks do not try to undo, so "
            "their low rates show no protection; an adversary who knows some rows can undo it.",
        ),
    ),
    _baseline(
        "geometric-perturbation",
        "geometric perturbation",
        ("space", "predictor", "scale"),
        _variant(
            "geometric",
            "Rotation with a shift and a little noise; the attacks do not try to undo it, so "
            "that their low rates show no protection.",
        ),
        _variant(
            "geometric-noise-first",
            "R(A + N), where geometric is RA + N: the noise is added before the rotation (Chen "
            "2012, section 2.2.3); the attacks do not try to undo it.",
            noise_first=True,
        ),
    ),
)
