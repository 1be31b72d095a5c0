"""Power meters, and the recording of their readings."""
