"""Repository functions for the pages of a site: current pages, versions, changes, deletion detection and ids of URLs."""
