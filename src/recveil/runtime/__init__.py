"""Errors, progress, files, threads and memory: what every package uses."""
