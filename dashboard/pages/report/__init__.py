"""A study's report: one document, to print or as a PDF."""
