"""Channels of a tenant, their crawls and their schedules."""
