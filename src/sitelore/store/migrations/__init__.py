"""Migrations: a new database gets the current tables (`current.py`), an older one is upgraded step by step (`versions/`)."""
