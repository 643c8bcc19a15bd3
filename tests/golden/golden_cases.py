"""What is frozen: lines of the command line, as a user types them."""

SEEDS = (1, 2)
FORMATS = ("parquet", "csv")

_GROUPINGS = (
    *("k-gather", "bisecting", "predictive", "bounded-t-means", "mdav", "k-member"),
    "union-split",
)
_STARS = "stars.csv --scale 1:5:1"
_PREDICTIVE = f"{_STARS} --method predictive"
_HALVES = "halves.csv --scale 0.5:5:0.5"
_LIKES = "likes.csv"
_COUNTS = "counts.csv --counts log"
_ORDER = "words.csv --order hate,dislike,like,love"
_WORDS = "words.csv --words hate,dislike,like,love"
_EACH = {
    "stars": _STARS,
    "halves": _HALVES,
    "likes": _LIKES,
    "counts": _COUNTS,
    "order": _ORDER,
}

# Options of `anonymize`; each is run with both seeds, and written in both formats.
RELEASES = {
    **{
        f"{method}-{layout}-{name}": f"{table} --k 4 {options} --layout {layout}"
        for name, table in _EACH.items()
        for layout in ("users", "groups")
        for method, options in {
            "padded": "--method predictive",
            "simple": "--method predictive --homogenize simple",
            "k-corating": "--method k-corating",
            "sparse": "--method sparse",
        }.items()
        if (name, method) not in {("likes", "padded"), ("likes", "simple")}
    },
    **{
        f"{homogenize}-by-{grouping}": f"{_PREDICTIVE} --k 4 "
        f"--homogenize {homogenize} --grouping {grouping}"
        for grouping in _GROUPINGS
        for homogenize in ("padded", "simple")
    },
    **{
        f"{homogenize}-by-{grouping}": f"{_PREDICTIVE} --k 4 "
        f"--homogenize {homogenize} --grouping {grouping}"
        for grouping in ("mhm", "r-gather")
        for homogenize in ("padded", "simple")
    },
    "padded-degree": f"{_PREDICTIVE} --k 4 --padding 0.3",
    "simple-limits": f"{_PREDICTIVE} --k 4 --homogenize simple --diversity 2 --closeness 0.6",
    "simple-diversity": f"{_PREDICTIVE} --k 4 --homogenize simple --diversity 3",
    "simple-closeness": f"{_PREDICTIVE} --k 4 --homogenize simple --closeness 0.4",
    "k-corating-diversity": f"{_STARS} --k 4 --method k-corating --diversity 2",
    "k-corating-closeness": f"{_STARS} --k 4 --method k-corating --closeness 0.6",
    "k-corating-by-pagecom": f"{_STARS} --k 4 --method k-corating --grouping pagecom --workloads 3",
    "padded-item-mean": f"{_PREDICTIVE} --k 4 --predictor item-mean",
    "padded-model": f"{_PREDICTIVE} --k 4 --values predicted",
    "padded-model-halves": f"{_HALVES} --k 4 --method predictive --values predicted --layout users",
    "padded-round-none": f"{_PREDICTIVE} --k 4 --round none",
    "padded-round-scale": f"{_PREDICTIVE} --k 4 --round scale",
    "padded-round-step": f"{_HALVES} --k 4 --method predictive --round 0.25",
    "padded-levels-rule": f"{_PREDICTIVE} --k 3 --privacy-levels activity<10:6,else:3",
    "padded-levels-file": f"{_PREDICTIVE} --k 3 --privacy-levels levels.csv",
    "padded-one-k-gather": f"{_PREDICTIVE} --k 4 --privacy-levels activity<9:1,else:4 "
    "--grouping one-k-gather",
    "simple-levels": f"{_PREDICTIVE} --k 3 --privacy-levels levels.csv --homogenize simple "
    "--layout groups",
    "padded-diverse": f"{_PREDICTIVE} --k 4 --l 2",
    "simple-diverse": f"{_PREDICTIVE} --k 4 --homogenize simple --l 3",
    "simple-diverse-pairs": f"{_PREDICTIVE} --k 4 --homogenize simple --b 2 --l 2",
    "padded-hidden": f"{_PREDICTIVE} --k 4 --hide-items",
    "simple-hidden": f"{_HALVES} --k 4 --method predictive --homogenize simple --hide-items",
    "k-corating-hidden": f"{_STARS} --k 4 --method k-corating --hide-items",
    "sparse-hidden": f"{_STARS} --k 4 --method sparse --hide-items",
    "sparse-crowd": f"{_STARS} --k 4 --method sparse --crowd 30",
    **{
        f"k-corating-by-{grouping}": f"{_STARS} --k 4 --method k-corating --grouping {grouping}"
        for grouping in ("gecom", "supports", *_GROUPINGS)
    },
    **{
        f"k-corating-{fill}": f"{_STARS} --k 4 --method k-corating --fill {fill}"
        for fill in ("item-mean", "random", "funk-svd", "similarity", "trust")
    },
    "k-corating-trust-file": f"{_STARS} --k 4 --method k-corating --fill trust --trust trust.csv",
    "k-corating-unrounded": f"{_STARS} --k 4 --method k-corating --no-round",
    "k-corating-mean": f"{_STARS} --k 4 --method k-corating --protect mean",
    "k-corating-shuffle": f"{_STARS} --k 4 --method k-corating --protect shuffle",
    **{
        f"words-{homogenize}-{layout}": f"{_WORDS} --k 4 --method nominal "
        f"--homogenize {homogenize} --layout {layout}"
        for homogenize in ("commonest", "shares")
        for layout in ("users", "groups")
    },
    **{
        f"words-by-{grouping}": f"{_WORDS} --k 4 --method nominal --grouping {grouping}"
        for grouping in _GROUPINGS
    },
    "synthetic-exact": "few.csv --scale 1:5:1 --epsilon none",
    "synthetic-exact-model": "few.csv --scale 1:5:1 --epsilon none --layout model",
    "synthetic-exact-people": "few.csv --scale 1:5:1 --epsilon none --people 25 --ratings whole",
    "synthetic-exact-catalogue": "few.csv --scale 1:5:1 --epsilon none --catalogue catalogue.txt",
    "synthetic-exact-as-rated": "few.csv --scale 1:5:1 --epsilon none --catalogue as-rated",
    "synthetic-exact-likes": f"{_LIKES} --epsilon none",
    "synthetic-exact-halves": f"{_HALVES} --epsilon none",
    "synthetic-exact-order": f"{_ORDER} --epsilon none",
}

