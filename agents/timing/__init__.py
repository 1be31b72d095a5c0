"""Time from outside the guest: a server that tells it, and what follows from asking."""
