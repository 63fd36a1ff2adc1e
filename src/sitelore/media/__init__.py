"""Media files of pages: detects formats, compresses images in a limited subprocess, and sanitises SVG."""
