"""Repository functions for runs: lifecycle, the run queue, finalisation and lists."""
