"""The ways to build the house. `embedded` puts everything into one process and one directory; `settings` is the one place that
reads the environment. Nothing here decides anything about a crawl; it only says which part keeps which port.
"""
