"""The upload page: previews and stores files."""
