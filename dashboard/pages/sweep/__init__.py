"""The sweep page: one parameter at several levels, for several systems."""
