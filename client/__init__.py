"""Sources of the wheel `virtlab-client`, which is imported as `virtlab`."""
