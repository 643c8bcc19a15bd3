"""Methods without a guarantee, for comparison."""
