"""Rows: a cell's measures side by side, one row of the table a cell."""

from typing import Any, NamedTuple

from recveil.brief import brief
from recveil.compare.cells import Cell, strongest_attack
from recveil.release.claim import claim_kind
from recveil.release.registry import variant_of


@brief
class Row(NamedTuple):
    """What became of one setting. None is what could not be measured.

    Attributes
    ----------
    method : str
    k : int or None
        None for a baseline.
    promise : str
        What the method promises; see `recveil.release.claim.ClaimKind`.
    problem : str or None
        Why there is no result; then all that follows is None.
    verified_k : int or None
        How many people share each row (or set of items), as counted in the written files.
    bound : float or None
        1 / k if the release promises k-anonymity: no attack on it alone can reach more.
    adversary, attack : str or None
        Who found most people, and how.
    risk, risk_low, risk_high : float or None
        The share of the people looked for who were found (a pick among the s people of the found
        group counts 1/s), with its 95 % interval, which ends at the bound. None, too, where the
        attacks do not know what to undo: that they find few would say nothing.
    looked_for, attacked : int or None
        The people who were to be found, and those of them of whom enough could be known. The others
        count as not found.
    most_attacked : int or None
        The same for the adversary who could look for most.
    group_found : float or None
        The share of the people whose group was found.
    link_precision, link_baseline : float or None
        The share of the found row's other items that the person rated; by popularity alone.
    exact_share : float or None
        The share of the found people's other ratings that stand in the row exactly.
    lone_share : float or None
        With simple homogenizing, the share of all ratings that are published as they are, because
        nobody else in the group rated the item.
    published_share : float or None
        The share of all ratings that stand in their owner's row exactly, for whatever reason.
    membership, membership_low, membership_high : float or None
        How well one can tell who was in the data at all: 0.5 is a coin, 1 is certainty.
    gain_kept, gain_low, gain_high : float or None
        The share of the collaborative gain that is left, as measured, with its 95 % interval over
        the people judged: 1 is as good as the raw data, 0 is no better than averages, less is
        worse. Above 1, as good as raw is what can be said; see `recveil.compare.shares_of`.
    is_gain_told : bool or None
        Whether the gain of the raw data themselves is large enough for shares of it to mean
        anything; see `recveil.evaluate.Measured.is_told`.
    gain_not_told : str or None
        Why it is not.
    n_judged : int or None
        How many people's ratings were predicted.
    is_below_averages : bool or None
        Whether the release's RMSE is above that of averages of the raw data, whoever is judged.
    raw_gain, raw_gain_low, raw_gain_high : float or None
        That gain, in RMSE: how far `raw_rmse` lies below `averages_rmse`.
    raw_rmse, averages_rmse : float or None
    recommender : str or None
        The one that a recipient of the release would choose to predict ratings.
    rmse, mae : float or None
        Its errors on held-out original ratings.
    best_recommender, best_rmse, best_gain_kept : str or float or None
        The one that turned out best on these ratings, which nobody could know beforehand, its
        error, and the share kept of the gain of the raw data's own best.
    ranker : str or None
        The one that the recipient would choose to make lists.
    ndcg, recall : float or None
        Of its lists of ten.
    ndcg_kept, ndcg_low, ndcg_high : float or None
        The share of the nDCG of the lists that the raw data give, by the recommender that would be
        chosen there, with its 95 % interval. Rankings can lose much where RMSE loses nothing.
    is_ndcg_told : bool or None
        As `is_gain_told`, of the raw data's lists.
    ndcg_not_told : str or None
    n_ranked : int or None
        How many people's lists were judged: those with something relevant held out.
    raw_ranker : str or None
        That recommender.
    best_ranker, best_ndcg, best_ndcg_kept : str or float or None
        As `best_recommender`, of lists.
    order_kept : float or None
        Kendall's tau between the orders of recommenders by RMSE, on the raw data and on the
        release.
    popularity_correlation, rated_share_error, item_mean_rmse : float or None
    similarity_correlation : float or None
        See `recveil.evaluate.Fidelity`.
    target_rmse, target_rmse_present, target_absent : float or None
        Target deviation of Chang et al., a label that is absent counted as 0; that of the labels
        present alone; and the share of the held-out ratings for which one's own row has none.
    seconds : float or None
        What making the release took.
    """

    method: str
    k: int | None
    promise: str
    problem: str | None
    verified_k: int | None = None
    bound: float | None = None
    adversary: str | None = None
    attack: str | None = None
    risk: float | None = None
    risk_low: float | None = None
    risk_high: float | None = None
    looked_for: int | None = None
    attacked: int | None = None
    most_attacked: int | None = None
    group_found: float | None = None
    link_precision: float | None = None
    link_baseline: float | None = None
    exact_share: float | None = None
    lone_share: float | None = None
    published_share: float | None = None
    membership: float | None = None
    membership_low: float | None = None
    membership_high: float | None = None
    gain_kept: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    is_gain_told: bool | None = None
    gain_not_told: str | None = None
    n_judged: int | None = None
    is_below_averages: bool | None = None
    raw_gain: float | None = None
    raw_gain_low: float | None = None
    raw_gain_high: float | None = None
    raw_rmse: float | None = None
    averages_rmse: float | None = None
    recommender: str | None = None
    rmse: float | None = None
    mae: float | None = None
    best_recommender: str | None = None
    best_rmse: float | None = None
    best_gain_kept: float | None = None
    ranker: str | None = None
    ndcg: float | None = None
    recall: float | None = None
    ndcg_kept: float | None = None
    ndcg_low: float | None = None
    ndcg_high: float | None = None
    is_ndcg_told: bool | None = None
    ndcg_not_told: str | None = None
    n_ranked: int | None = None
    raw_ranker: str | None = None
    best_ranker: str | None = None
    best_ndcg: float | None = None
    best_ndcg_kept: float | None = None
    order_kept: float | None = None
    popularity_correlation: float | None = None
    rated_share_error: float | None = None
    item_mean_rmse: float | None = None
    similarity_correlation: float | None = None
    target_rmse: float | None = None
    target_rmse_present: float | None = None
    target_absent: float | None = None
    seconds: float | None = None

    @property
    def title(self) -> str:
        """The setting, for people."""
        return self.method if self.k is None else f"{self.method}, k = {self.k}"

    def _facts(self) -> dict[str, object]:
        verdict = "no result" if self.problem else self.promise
        told = {"k": self.k, "risk": self.risk, "gain kept": self.gain_kept}
        return {"": f"{self.method}: {verdict}", **told, "nDCG kept": self.ndcg_kept}


