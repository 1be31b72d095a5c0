"""The commands, one module each; `agents.__main__` loads the requested one."""
