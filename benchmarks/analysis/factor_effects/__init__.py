"""Which parameters of a system move its efficiency, and by how much."""
