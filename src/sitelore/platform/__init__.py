"""What hosting for many tenants adds to the crawler: access tokens, channels with their crawl settings, schedules, webhooks and
sign-up. Services over ports; they create runs through `crawl` and never fetch pages themselves.
"""
