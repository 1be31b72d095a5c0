"""Static copies of the public pages, which any web server shows."""
