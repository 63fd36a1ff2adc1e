"""HTTP API and MCP server.

A request passes `middleware` (host, origin, token, body size), is validated (`run_requests` converts a body to settings,
`problems` are the errors) and answered by a route in `routes/`. `run_service` holds the operations that routes share, with a
`single_flight` cache in front of the ledger. `schemas` are the response types, encoded by msgspec; `openapi` describes them
from the same types, so the description cannot drift. `streaming` sends what is too long or too slow for one
response. `app` puts it together and `server` runs it, and serves the metrics of a worker. `mcp/` offers the same
data as tools.

Nothing is crawled or stored here: `context` holds the application's parts that routes use. A body is untrusted: no field of it
can name a file, a command, code or an address the guard refuses.
"""
