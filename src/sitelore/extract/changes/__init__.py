"""Compares two fetches of a page: `change` finds differences, `volatile` the words that are noise."""
