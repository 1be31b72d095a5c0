"""What this machine stands on: raw evidence, and what follows from it."""
