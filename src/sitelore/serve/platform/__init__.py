"""Requests, responses and dependencies of the tenant and manage planes, which `serve/routes` share."""
