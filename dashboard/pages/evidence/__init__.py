"""What all studies together say: the matrix, and a forest plot for each question."""
