"""What all studies together say of a hypervisor and a class of work."""
