"""Blob stores: a SQLite file, an object store, and the view of one tenant on either."""
