"""What the fast and the slow tests of `test_source.py` share."""

from hypothesis import strategies as st

ROLES = ["user", "item", "rating", "time"]

TRICKY = [
    "note:a",
    "note:b",
    "note",
    "group_size:x",
    "k",
    "",
    ":",
    " ",
    "\uff54ime",
    "time ",
    "t\u0456me",
]

names = (
    st.sampled_from(ROLES + [f"{role} (extra)" for role in ROLES])
    | st.builds(lambda name, n: name + n * " (extra)", st.sampled_from(TRICKY), st.integers(0, 2))
    | st.text("ab:( )\u200b", max_size=4)
)

NEEDED = ["user_id", "item_id", "stars", "timestamp"]
