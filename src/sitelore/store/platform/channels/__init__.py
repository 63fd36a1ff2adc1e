"""Channels (websites that tenants follow), their crawl jobs, pages and schedules."""
