"""Readers of PDF and office files. `reader` picks the one for a file; what they share is there, and in `office_package`.

All of them are limited in size and depth, because files are untrusted input.
"""
