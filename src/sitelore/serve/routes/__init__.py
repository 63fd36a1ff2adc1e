"""HTTP routes, one module for each part of the API: quick crawls, runs, sites and search, operations."""
