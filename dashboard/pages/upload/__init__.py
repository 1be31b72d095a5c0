"""What a person drops on the upload page: read, shown, and stored."""
