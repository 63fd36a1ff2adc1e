"""Who may do what: tenants and their users, tokens, authentication, rate limits, sessions and sign-up."""
