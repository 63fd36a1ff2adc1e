"""Routes of the platform: tenants, access, channels, media, webhooks."""
