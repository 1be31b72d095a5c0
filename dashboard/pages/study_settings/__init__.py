"""New studies, and settings of studies."""
