"""Channels of a tenant, their crawls and their schedules. A channel is a website that a tenant follows."""
