"""Repository functions for tokens, users, sign-ups and the audit log."""
