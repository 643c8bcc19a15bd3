"""Sparse rows of predictions that k users share."""
