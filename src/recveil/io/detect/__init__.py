"""Detect formats, dialects and columns."""
