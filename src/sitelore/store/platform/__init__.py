"""Repository functions for accounts, channels, schedules, media and webhooks."""
