"""Statistics: plain values in, frozen results out."""
