"""Commands for running a server: access, backups, webhooks, deletion, checks of the installation."""
