"""Draft pull requests on repositories that a tenant connected: git over HTTPS, the APIs of GitHub and GitLab, descriptions."""
