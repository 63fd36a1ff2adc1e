"""Searches the crawled pages, and keeps their index up to date."""
