"""People who never were, drawn from noisy sums over people who are."""
