"""The form of a published folder, the one home of those who write and who check it."""
