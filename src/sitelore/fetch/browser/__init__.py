"""Pages rendered by Chromium, which can reach the network through a guarded proxy only.

`renderer.py` is the entry. `chromium.py` finds, starts, watches and replaces the browser process; `tab.py` loads one page,
waits until it is idle and serialises it (`page_scripts.py` runs inside the page, `network_monitor.py` follows its requests);
`navigation.py` checks every navigation of the main frame; `blocking.py` lists requests that are not needed; `guard_proxy.py`
is the browser's only way to the network.
"""
