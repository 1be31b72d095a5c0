"""What a paper takes of a study: rows, columns and digits chosen, and its files."""
