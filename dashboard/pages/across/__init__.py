"""Systems of any studies side by side, and any two of them against each other."""
