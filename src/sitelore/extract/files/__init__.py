"""Readers of PDF and office files: `reader` is the entry point and calls the module of the file's format.

All of them are limited in size and depth, because files are untrusted input.
"""
