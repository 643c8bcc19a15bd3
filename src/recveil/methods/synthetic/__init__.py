"""Synthetic users, sampled from noisy sums."""
