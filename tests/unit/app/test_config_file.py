"""`sitelore.toml`: what a crawl takes from it, and the line that an error names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sitelore.app.access import AccessOptions, SiteOptions, build_access
from sitelore.app.config.catalogue import settings_in_files
from sitelore.app.config.file import ConfigFile, line_of, lines_of, read_config
from sitelore.app.config.plans import crawl_plans, find_config, plan_access, values_in_force
from sitelore.app.config.reference import access_in_force, in_force, outputs_in_force, template
from sitelore.app.config.sources import plain, run_settings, set_values, typed_values
from sitelore.fetch.access import RunAccess
from sitelore.model.errors import BadConfig, UsageError
from sitelore.model.settings import RenderMode, Scope
from sitelore.model.url import Url

EXAMPLE = """\
[crawl]
max_pages = 500
limits.body_bytes = "10MB"
concurrency = 3

[[site]]
url = "https://docs.example.com/manual/"
scope = "prefix"
delay = 2
main_content_selectors = [
  "article",
  "main",
]
auth = "env:DOCS_AUTH"
headers = {X-Key = "env:DOCS_KEY"}

[[site.loaders]]
url = "/api/posts"
text = ["body"]

[[site]]
domain = "example.com"
render = "never"
max_pages = 7

[access]
no_proxy = ["intranet.example.com"]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sitelore.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def example(tmp_path: Path) -> ConfigFile:
    return read_config(written(tmp_path, EXAMPLE))


def test_the_site_that_describes_a_url_most_closely_adds_to_the_defaults(example: ConfigFile) -> None:
    [plan] = crawl_plans(["https://docs.example.com/manual/start"], {}, example)
    settings = plan.settings
    assert (settings.scope, settings.max_pages, settings.pace.delay_s) == (Scope.PREFIX, 500, 2.0)
    assert (settings.limits.body_bytes, settings.pace.concurrency, settings.pace.per_host) == (10_000_000, 3, 3)
    assert settings.overrides[0].main_content_selectors == ("article", "main")
    assert settings.overrides[0].loaders[0].url == "https://docs.example.com/api/posts"


def test_a_domain_is_for_its_hosts_and_a_stranger_gets_the_defaults(example: ConfigFile) -> None:
    [other] = crawl_plans(["https://docs.example.com/elsewhere"], {}, example)
    assert (other.settings.max_pages, other.settings.rendering.mode) == (7, RenderMode.NEVER)
    [stranger] = crawl_plans(["https://notexample.com/"], {}, example)
    assert (stranger.settings.max_pages, stranger.settings.rendering.mode) == (500, RenderMode.AUTO)


def test_options_win_over_the_file_and_each_value_knows_its_source(example: ConfigFile) -> None:
    seeds = ("https://docs.example.com/manual/",)
    typed = {**typed_values({"max_pages": "9"}), **set_values(["max_retries=5"])}
    values = values_in_force(seeds, typed, example)
    rows = {name: (value, source) for name, value, source in in_force(run_settings(plain(values) | {"seeds": seeds}), values)}
    assert rows["max_pages"] == (9, "--max-pages")
    assert rows["max_retries"] == (5, "--set max_retries")
    assert rows["limits.body_bytes"] == (10_000_000, f"{example.path}:3")
    assert rows["pace.per_host"] == (3, f"{example.path}:4")
    assert rows["scope"] == (Scope.PREFIX, f"{example.path}:8")
    assert rows["max_depth"] == (None, "default")
    assert rows["open_origins"] == (("https://docs.example.com",), "URL")


def test_without_a_url_every_site_with_a_url_is_crawled(example: ConfigFile) -> None:
    plans = crawl_plans((), {}, example)
    assert [plan.settings.seeds for plan in plans] == [("https://docs.example.com/manual/",)]


def test_only_sites_whose_schedule_has_fired_are_due(tmp_path: Path) -> None:
    text = '[[site]]\nurl = "https://{0}.example/"\n{1}\n'
    sites = [
        ("never", 'schedule = "0 0 1 1 *"'),
        ("recent", 'schedule = "0 0 29 2 *"'),
        ("old", 'schedule = "0 0 1 1 *"'),
        ("unplanned", ""),
    ]
    config = read_config(written(tmp_path, "".join(text.format(*site) for site in sites)))
    future = 4_000_000_000.0
    plans = crawl_plans((), {}, config, starts={"recent.example": future, "old.example": 1.0})
    assert [plan.settings.seeds[0] for plan in plans] == ["https://never.example/", "https://old.example/"]


