"""Rows of nominal labels that k users share."""
