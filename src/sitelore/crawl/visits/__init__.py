"""One visit of a page: fetch it, detect soft 404s and lost logins, and settle the result."""
