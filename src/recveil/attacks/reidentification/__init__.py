"""Attacks that pick the record of a target."""
