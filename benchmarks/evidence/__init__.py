"""Evidence from all studies on a question: a hypervisor in one class of work."""
