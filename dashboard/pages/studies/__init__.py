"""New studies, and the settings of one."""
