"""The trend page: one case over versions or dates."""
