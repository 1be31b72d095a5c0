"""The data page: what there is for programs, narrowed, and its files."""
