"""Wake-ups between processes: files on one machine, Redis between several."""