def to_row(cell: Cell) -> Row:
    """Take the measures out of a cell."""
    method, k = cell["method"], cell["k"]
    variant = variant_of(method)
    row = Row(method, k, variant.about_claim.promise, cell["problem"])
    if cell["problem"] is not None:
        return row
    evaluation = cell["evaluation"]
    disclosure = evaluation["disclosure"]
    attacks = disclosure["attacks"]
    recipient, verified = evaluation["recipient"], cell["verified"]
    fidelity, bound = evaluation["fidelity"], _bound(verified)
    target = evaluation["target_deviation"]
    return row._replace(
        verified_k=verified and verified["k_achieved"],
        bound=bound,
        most_attacked=max(attack["targets_attacked"] for attack in attacks),
        lone_share=cell["lone_share"],
        published_share=disclosure["ratings_exact"],
        **(_risk(strongest_attack(attacks), bound) if variant.is_attacked else {}),
        **(_membership(disclosure["membership"]) if variant.is_attacked else {}),
        **_ratings(recipient),
        **_lists(recipient),
        order_kept=_order_kept(evaluation.get("carry_over")),
        **{name: fidelity.get(name) for name in _FIDELITY},
        target_rmse=target["rmse"],
        target_rmse_present=target["rmse_present"],
        target_absent=target["null_share"],
        seconds=cell["seconds"].get("anonymize"),
    )


