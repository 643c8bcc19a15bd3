"""Attacks that infer whether a user is in the data."""
