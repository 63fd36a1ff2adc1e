"""Repository functions for the URL frontier: offers, claims and leases, settlements, waves, counts by URL pattern."""
