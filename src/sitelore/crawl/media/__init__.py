"""Media files of pages: which a page shows, the visit of a media URL, and the pool of processes that compress images."""
