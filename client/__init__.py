"""The client that people install: the wheel `virtlab-client`, imported as `virtlab`."""
