"""Predictive anonymization: pad, cluster, homogenize."""
