"""Consistent copies of databases and blobs, and their way back."""
