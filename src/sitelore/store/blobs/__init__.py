"""Content-addressed blobs in a SQLite file or in an object store."""
