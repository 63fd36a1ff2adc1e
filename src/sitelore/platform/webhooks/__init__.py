"""Webhooks: the endpoints of tenants, the delivery of messages, and their signatures."""
