"""Evidence across all studies: the matrix, and a forest plot for each question."""
