"""The pages of a lab and its members."""
