"""One case over versions and days."""
