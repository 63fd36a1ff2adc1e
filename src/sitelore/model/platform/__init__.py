"""Types of accounts, channels, schedules, media and webhooks."""
