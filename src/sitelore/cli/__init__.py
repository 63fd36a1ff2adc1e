"""The house from a shell.

`main` is the door: it lists the commands and turns whatever ends them into one sentence and an exit code. Each command
declares its options in a light module and imports the rest when it is called, so that `--help` stays instant. `asking`
turns what was typed into settings; `running` crawls and shows it; `watching` draws progress, `summary` the table at the
end, `writing` leaves the files; `inspecting` takes one page apart, which `peeking` fetches when no run has it. Data
goes to stdout; progress, notes and complaints go to stderr.

Nothing is decided here: crawling is done by the house that `deploy` builds, files are written by `export`, HTML is read
by `extract`.
"""
