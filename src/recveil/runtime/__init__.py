"""Errors, progress, file handling, threads and memory, shared by all packages."""