def test_secrets_come_from_the_environment(example: ConfigFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS_KEY", "key-1")
    with pytest.raises(BadConfig, match="line 14: auth: the environment variable DOCS_AUTH is not set"):
        example.access_options()
    monkeypatch.setenv("DOCS_AUTH", "ann:password")
    access = build_access(example.access_options())
    assert dict(access.origins["https://docs.example.com"].headers) == {
        "X-Key": "key-1",
        "Authorization": "Basic YW5uOnBhc3N3b3Jk",
    }
    assert access.proxies.bypass == ("intranet.example.com",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[crawl]\n\nmax_page = 5", "line 3: unknown setting 'max_page' (did you mean 'max_pages'?)"),
        ("[crawl]\nmax_pages = 0", "line 2: max_pages: invalid number 0 (use a whole number from 1 to 1,000,000,000)"),
        ('[crawl]\nmax_pages = "5"', "line 2: max_pages: invalid number '5' (use a whole number from 1 to 1,000,000,000)"),
        ("[crawl.limits]\n\nbody_byte = 5", "line 3: unknown setting 'limits.body_byte' (did you mean"),
        ('[crawl]\nttl = "24"', "line 2: ttl: invalid duration '24' (use 90s, 30m, 24h or 7d)"),
        ('[crawl]\ninclude = [\n"/a",\n5]', "line 2: include: invalid pattern 5 (use a path such as /docs/"),
        ("[crawl]\nseeds = []", "line 2: unknown setting 'seeds'"),
        ("[crawls]\n", "line 1: unknown table 'crawls' (use [crawl], [[site]] and [access])"),
        ('site = "x"', "line 1: site must be an array of tables (use [[site]])"),
        ("[[site]]\nmax_pages = 5", "line 1: a site needs either url (to crawl it) or domain (for its settings)"),
        ('[[site]]\nurl = "ftp://x/"', "line 2: url: 'ftp://x/' has the scheme ftp; only http and https can be crawled"),
        ('[[site]]\nurl = "x.org"\n[[site]]\nurl = "y.org"\nscope = "all"', "line 5: scope: invalid value 'all'"),
        ('[[site]]\nurl = "x.org"\n[[site]]\nurl = "https://x.org/"', "line 3: https://x.org/ is already a site"),
        ('[[site]]\ndomain = "x.org"\nremove_selectors = ["div..x"]', "line 3: remove_selectors, item 1: 'div..x' is not a"),
        ('[[site]]\nurl = "x.org"\nremove_selector = ["x"]', "line 3: unknown setting 'remove_selector'"),
        ('[[site]]\nurl = "x.org"\nschedule = "daily"', "line 3: schedule: invalid cron line 'daily'"),
        ('[[site]]\nurl = "x.org"\nbearer = "secret-1"', "line 3: bearer: invalid value (use env:NAME"),
        ('[access]\nproxy = "http://ann:pw@proxy:1"', "line 2: proxy: a proxy with a password must be env:NAME"),
        ('[[site]]\nurl = "https://ann:secret-1@x.org/"', "line 2: url: the URL contains credentials; set auth for the site"),
        ('[crawl]\nsitemaps = ["https://ann:secret-1@x.org/a.xml"]', "line 2: sitemaps: the URL contains credentials"),
        ('[crawl]\noutput = ["pdf"]', "line 2: output: invalid value 'pdf' (use db, md, json, "),
        ('[[site]]\nurl = "x.org"\n\nlinks = "none at all"', "line 4: links: invalid value 'none at all' (use absolute, "),
        ('[[site]]\nurl = "x.org"\nlogged_out = {text = ""}', "line 3: logged_out.text must be text, not ''"),
        ('[[site]]\nurl = "x.org"\n[[site.actions]]\nhover = "#a"', "line 3: actions, item 1 must be an object with one of"),
        ("[access]\nproxies = []", "line 2: unknown key 'proxies' in [access]"),
        ("[crawl]\nmax_pages 5", "line 2: not valid TOML: Expected '=' after a key in a key/value pair"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_and_setting(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadConfig) as caught:
        read_config(path)
    assert f"{path}, {message}" in str(caught.value)
    assert "secret-1" not in str(caught.value)


def test_the_file_of_the_working_directory_is_used_unless_another_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_config(None) is None
    written(tmp_path, "[crawl]\nmax_pages = 1")
    other = tmp_path / "other.toml"
    other.write_text("[crawl]\nmax_pages = 2")
    assert plain(find_config(None).values) == {"max_pages": 1}  # type: ignore[union-attr]
    monkeypatch.setenv("SITELORE_CONFIG", str(other))
    assert plain(find_config(None).values) == {"max_pages": 2}  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="cannot read"):
        find_config(tmp_path / "none.toml")


def test_the_commented_file_is_valid_and_names_every_setting_with_a_valid_value(tmp_path: Path) -> None:
    text = template("https://example.com/docs/")
    commented = read_config(written(tmp_path, text))
    assert (commented.values, [site.url for site in commented.sites]) == ({}, ["https://example.com/docs/"])
    settings = "\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line and "=   #" not in line)
    before, _, _ = settings.partition("url = ")
    used = read_config(written(tmp_path, f"[crawl]\n{before}"))
    assert run_settings(plain(used.values)) == run_settings({})
    assert [own.key for own in settings_in_files() if f"\n# {own.key} =" not in text] == []


def test_lines_are_those_of_keys_in_tables_arrays_and_values_of_several_lines() -> None:
    text = 'a = """\n[b]\nc = 1\n"""\n[b.c]\nd = [\n1,\n2]\n"e.f".g = 1\n[[h]]\n[[h]]\ni = {j = 1}\n[[h.k]]\nl = 1\n'
    lines = lines_of(text)
    expected = {("a",): 1, ("b", "c", "d"): 6, ("b", "c", "e.f", "g"): 9, ("h", 1, "i", "j"): 12, ("h", 1, "k", 0, "l"): 14}
    assert {path: line_of(lines, path) for path in expected} == expected
    assert line_of(lines, ("h", 1, "unknown")) == 11


OUTPUTS = """\
[crawl]
output = "jsonl"
links = "text"

[[site]]
url = "https://docs.example.com/"
output = ["md", "warc"]
out = "files"
bearer = "env:DOCS_TOKEN"

[[site.actions]]
load_more = "button.more"
times = 3

[site.logged_out]
url = "/login"

[access]
no_proxy = ["intranet.example.com"]
"""


def test_files_actions_and_access_come_from_the_site_of_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = read_config(written(tmp_path, OUTPUTS))
    [docs] = crawl_plans(["https://docs.example.com/a"], {}, config)
    [other] = crawl_plans(["https://example.org/"], {}, config)
    assert plain(docs.outputs) == {"output": ("md", "warc"), "links": "text", "out": str(tmp_path / "files")}
    assert plain(other.outputs) == {"output": ("jsonl",), "links": "text"}
    [rules] = docs.settings.overrides
    assert (rules.actions[0].times, rules.logged_out.url) == (3, "/login")
    where = f"{config.path}:"
    shown = outputs_in_force(config.outputs_for(Url.trusted("https://docs.example.com/a")))
    assert shown[0] == ("output", "md, warc", f"{where}7")
    assert shown[3] == ("index", "true", "default")
    monkeypatch.delenv("DOCS_TOKEN", raising=False)
    access = access_in_force(config.access_for(Url.trusted("https://docs.example.com/a")))
    assert access == [
        ("bearer", "env:DOCS_TOKEN (not set)", f"{where}9"),
        ("no_proxy", "intranet.example.com", f"{where}19"),
    ]


def test_options_win_over_the_access_file_which_wins_over_the_configuration_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "of-the-file")
    config = read_config(written(tmp_path, '[[site]]\nurl = "https://x.org/"\nheaders = {X-Key = "env:KEY"}\n'))
    access = tmp_path / "access.toml"
    access.write_text('[origins."https://x.org"]\nheaders = {X-Key = "of-the-access-file"}\n')
    access.chmod(0o600)
    [plan] = crawl_plans(["https://x.org/"], {}, config)

    def sent(options: AccessOptions, file: Path | None) -> str:
        run = RunAccess(plan_access(options, file, plan), plan.settings)
        return run.apply(Url.trusted("https://x.org/"), {})["X-Key"]

    assert sent(AccessOptions(), None) == "of-the-file"
    assert sent(AccessOptions(), access) == "of-the-access-file"
    assert sent(AccessOptions(SiteOptions(headers=["X-Key: of-the-option"])), access) == "of-the-option"
