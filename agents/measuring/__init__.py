"""Run benchmark tools and describe the conditions of each run."""
