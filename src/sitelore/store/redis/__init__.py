"""What several processes share in Redis: rate limits of hosts and callers, notifications, and sessions of browsers."""
