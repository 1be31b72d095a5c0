"""Power meters: sources of readings, and the log that becomes pieces in the spool."""
