"""What only Windows has: its own calls, its scheduler, its counters, and our bundle."""
