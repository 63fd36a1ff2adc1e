"""Security of the API: authentication, scopes, sessions, and limits on failed logins."""
