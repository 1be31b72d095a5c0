"""Datasets: all stored data as tables and files."""
