"""All that is stored, as tables for programs: what they hold, which rows, as files."""
