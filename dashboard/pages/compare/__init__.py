"""The comparison: its page, its table, two columns side by side, and its chart."""
