"""Media files of pages: which candidate of an image is downloaded, how images are compressed in a limited subprocess, and how
the facts of a file (type, size, provider of a video) are determined.
"""
