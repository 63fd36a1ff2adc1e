"""How a crawl gets into a site: credentials, cookies, proxies, and sessions of logins."""
