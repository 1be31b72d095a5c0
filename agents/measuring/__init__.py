"""Run a tool and keep all that a judge of its numbers could ask for."""
