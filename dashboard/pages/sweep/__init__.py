"""One parameter swept through its sizes, for several systems."""
