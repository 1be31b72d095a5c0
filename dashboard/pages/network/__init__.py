"""From where to where: the matrix of a network's paths."""
