"""The commands, one module each; `agents.__main__` loads the one that is run."""
