"""k-coRating: fill rows until k users rate the same items."""
