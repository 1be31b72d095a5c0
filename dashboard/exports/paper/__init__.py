"""What a paper takes of a study: its table, its chart, its methods, all in one file."""
