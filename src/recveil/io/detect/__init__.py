"""Detection of formats, dialects and columns."""
