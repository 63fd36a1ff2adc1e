"""The two ways to build the house, side by side in one shape: `embedded` puts everything into one process and one directory,
`scaled` builds on Postgres, Redis and an object store for any number of processes. `house` is what both give, `opening` lets
the settings choose, `settings` is the one place that reads the environment, `checks` says what is wrong with the servers,
`waiting` gives them time to come up, `logs` writes log lines as JSON.
Nothing here decides anything about a crawl; it only says which part keeps which port.
"""
