"""HTTP API and MCP server.

A request passes the middleware of `security/` (host, origin, token, rate limit, body size), is validated (`run_requests`
converts a body to settings, `problems` are the errors) and answered by a route in `routes/`. `run_service` holds the operations
that routes share, with a `single_flight` cache in front of the ledger. `schemas` are the response types, encoded by msgspec;
`openapi` describes them from the same types, so the description cannot drift. `platform/` has dependencies of the routes for
tenants, and their larger requests and responses. `streaming` sends exports and events. `app` puts it together, `server` runs
it and serves the metrics of a worker, `dashboard` serves the dashboard's files. `mcp/` offers the same data as tools.

Nothing is crawled or stored here: `context` holds the application's parts that routes use. A body is untrusted: no field of it
can name a file, a command, code or an address the guard refuses.
"""
