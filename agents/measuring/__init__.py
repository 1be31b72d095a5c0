"""Running benchmark tools and describing the conditions of each run."""
