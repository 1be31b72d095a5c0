"""Power over time, energy of the work, and power against performance."""
