"""Repository functions of the search index: chunks, postings and reads."""
