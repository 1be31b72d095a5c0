"""Several VMs at once: sums, fairness, targets, and the consolidation curve."""
