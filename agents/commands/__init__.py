"""One module for each command; `agents.__main__` loads the one that was asked for."""
