"""Figures about a whole site after a run: each a pure function of the site, small enough to be stored as JSON for every run."""