# Their noise is drawn in secret, so that no seed repeats it: only their structure is frozen.
NOISY = {
    "synthetic": "few.csv --scale 1:5:1 --epsilon 60 --catalogue as-rated --people 40",
    "synthetic-csv": "few.csv --scale 1:5:1 --epsilon 60 --catalogue catalogue.txt --people 40 "
    "--file-format csv --ratings whole",
    "synthetic-model": "few.csv --scale 1:5:1 --epsilon 60 --catalogue as-rated --people 40 "
    "--layout model",
    "synthetic-chosen": "few.csv --scale 1:5:1 --epsilon 200",
    "synthetic-likes": f"{_LIKES} --epsilon 60 --catalogue as-rated --people 40",
}

# Releases of which other verbs are asked, by the name of their folder.
MADE = {
    "padded": f"{_PREDICTIVE} --k 4 --seed 1",
    "padded-users-csv": f"{_PREDICTIVE} --k 4 --seed 1 --layout users --file-format csv",
    "model-labels": f"{_PREDICTIVE} --k 4 --seed 1 --values predicted --file-format csv",
    "simple": f"{_PREDICTIVE} --k 4 --seed 1 --homogenize simple",
    "simple-again": f"{_PREDICTIVE} --k 3 --seed 2 --homogenize simple",
    "simple-csv": f"{_HALVES} --k 4 --seed 1 --method predictive --homogenize simple "
    "--file-format csv",
    "k-corating": f"{_STARS} --k 4 --seed 1 --method k-corating",
    "k-corating-csv": f"{_STARS} --k 4 --seed 1 --method k-corating --protect shuffle "
    "--file-format csv",
    "sparse": f"{_STARS} --k 4 --seed 1 --method sparse",
    "sparse-csv": f"{_LIKES} --k 4 --seed 1 --method sparse --file-format csv",
    "limits": f"{_PREDICTIVE} --k 4 --seed 1 --homogenize simple --diversity 2 --closeness 0.6",
    "hidden": f"{_PREDICTIVE} --k 4 --seed 1 --homogenize simple --hide-items",
    "words": f"{_WORDS} --k 4 --seed 1 --method nominal",
    "exact": "few.csv --scale 1:5:1 --epsilon none --seed 1 --file-format csv",
    "exact-model": "few.csv --scale 1:5:1 --epsilon none --seed 1 --layout model",
}