_FIDELITY = (
    *("popularity_correlation", "rated_share_error", "item_mean_rmse", "similarity_correlation"),
)


def _bound(verified: dict[str, Any] | None) -> float | None:
    """Return the highest share that the checked claim allows; a claim about items allows all."""
    if verified is None:
        return None
    return claim_kind(verified["claim"]).bound(verified["k_required"])


def _risk(attack: dict[str, Any], bound: float | None) -> dict[str, Any]:
    """Return who found most; no interval reaches above what is proven."""
    person = attack["person_found"]
    high = person["high"]
    if high is not None and bound is not None:
        high = max(person["rate"], min(high, bound))
    return {
        "adversary": attack["name"],
        "attack": attack["attack"],
        "risk": person["rate"],
        "risk_low": person["low"],
        "risk_high": high,
        "looked_for": attack["targets_requested"],
        "attacked": attack["targets_attacked"],
        "group_found": attack["group_found"]["rate"],
        "link_precision": attack["link_precision"],
        "link_baseline": attack["link_baseline"],
        "exact_share": attack["exact_share"],
    }


def _membership(told: dict[str, Any] | None) -> dict[str, Any]:
    """Return the area under the curve with its interval, if it was measured."""
    if told is None or told["auc"]["rate"] is None:
        return {}
    names = {"membership": "rate", "membership_low": "low", "membership_high": "high"}
    return {name: told["auc"][key] for name, key in names.items()}


def _ratings(recipient: dict[str, Any]) -> dict[str, Any]:
    """Return how well ratings are predicted."""
    chosen, best = recipient["release"], recipient["best"]["release"]
    kept, gain = recipient["kept"]["chosen"]["ratings"], recipient["raw_gain"]
    return {
        **{f"gain_{end}": kept[end] for end in ("low", "high")},
        "gain_kept": kept["value"],
        "is_gain_told": gain["is_told"],
        "gain_not_told": gain["why_not_told"],
        "n_judged": gain["n_judged"],
        "is_below_averages": _is_below(recipient["release_gain"]["high"]),
        **{f"raw_gain_{end}": gain[end] for end in ("low", "high")},
        "raw_gain": gain["value"],
        "raw_rmse": recipient["raw"]["rmse"],
        "averages_rmse": recipient["averages"]["rmse"],
        **{name: chosen[name] for name in ("recommender", "rmse", "mae")},
        "best_recommender": best["recommender"],
        "best_rmse": best["rmse"],
        "best_gain_kept": recipient["kept"]["best"]["ratings"]["value"],
    }


def _lists(recipient: dict[str, Any]) -> dict[str, Any]:
    """Return how good the lists are."""
    chosen, best = recipient["lists"]["release"], recipient["best"]["release"]
    kept = recipient["kept"]["chosen"]["lists"]
    return {
        **{f"ndcg_{end}": kept[end] for end in ("low", "high")},
        "ndcg_kept": kept["value"],
        "is_ndcg_told": recipient["raw_lists"]["is_told"],
        "ndcg_not_told": recipient["raw_lists"]["why_not_told"],
        "n_ranked": recipient["raw_lists"]["n_ranked"],
        "ranker": chosen["recommender"],
        "ndcg": chosen["ndcg@10"],
        "recall": chosen["recall@10"],
        "raw_ranker": recipient["lists"]["raw"]["recommender"],
        "best_ranker": best["ranker"],
        "best_ndcg": best["ndcg@10"],
        "best_ndcg_kept": recipient["kept"]["best"]["lists"]["value"],
    }


def _is_below(high: float | None) -> bool | None:
    return None if high is None else high < 0


def _order_kept(carried: dict[str, Any] | None) -> float | None:
    """Return Kendall's tau by RMSE."""
    return None if carried is None else carried.get("tau_rmse")
