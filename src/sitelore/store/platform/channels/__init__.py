"""Channels, their crawl jobs, pages and schedules."""
