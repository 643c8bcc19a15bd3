"""Registry of how releases of each method are made.

What is public about a method is in `release/specs/<name>` and `release/registry`, because
verification and attacks need it too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from recveil.io import read_levels, read_trust
from recveil.io.options import ReadingOptions
from recveil.methods.base import compare_counts, count_published
from recveil.methods.baselines.perturbation import (
    AdditiveNoise,
    GlobalItemMeans,
    Pseudonymizer,
    RandomizedResponse,
    RandomValues,
)
from recveil.methods.baselines.practices import DateShift, KCore, NetflixPerturbation, UserSample
from recveil.methods.baselines.rotation import GeometricPerturbation, RotationPerturbation
from recveil.methods.components import GROUPINGS, PREDICTORS, component_name
from recveil.methods.k_corating.anonymizer import KCoRater
from recveil.methods.k_corating.fills import FILLS
from recveil.methods.nominal import NominalAnonymizer, expect_nominal
from recveil.methods.predictive.anonymizer import PredictiveAnonymizer, value_step
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.release_summary import (
    CoRatedSummary,
    PredictiveSummary,
    ReleaseSummary,
    SparseSummary,
    Summary,
    SyntheticSummary,
)
from recveil.methods.size_estimates import (
    Foreseen,
    foresee_k_corating,
    foresee_nominal,
    foresee_predictive,
    foresee_sparse,
    foresee_synthetic,
)
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.methods.synthetic.options import (
    AS_RATED,
    check_synthetic_options,
    needs_secret_noise,
    parse_epsilon,
    parse_item_catalog,
    parse_item_features,
)
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.methods.synthetic.user_model import sample_users
from recveil.publish.size_estimate import Expected, expect_padded, expect_sparse
from recveil.ratings import Ratings
from recveil.ratings.ratings import levels_by_rule
from recveil.release.coverage import PublishedCounts
from recveil.release.dates import DATE_RANGE, period_of
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.manifest import Manifest
from recveil.release.method import Method, Variant, has_answers, publishes_likes
from recveil.release.records import Records
from recveil.release.registry import (
    all_methods,
    all_variants,
    command_options,
    forget_method,
    method_of,
    register_method,
)
from recveil.release.sides import Anonymizer, Sides
from recveil.release.specs.baselines import BASELINES as _BASELINES
from recveil.release.specs.k_corating import K_CORATING
from recveil.release.specs.nominal import NOMINAL
from recveil.release.specs.predictive import PREDICTIVE
from recveil.release.specs.sparse import SPARSE
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.runtime.errors import RecveilError, unknown


def predictive_again(manifest: Manifest, seed: int) -> PredictiveAnonymizer | None:
    """Return an anonymizer for predictive anonymization; None if a component is custom."""
    settings, claim = manifest.settings, manifest.claim
    # By the published names of components with their default parameters.
    predictors = {component_name(make(0)): name for name, make in PREDICTORS.items()}
    groupings = {kind.__name__: name for name, kind in GROUPINGS.items()}
    predictor, grouping = settings["predictor"], settings["grouping"]
    if predictor not in predictors or grouping not in groupings:
        return None
    if predictor in ("UserKNN", "TrustKNN") and manifest.number < RENAMED_SINCE:
        return None  # earlier formats do not state whether it had parameters of its own
    step = settings["value_step"]
    return PredictiveAnonymizer(
        claim.k,
        settings["homogenize"],
        predictors[predictor],
        groupings[grouping],
        round_values="none" if step is None else step,
        b=claim.b,
        l=claim.l,
        values=settings.get("values", "rated"),
        diversity=settings.get("diversity"),
        closeness=settings.get("closeness"),
        padding=settings.get("padding"),
        neighbours=settings.get("neighbours"),
        distance=settings.get("distance", "euclidean"),
        centers=settings.get("centers", "virtual"),
        assignment=settings.get("assignment", "rounds"),
        seed=seed,
    )


def k_corating_again(manifest: Manifest, seed: int) -> KCoRater | None:
    """Return an anonymizer for k-coRating; None if the fill or the trust file is not available."""
    settings, claim = manifest.settings, manifest.claim
    grouping, workloads = settings["grouping"], settings.get("workloads", 2)
    if publishes_likes(settings):
        return KCoRater(
            claim.k, grouping=grouping, workloads=workloads, b=claim.b, l=claim.l, seed=seed
        )
    if settings["fill"] not in FILLS or settings.get("trust") == "stated":
        return None
    return KCoRater(
        claim.k,
        settings["fill"],
        grouping,
        workloads=workloads,
        direct_weights=settings.get("direct_weights", "trust"),
        trust_steps=settings.get("trust_steps", 1),
        neighbours=settings.get("neighbours"),
        round_fills=settings["round_fills"],
        protect=settings["protect"],
        b=claim.b,
        l=claim.l,
        diversity=settings.get("diversity"),
        closeness=settings.get("closeness"),
        seed=seed,
    )


def synthetic_again(manifest: Manifest, seed: int) -> Synthesizer | None:
    """Return a synthesizer whose noise the seed repeats; None if it needs more data."""
    # An adversary with shadow releases takes the list of items from their own users. If the release
    # has a requested number of users, so do these.
    claim, scale = manifest.claim, manifest.scale
    reuses_sums = claim.ledger is not None and claim.ledger.earlier
    if "item_features" in manifest.settings or reuses_sums:
        return None
    has_n_users = manifest.settings["n_users"] == "requested"
    grid: Literal["tenths", "whole"] | None = None
    if not scale.unary:
        is_whole = scale.step is not None and manifest.settings["value_step"] == scale.step
        grid = "whole" if is_whole else "tenths"
    return Synthesizer(
        claim.epsilon,
        claim.delta,
        dates=period_of(manifest.settings),
        date_range=manifest.settings.get(DATE_RANGE),
        n_users=manifest.counts.get("users") if has_n_users else None,
        item_catalog=None if manifest.settings["item_catalog"] == "selected" else AS_RATED,
        max_ratings=manifest.settings.get("max_ratings"),
        rating_grid=grid,
        publish_answers=has_answers(manifest.settings),
        seed=seed,
    )


def sparse_again(manifest: Manifest, seed: int) -> SparseRows:
    """Return an anonymizer for sparse rows."""
    settings = manifest.settings
    return SparseRows(
        manifest.claim.k, settings["cluster_size"], seed=seed, dates=period_of(settings)
    )


def nominal_again(manifest: Manifest, seed: int) -> NominalAnonymizer | None:
    """Return an anonymizer for nominal labels; None if the grouping is custom."""
    groupings = {kind.__name__: name for name, kind in GROUPINGS.items()}
    settings = manifest.settings
    if settings["grouping"] not in groupings:
        return None
    name = groupings[settings["grouping"]]
    return NominalAnonymizer(manifest.claim.k, settings["homogenize"], name, seed=seed)


Options = Mapping[str, Any]
# The parameters of `anonymize` itself, and those of reading: no method's option has such a name.
_RESERVED = {
    *("source", "output", "k", "method", "layout", "file_format", "seed", "force", "allow_large"),
    *("allow_sparse_coverage", "previous", "protect_riskiest", "truncate_to", "risk"),
    *("users", "attribute", "sensitive_attribute", "attribute_l"),
    *("dry_run", "on_estimate", "on_total", "json", "options", "times", "user_files"),
    *ReadingOptions.__annotations__,
}


@dataclass(frozen=True)
class Maker:
    """The functions that make releases of a method."""

    method: Method
    # Takes k, if the method does, the seed, and the method's options by name
    make: Callable[..., Anonymizer]
    again: Callable[[Manifest, int], Anonymizer | None] = lambda _, __: None
    read: Mapping[str, Callable[[Any, Ratings, int], Any]] = field(default_factory=dict)
    user_files: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Options], None] = lambda _: None
    expect: Callable[[Ratings, int, Options, str, str], Expected | None] | None = None
    foresee: Callable[[Ratings, int | None, Options, str, str], Foreseen] | None = None
    # Figures for the publisher, or sentences of a registered method
    summarize: Callable[[Sides, Ratings, PublishedCounts], Summary] = lambda *_: None
    is_secret: Callable[[Options], bool] = lambda _: False
    sample: Callable[[Manifest, pa.Table, int, np.random.Generator], Iterator[Records]] | None = (
        None
    )

    def anonymizer(self, k: int | None, seed: int | None, options: Options) -> Anonymizer:
        """Return an anonymizer with some options."""
        arguments = (k,) if self.method.takes_k else ()
        return self.make(*arguments, seed=seed, **options)


def is_rule(given: object) -> bool:
    """Return whether privacy levels are a rule, that is, a text with a colon or of digits."""
    is_text = isinstance(given, str) and "://" not in given
    looks = is_text and (":" in str(given) or str(given).strip().isdigit())
    return looks and not Path(str(given)).is_file()


def _levels(given: Any, ratings: Ratings, k: int) -> Any:
    if is_rule(given):
        return levels_by_rule(ratings, str(given))
    return read_levels(given, ratings.users, k)


def _reject_idle_b(options: Options) -> None:
    """Raise a RecveilError for a b without effect: every set of items is in one row anyway."""
    b = options.get("b", 1)
    if b != 1 and options.get("l", 1) == 1:
        raise RecveilError(
            f"b (--b) is {b}, but has no effect without l (--l), since every set of items is in "
            f"l = 1 row; give l, at least 2, or drop b",
            code="option.required",
        )


def _expect_predictive(
    ratings: Ratings, k: int, options: Options, layout: str, file_format: str
) -> Expected | None:
    is_simple = options.get("homogenize", "padded") != "padded" or options.get("padding") == 0
    if is_simple or not 1 <= k <= ratings.n_users:
        return None
    step = value_step(options.get("round_values", "usual"), ratings.scale)
    levels = options.get("privacy_levels")
    return expect_padded(ratings, k, levels, layout, file_format, step)


def _expect_sparse(
    ratings: Ratings, k: int, options: Options, layout: str, file_format: str
) -> Expected | None:
    if not 1 <= k <= ratings.n_users:
        return None
    step = 1.0 if ratings.is_unary else value_step("usual", ratings.scale)
    has_dates = options.get("dates") is not None
    return expect_sparse(ratings, k, layout, file_format, step, has_dates=has_dates)


_CLASSES: dict[str, Callable[..., Anonymizer]] = {
    kind.method: kind
    for kind in (
        *(Pseudonymizer, GlobalItemMeans, RandomValues, RandomizedResponse, AdditiveNoise),
        *(RotationPerturbation, GeometricPerturbation, UserSample, NetflixPerturbation, KCore),
        DateShift,
    )
}

_MAKERS: dict[str, Maker] = {
    maker.method.title: maker
    for maker in (
        Maker(
            method=PREDICTIVE,
            make=PredictiveAnonymizer,
            again=predictive_again,
            read={"privacy_levels": _levels},
            user_files={"privacy_levels": "levels"},
            check=_reject_idle_b,
            expect=_expect_predictive,
            foresee=foresee_predictive,
            summarize=lambda release, ratings, _: PredictiveSummary.of(
                release, ratings.n_users, int(ratings.support.max())
            ),
        ),
        Maker(
            method=K_CORATING,
            make=KCoRater,
            again=k_corating_again,
            read={"trust": lambda given, ratings, _: read_trust(given, ratings.users)},
            user_files={"trust": "trust"},
            check=_reject_idle_b,
            foresee=foresee_k_corating,
            summarize=lambda release, ratings, _: CoRatedSummary.of(release, ratings.n_ratings),
        ),
        Maker(
            method=SYNTHETIC,
            make=Synthesizer,
            again=synthetic_again,
            read={
                "epsilon": lambda given, _ratings, _k: parse_epsilon(given),
                "item_catalog": lambda given, _ratings, _k: parse_item_catalog(given),
                "item_features": lambda path, _ratings, _k: parse_item_features(path),
            },
            check=check_synthetic_options,
            foresee=foresee_synthetic,
            summarize=lambda release, *_: SyntheticSummary.of(release),
            is_secret=needs_secret_noise,
            sample=sample_users,
        ),
        Maker(
            method=SPARSE,
            make=SparseRows,
            again=sparse_again,
            expect=_expect_sparse,
            foresee=foresee_sparse,
            summarize=lambda release, ratings, counts: SparseSummary.of(
                release, counts.items, ratings.support
            ),
        ),
        Maker(
            NOMINAL,
            NominalAnonymizer,
            nominal_again,
            expect=expect_nominal,
            foresee=foresee_nominal,
        ),
        *(Maker(method=method, make=_CLASSES[method.title]) for method in _BASELINES),
    )
}


def register(maker: Maker) -> None:
    """Register a method for every verb, the card, verification and the pages."""
    for option in maker.method.options:
        if option.name in _RESERVED:
            raise RecveilError(
                f"option {option.name!r} of the method {maker.method.name!r}: `anonymize` has a "
                f"parameter of that name; choose another",
                code="argument.value",
            )
    register_method(maker.method)
    _MAKERS[maker.method.title] = maker


def forget(maker: Maker) -> None:
    """Undo `register`."""
    forget_method(maker.method)
    del _MAKERS[maker.method.title]


def method_names() -> tuple[str, ...]:
    """Return the names of the methods whose releases can be written."""
    return tuple(method.name for method in all_methods() if method.card)


def maker_of(name: str) -> Maker:
    """Return the maker of the named method."""
    if name not in method_names():
        expected = f"expected one of {', '.join(method_names())}"
        if name in all_variants() and all_variants()[name][0].card:
            flags = command_options(name)
            pairs = zip(flags.split()[::2], flags.split()[1::2], strict=True)
            named = ", ".join(f"{flag[2:].replace('-', '_')}={value}" for flag, value in pairs)
            expected = f"a setting that is compared; its options are {named} ({flags})"
        raise RecveilError(f"method {name!r}: {expected}", code="method.unknown")
    return _maker(next(method for method in all_methods() if method.name == name))


def _maker(method: Method) -> Maker:
    if method.title not in _MAKERS:
        raise RecveilError(
            f"method {method.name!r}: it is registered without a maker; register one with "
            f"recveil.methods.registry.register",
            code="method.unsupported",
        )
    return _MAKERS[method.title]


def same_again(
    manifest: Manifest, seed: int, attributes: DeclaredAttributes | None = None
) -> Anonymizer | None:
    """Return an anonymizer with the release's public settings, if they name one of ours.

    With the true `attributes` of users, it publishes those that the release has.
    """
    expected = manifest.method.expected(manifest.settings)
    if manifest.claim.levels:
        return None  # dropped users would take their ratings with them
    if manifest.previous:
        return None  # other users have no classes to keep
    if any(setting.name not in manifest.settings for setting in expected):
        return None
    anonymizer = _maker(manifest.method).again(manifest, seed)
    if attributes is not None and isinstance(anonymizer, SparseRows):
        anonymizer.attributes = attributes
    if isinstance(anonymizer, Synthesizer):  # also of unknown ones, as the query has a price
        anonymizer.attributes = attributes or manifest.user_columns
    return anonymizer


def sampler_of(
    manifest: Manifest,
) -> Callable[[Manifest, pa.Table, int, np.random.Generator], Iterator[Records]]:
    """Return the function that samples users from the model of a release; see `Maker.sample`."""
    draw = _maker(manifest.method).sample
    if draw is None:
        raise RecveilError(
            f"method {manifest.method.name!r}: its releases have no model to sample users from; "
            f"name one of the layout model",
            code="method.unsupported",
        )
    return draw


def summarize(release: Sides, ratings: Ratings) -> ReleaseSummary:
    """Return the figures of a release for its publisher."""
    published = release.published
    counts = count_published(release, ratings)
    figures = _maker(method_of(published.settings)).summarize(release, ratings, counts)
    return ReleaseSummary(published, figures, compare_counts(counts, ratings, release))


def make_variant(name: str, k: int | None, seed: int) -> Anonymizer:
    """Return the anonymizer of a variant, such as "simple-mdav"."""
    method, variant = _variant(name)
    return _maker(method).anonymizer(k, seed, variant.options)


def _variant(name: str) -> tuple[Method, Variant]:
    known = all_variants()
    if name not in known:
        raise unknown("method", name, known)
    return known[name]


def has_k(name: str) -> bool:
    """Return whether a variant takes a k; a baseline does not."""
    return _variant(name)[0].takes_k


# How to make each baseline from a seed.
BASELINES: dict[str, Callable[[int], Anonymizer]] = {
    variant.name: lambda seed, name=variant.name: make_variant(name, None, seed)  # type: ignore[misc]
    for method in _BASELINES
    for variant in method.variants
}
