"""The format of a published folder, shared by writers and checkers."""
