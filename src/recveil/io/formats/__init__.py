"""Readers of each file format."""
