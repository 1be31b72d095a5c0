"""Evidence of all studies on a hypervisor and a class of work."""
