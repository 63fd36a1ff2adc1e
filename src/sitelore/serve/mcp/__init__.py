"""Model Context Protocol server: crawled sites as tools for language models, over HTTP or stdio."""
