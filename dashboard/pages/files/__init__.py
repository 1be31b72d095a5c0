"""What leaves the site: a comparison as a file, and how a study is cited."""
