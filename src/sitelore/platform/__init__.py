"""Multi-tenancy, for a hosted installation: accounts, channels with their schedules, webhooks, media, and draft pull requests.

`accounts/` says who may do what: tenants, users, tokens, authentication, rate limits, sessions and sign-up. `channels/` starts
crawls of channels by hand and by schedule. `webhooks/` manages endpoints and sends them messages. `pull_requests/` has the Git
repositories of sites and the APIs of their hosts. `secret_box` encrypts stored secrets, `outgoing_urls` says which URLs of
tenants the server may send requests to.

These are services over ports. They create runs through `crawl` and never fetch pages themselves.
"""
