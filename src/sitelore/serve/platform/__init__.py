"""Requests, responses and dependencies of the routes for tenants and for the operator of an installation."""
