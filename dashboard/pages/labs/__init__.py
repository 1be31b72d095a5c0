"""The pages of a lab and of its people."""
