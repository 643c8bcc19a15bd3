"""Attacks that infer ratings or attributes of a user."""
