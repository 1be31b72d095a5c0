"""Plans: the form that makes one, and the page that watches it."""
