"""Downloads: comparisons as files, and citations of studies."""
