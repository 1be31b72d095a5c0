"""The published studies that every installation starts with."""
