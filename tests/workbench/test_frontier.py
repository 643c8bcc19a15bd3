from itertools import combinations

from recveil.charts import width_of
from recveil.comparison.choice import AXES, REIDENTIFICATION
from recveil.comparison.rows import Row
from recveil.report.comparison.charts import utilities_of
from recveil.workbench.frontier import draw

LISTS, RATINGS = utilities_of([])


def setting(method="sparse", k=5, risk=0.1, share=0.8, *, promise="k-anonymity", **more):
    measured = {
        "risk": risk,
        "risk_low": risk and risk / 2,
        "risk_high": risk and min(1, 2 * risk),
        "ndcg_retained": share,
        "is_ndcg_reliable": True,
    }
    return Row(method, k, promise, None, **(measured | more))


def test_safer_is_left_and_better_is_up():
    safe, good = draw(
        [setting(risk=0.01, share=0.5), setting(risk=0.5, share=0.9)], LISTS, REIDENTIFICATION
    ).dots
    assert safe.x < good.x
    assert safe.y > good.y  # downwards in SVG
    assert safe.low < safe.x < safe.high


def test_all_stands_within_the_plot():
    rows = [setting(risk=risk, share=share) for risk in (0, 1e-9, 1) for share in (-56.0, 0, 1)]
    drawn = draw(rows, LISTS, REIDENTIFICATION, max_risk=0.01)
    for dot in drawn.dots:
        assert drawn.left <= dot.low <= dot.x <= dot.high <= drawn.right
        assert drawn.top <= dot.y <= drawn.bottom
    assert drawn.left < drawn.limit < drawn.right


def test_what_has_no_place_is_named():
    rows = [
        setting(),
        setting(k=9, risk=None, risk_low=None, risk_high=None),
        setting(k=10, is_ndcg_reliable=False),
        setting(k=11, share=0.5, ndcg_retained_low=-1.0, ndcg_retained_high=2.0),
        Row("sparse", 12, "k-anonymity", "too few users"),
    ]
    drawn = draw(rows, LISTS, REIDENTIFICATION)
    assert [dot.row.k for dot in drawn.dots] == [5]
    assert drawn.not_drawn == {
        "this risk was not measured, which is not a low risk": ["sparse, k = 9"],
        "the retained share of lists is not reported": ["sparse, k = 10"],
        "the retained share of lists is not reliable": ["sparse, k = 11"],
        "no result": ["sparse, k = 12"],
    }
    wide = {"is_gain_reliable": True, "gain_retained": -4.0, "gain_retained_low": -9.0}
    for high, reason in ((-0.1, "ratings are worse than"), (0.1, "ratings is not reliable")):
        rows = [setting(**wide, gain_retained_high=high)]
        assert reason in next(iter(draw(rows, RATINGS, REIDENTIFICATION).not_drawn))


def test_an_unknown_end_of_an_interval_is_the_widest():
    (dot,) = (drawn := draw([setting(risk_low=None, risk_high=None)], LISTS, REIDENTIFICATION)).dots
    assert (dot.low, dot.high) == (drawn.left, drawn.right)


def test_a_method_with_several_points_gets_a_line_from_the_safest_on():
    rows = [setting(k=2, risk=0.4), setting(k=9, risk=0.1), setting("padded", 5, 0.2)]
    ((look, points),) = draw(rows, LISTS, REIDENTIFICATION).lines
    assert look.series == "sparse"
    first, second = (float(point.partition(",")[0]) for point in points.split())
    assert first < second


def test_the_frontier_leads_through_the_best_alone():
    rows = [setting(k=2, risk=0.4), setting(k=9, risk=0.1), setting("padded", 5, 0.2)]
    drawn = draw(
        rows, LISTS, REIDENTIFICATION, best=["sparse, k = 9", "sparse, k = 2", "not drawn"]
    )
    assert len(drawn.frontier.split()) == 2
    assert draw(rows, LISTS, REIDENTIFICATION, best=["sparse, k = 9"]).frontier == ""


def test_settings_without_a_claim_are_listed_apart():
    drawn = draw([setting(), setting("raw", None, promise="nothing")], LISTS, REIDENTIFICATION)
    assert [dot.has_claim for dot in drawn.dots] == [True, False]


def test_nothing_is_drawn_of_nothing():
    drawn = draw([], RATINGS, AXES["links"])
    assert (drawn.dots, drawn.lines, drawn.not_drawn) == ([], [], {})


def test_of_words_the_vertical_axis_is_named():
    (words,) = utilities_of([Row("nominal", 5, "k-anonymity", None, nominal_accuracy=0.6)])
    assert draw([], words, REIDENTIFICATION).up_title == "labels: share of the raw data’s gain →"


def test_only_chosen_raw_and_pareto_optimal_settings_get_their_names_without_overlap():
    rows = [
        setting(method, k, risk=0.02 + 0.001 * k, share=0.7 + 0.02 * k)
        for method in ("sparse", "simple", "padded")
        for k in (2, 3, 5, 10)
    ]
    rows.append(setting("raw", None, 1.0, 1.0, promise="nothing", ndcg=0.2, popularity_ndcg=0.1))
    titles = ["sparse, k = 2", "simple, k = 3"]
    drawn = draw(rows, LISTS, REIDENTIFICATION, best=titles[1:], chosen=titles[:1])
    assert {text.text for text in drawn.texts} == {*titles, "raw", "popular items alone"}
    assert drawn.top < drawn.popular < drawn.bottom
    for one, other in combinations(drawn.texts, 2):
        apart = (width_of(one.text, 15) + width_of(other.text, 15)) / 2
        assert abs(one.x - other.x) > apart - 0.2 or abs(one.y - other.y) > 14.8
    assert drawn.popular_key == ""
    assert draw(rows, RATINGS, REIDENTIFICATION).popular is None


def test_the_line_of_popular_items_has_a_name_however_many_settings_are_at_it():
    known = {"ndcg": 0.2, "popularity_ndcg": 0.2}
    raw = setting("raw", None, 1.0, 1.0, promise="nothing", **known)
    few = [raw, *(setting(k=k, risk=risk, share=1.0) for k, risk in ((5, 0.017), (20, 0.019)))]
    few.append(setting("simple", 5, 0.181, 1.0))
    drawn = draw(few, LISTS, REIDENTIFICATION)
    assert "popular items alone" in {text.text for text in drawn.texts}
    many = [raw, *(setting(k=k, risk=1.2**-k, share=1.0) for k in range(2, 40))]
    drawn = draw(many, LISTS, REIDENTIFICATION)
    named = {text.text for text in drawn.texts}
    assert ("popular items alone" in named) != (drawn.popular_key == "popular items alone")
    assert drawn.popular_key
