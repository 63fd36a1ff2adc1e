"""The command line.

`main` parses the arguments, runs one command and turns errors into one line and an exit code. `commands/` holds one module per
command (or per group of small ones); a module is imported when its command is called, and imports heavy libraries inside its
functions, so that `--help` stays fast. Shared by the commands: `console` (options and output), `progress` and `summary` (of a
crawl), `domain_config` (rules of a domain from a file), `fetch_once` (requests outside a run).

Data goes to stdout; progress, notes and errors go to stderr.
"""
