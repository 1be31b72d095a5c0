"""Follow a plan of the server: the next step, the start in common, the end."""