# Whole lines; what they write is frozen, too, as far as it does not hold times or drawings.
VERBS = {
    **{
        f"inspect-{name}": f"inspect {table}"
        for name, table in {**_EACH, "words": _WORDS, "plain": "stars.csv"}.items()
    },
    "inspect-rows": "inspect halves.csv --rows 3",
    **{
        f"audit-{name}": f"audit {table} --targets 20 --risk risk.csv"
        for name, table in {**_EACH, "words": _WORDS}.items()
    },
    "audit-preset": f"audit {_STARS} --preset film-buff --preset insider --targets all --no-curves",
    "audit-adversary": f"audit {_HALVES} --known 6 --right 5 --rating-error 0.5 --date-error 14 "
    "--targets 20 --draws 2 --no-curves",
    "audit-known": f"audit {_STARS} --aux known.csv --targets 20 --no-curves",
    "audit-shadows": f"audit {_STARS} --release sparse --shadows 8 --targets 20 --no-curves",
    "audit-against": f"audit {_STARS} --release simple --against simple-again --targets 20 "
    "--no-curves",
    "audit-hidden": f"audit {_STARS} --release hidden --catalogue few.csv --targets 20 --no-curves",
    **{
        f"audit-release-{name}": f"audit {_STARS} --release {name} --targets 20 --no-curves"
        for name in ("padded", "simple", "k-corating", "sparse", "model-labels")
    },
    "audit-release-words": f"audit {_WORDS} --release words --targets 20 --no-curves",
    "audit-release-exact": "audit few.csv --scale 1:5:1 --release exact --targets 20 --no-curves",
    **{
        f"evaluate-{name}": f"evaluate {_STARS} --release {name} --split 0.2 --targets 20"
        for name in ("padded", "simple", "k-corating", "sparse")
    },
    "evaluate-words": f"evaluate {_WORDS} --release words --split 0.2 --targets 20 --liked love",
    "evaluate-exact": "evaluate few.csv --scale 1:5:1 --release exact --split 0.2 --targets 20 "
    "--null-rule item_mean",
    "evaluate-trained": "evaluate --train stars.csv --test other.csv --scale 1:5:1 "
    "--release simple --targets 20 --no-membership",
    "compare-shared": "compare few.csv --scale 1:5:1 --methods padded,simple,padded-predicted,"
    "sparse --k 4 --targets 20 -o all --max-risk 0.2",
    "compare-co-rated": "compare few.csv --scale 1:5:1 --methods k-corating-item-mean,"
    "k-corating-similarity,k-corating-mean --k 4 --targets 20 -o all --min-k 4",
    "compare-drawn": "compare few.csv --scale 1:5:1 --methods synthetic-exact,raw --k 4 "
    "--targets 20 -o all",
    "compare-baselines": "compare few.csv --scale 1:5:1 --methods raw,item-means,random-values,"
    "gaussian-noise,uniform-noise,rotation,geometric --k 4 --targets 20 -o all",
    "compare-likes": f"compare {_LIKES} --methods k-corating-likes,sparse,raw --k 4 --targets 20 "
    "-o all",
    "compare-words": f"compare {_WORDS} --methods words,words-shares,raw --k 4 --targets 20 -o all",
    **{
        f"dry-run-{name}": f"anonymize {_STARS} -o none --k 4 --seed 1 --dry-run {options}"
        for name, options in {
            "padded": "--method predictive",
            "simple": "--method predictive --homogenize simple",
            "k-corating": "--method k-corating",
            "sparse": "--method sparse",
        }.items()
    },
    **{
        f"refused-{name}": f"anonymize {line} -o none --seed 1"
        for name, line in {
            "words-hidden": f"{_WORDS} --k 4 --method nominal --hide-items",
            "words-sparse": f"{_WORDS} --k 4 --method sparse",
            "words-k-corating": f"{_WORDS} --k 4 --method k-corating",
            "likes-padded": f"{_LIKES} --k 4 --method predictive",
            "no-promise": _STARS,
            "two-promises": f"{_STARS} --k 4 --epsilon 3",
            "seeded-noise": f"{_STARS} --epsilon 3",
            "k-of-one": f"{_STARS} --k 1",
            "too-large-k": f"{_STARS} --k 61",
            "off-scale": "stars.csv --scale 1:4:1 --k 4",
            "unknown-method": f"{_STARS} --k 4 --method magic",
            "other-methods-option": f"{_PREDICTIVE} --k 4 --crowd 30",
        }.items()
    },
    "dry-run-synthetic": f"anonymize {_STARS} -o none --epsilon 3 --dry-run --ledger none",
    "dry-run-words": f"anonymize {_WORDS} -o none --k 4 --seed 1 --method nominal --dry-run",
    "sample": "sample exact-model --people 30 --seed 1 -o drawn",
    "sample-csv": "sample exact-model --people 30 --seed 2 -o drawn --file-format csv",
    "selftest": f"selftest {_STARS}",
    "selftest-likes": f"selftest {_LIKES}",
    **{
        f"convert-{target}": f"convert {_HALVES} {target}"
        for target in ("table.csv", "table.parquet", "table.inter")
    },
    **{
        f"convert-{target}": f"convert {_HALVES} table --target-format {target}"
        for target in ("recbole", "lenskit", "surprise")
    },
    "convert-counts": f"convert {_COUNTS} table.csv",
    "convert-words": f"convert {_WORDS} table.csv --no-times",
    "convert-release": "convert sparse table.csv",
    "generate": "generate table.csv --users 30 --items 20 --ratings 200 --seed 3",
    "generate-halves": "generate table.parquet --users 30 --items 20 --ratings 200 "
    "--scale 0.5:5:0.5",
    "describe-page": "describe sparse card.md --card card.toml",
    **{
        f"describe-{name}": f"describe {name} croissant.json --card card.toml"
        for name in ("padded", "simple", "k-corating", "sparse", "hidden", "words", "exact-model")
    },
    **{f"verify-{name}": f"verify {name} --private {name}.private" for name in MADE},
    **{f"verify-links-{name}": f"verify {name} --links" for name in ("simple", "sparse")},
    "verify-higher-k": "verify simple --k 5",
    "verify-diversity": "verify simple --b 2 --l 2",
    "verify-table": "verify stars.csv --k 2",
    "verify-table-co-rated": "verify stars.csv --k 2 --claim co-rated",
    "verify-nothing": "verify nowhere",
}
