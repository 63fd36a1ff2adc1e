"""Tables of all settings for the reference, the command `sitelore config` and the commented file of `sitelore init`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from sitelore.app.config.catalogue import SETTINGS, Setting, settings_in_files
from sitelore.app.config.command_options import ACCESS_OPTIONS, OUTPUT_OPTIONS, CommandOption
from sitelore.app.config.kinds import Items, size_text
from sitelore.app.config.sources import Values
from sitelore.app.settings import environment_value
from sitelore.model.settings import CrawlSettings, Overrides

_HEADER = "| setting | default | command line | API | Python | file | meaning |\n|---|---|---|---|---|---|---|\n"


def settings_table() -> str:
    """The table of docs/reference/settings.md, in Markdown."""
    return _HEADER + "".join(f"| {' | '.join(_cells(setting))} |\n" for setting in SETTINGS)


def options_table(options: Iterable[CommandOption]) -> str:
    """A table of options that are not stored with a run, in Markdown."""
    head = "| option | command line | API | Python | file | meaning |\n|---|---|---|---|---|---|\n"
    cells = (
        (f"`{own.name}`", f"`{own.option}`", own.api, own.python, own.file, own.meaning.replace("|", "\\|")) for own in options
    )
    return head + "".join(f"| {' | '.join(row)} |\n" for row in cells)


def output_table() -> str:
    """The options that decide about files."""
    return options_table(OUTPUT_OPTIONS)


def access_table() -> str:
    """The options of access to sites."""
    return options_table(ACCESS_OPTIONS)


def _cells(setting: Setting) -> Iterator[str]:
    yield f"`{setting.name}`"
    yield "" if setting.default() == () else _default(setting)
    yield _command_line(setting)
    yield setting.not_in_api or f"`{'seedUrl`, `' if setting.name == 'seeds' else ''}{setting.field}`"
    yield _python(setting)
    yield _file(setting)
    yield setting.meaning.replace("|", "\\|")


def _default(setting: Setting) -> str:
    text = setting.text(setting.default())
    return text if setting.default() in {None, ""} or setting.unset or isinstance(setting.kind, Items) else f"`{text}`"


def _command_line(setting: Setting) -> str:
    if setting.name == "pipeline":
        return "`sitelore pipeline`"
    if not setting.option:
        return f"`--set {setting.name}=…`"
    return f"`{setting.option}`"


def _python(setting: Setting) -> str:
    if setting.name == "pipeline":
        return "none"
    group, _, field = setting.name.rpartition(".")
    name = f'`{group}={{"{field}": …}}`' if group else f"`{setting.name}=`"
    return f"{name}, `{setting.short}=`" if setting.short else name


def _file(setting: Setting) -> str:
    if setting.name in {"seeds", "open_origins"}:
        return "`[[site]] url`"
    if setting.name == "overrides":
        return "`[[site]]`"
    if setting.name == "pipeline":
        return "none"
    return f"`{setting.name}`, `{setting.short}`" if setting.short else f"`{setting.name}`"


def in_force(settings: CrawlSettings, values: Values) -> list[tuple[str, Any, str]]:
    """Every setting of a run with its value and the place where it was written."""
    rows = []
    for setting in SETTINGS:
        value: Any = settings
        for part in setting.name.split("."):
            value = getattr(value, part)
        sourced = values.get(setting.name)
        source = sourced.source if sourced else "default" if value == setting.default() else "URL"
        rows.append((setting.name, value, source))
    return rows


def outputs_in_force(values: Values) -> list[tuple[str, str, str]]:
    """The files that a crawl writes, and the place where that was written."""
    defaults = {"output": "md", "out": "DATA/pages", "links": "absolute", "index": "true"}
    rows = []
    for name, default in defaults.items():
        own = values.get(name)
        text = default if own is None else ", ".join(own.value) if name == "output" else str(own.value)
        rows.append((name, text.lower() if name == "index" else text, own.source if own else "default"))
    return rows


def access_in_force(written: Values) -> list[tuple[str, str, str]]:
    """The access that the configuration file gives, as it is written there: secrets are names of environment variables."""
    return [(name, ", ".join(_written(own.value)), own.source) for name, own in written.items()]


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, text in value.items():
            yield f"{name}: {''.join(_written(text))}"
    elif isinstance(value, list):
        for item in value:
            yield from _written(item)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        is_missing = text.startswith("env:") and not environment_value(text.removeprefix("env:"))
        yield f"{text} (not set)" if is_missing else text


def shown_value(name: str, value: Any) -> str:
    """A value of a setting as `sitelore config` prints it."""
    setting = next(own for own in SETTINGS if own.name == name)
    return setting.text(value)


def as_json(value: Any) -> Any:
    """A value of a setting as JSON."""
    if isinstance(value, tuple) and value and isinstance(value[0], Overrides):
        return [msgspec.to_builtins(rules) for rules in value]
    return msgspec.to_builtins(value)


def template(url: str) -> str:
    """A commented `sitelore.toml` with every setting and one site."""
    lines = [
        "# Settings of Sitelore (docs/reference/settings.md). Remove the # of a line to change a setting.",
        "# `sitelore crawl` in this folder crawls the sites below; `sitelore config URL` shows what is in force.",
        "",
        "[crawl]",
        "# Defaults of every crawl.",
    ]
    for setting in settings_in_files():
        lines += ["", f"# {setting.meaning}", f"# {_toml_line(setting)}"]
    lines += [
        "",
        "# Files to write besides the database, and where; links in them (absolute, relative, text, none); the search index.",
        '# output = ["md"]',
        "# out =   # default: DATA/pages; a directory",
        '# links = "absolute"',
        "# index = true",
        "",
        "[[site]]",
        f'url = "{url}"',
        "# Any setting from above, only for this site, and:",
        '# schedule = "30 3 * * 1"             # when `sitelore crawl --due` crawls it: a cron line, in UTC',
        '# main_content_selectors = ["main"]   # the first that contains text is the content of a page',
        '# remove_selectors = [".advert"]      # elements to leave out',
        '# actions = [{click = "#more"}]       # what is done in a browser before a page is read',
        '# auth = "env:DOCS_AUTH"              # USER:PASSWORD from an environment variable; also bearer, cookie, headers',
        "",
    ]
    return "\n".join(lines)


def _toml_line(setting: Setting) -> str:
    default = setting.default()
    if default is None:
        return f"{setting.key} =   # default: {setting.unset or 'none'}; {setting.kind.hint()}"
    if isinstance(default, tuple):
        return f"{setting.key} = []"
    if isinstance(default, str):
        return f'{setting.key} = "{default}"'
    text = size_text(default) if "bytes" in setting.name else ""
    is_round = text and not text.endswith(" B")
    return f'{setting.key} = "{text.replace(" ", "")}"' if is_round else f"{setting.key} = {str(default).lower()}"
