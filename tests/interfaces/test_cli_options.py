from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sitelore.app.config.domain_rules import read_domain_config
from sitelore.app.config.plans import crawl_plans
from sitelore.app.config.sources import typed_values
from sitelore.model.errors import BadConfig, BadUrl, UsageError
from sitelore.model.settings import (
    CrawlSettings,
    Identity,
    Loader,
    Overrides,
    QueryForm,
    Rendering,
    RenderMode,
    SlashForm,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("24h", 86400), ("7d", 604800), ("1h30m", 5400), ("0.5h", 1800), ("2w", 1209600)],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text, "--ttl") == seconds


@pytest.mark.parametrize("text", ["", "24", "h", "-1h", "1y", "1h 30", "soon"])
def test_an_invalid_duration_is_named_in_the_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"--ttl: invalid duration .* \(use 90s, 30m, 24h or 7d\)"):
        parse_duration(text, "--ttl")


EXAMPLE = "https://example.com"


def planned(*urls: str, domain_config: Path | None = None, **options: Any) -> CrawlSettings:
    """The settings of `sitelore crawl` with these options, as typed."""
    [plan] = crawl_plans(urls, typed_values(options), domain_config=domain_config)
    return plan.settings


def test_only_origins_of_typed_urls_are_open() -> None:
    settings = planned("http://localhost:8000/a", sitemaps=["http://10.0.0.1/sitemap.xml"])
    assert settings.seeds == ("http://localhost:8000/a",)
    assert settings.open_origins == ("http://localhost:8000", "http://10.0.0.1")
    assert settings.allow_private == ()


def test_a_crawl_needs_a_seed() -> None:
    with pytest.raises(UsageError, match="needs a URL, a --sitemap or --resume"):
        crawl_plans((), {})
    [plan] = crawl_plans((), {}, resume=True)
    assert plan.settings.seeds == ()


def test_a_file_path_is_not_a_url() -> None:
    with pytest.raises(BadUrl):
        planned("./site/index.html")


def test_rendering_options_become_settings_of_the_run() -> None:
    settings = planned(EXAMPLE, render="always", screenshots=True)
    assert settings.rendering == Rendering(mode=RenderMode.ALWAYS, screenshots=True)
    assert planned(EXAMPLE).rendering == Rendering()


@pytest.mark.parametrize("agent", ["", "a\r\nb: c", "naïve"])
def test_a_user_agent_cannot_inject_headers(agent: str) -> None:
    with pytest.raises(UsageError, match="--user-agent"):
        planned(EXAMPLE, user_agent=agent)


@pytest.mark.parametrize("text", ["10.0.0.0/99", "x/y", "a b", ""])
def test_an_invalid_private_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--allow-private"):
        planned(EXAMPLE, allow_private=[text])


def test_private_addresses_are_named_by_host_network_or_any() -> None:
    settings = planned(EXAMPLE, allow_private=["Wiki:8080", "10.1.2.3/8", "any", "[::1]:80"])
    assert settings.allow_private == ("wiki:8080", "10.0.0.0/8", "any", "[::1]:80")


def test_a_domain_config_is_one_object_or_a_list_in_json_or_yaml(tmp_path: Path) -> None:
    rules = {"domain": "Example.com", "mainContentSelectors": ["main"], "removeSelectors": [".ad"]}
    single, many = tmp_path / "one.json", tmp_path / "many.yaml"
    single.write_text(json.dumps(rules))
    many.write_text("- domain: example.com\n  mainContentSelectors: [main]\n  removeSelectors: [.ad]\n- domain: b.example\n")
    expected = Overrides("example.com", ("main",), (".ad",))
    assert read_domain_config(single) == (expected,)
    assert read_domain_config(many) == (expected, Overrides("b.example"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            '{"domain": "a", "mainSelectors": []}',
            r"site.json: unknown key 'mainSelectors' \(did you mean 'mainContentSelectors'\?\); known keys are domain, main",
        ),
        ('{"domain": "a", "x": []}', "unknown key 'x'; known keys are"),
        ('{"mainContentSelectors": ["main"]}', "the key domain is missing; it must be a host name"),
        ('{"domain": "https://example.com/x"}', r"domain must be a host name .* \(did you mean example.com\?\)"),
        ('{"domain": 5}', "domain must be a host name such as example.com, not 5"),
        ('{"domain": "a", "removeSelectors": ".x"}', "removeSelectors must be a list of CSS selectors, not text"),
        ('{"domain": "a", "removeSelectors": [".x", 5]}', "removeSelectors, item 2: 5 is not a CSS selector"),
        (
            '{"domain": "a", "mainContentSelectors": ["main", "div..x"]}',
            "mainContentSelectors, item 2: 'div..x' is not a CSS selector: expected an identifier at position 4",
        ),
        ('[{"domain": "a"}, {"domain": "b", "removeSelectors": ["//div"]}]', "entry 2: removeSelectors, item 1: '//div'"),
        ('[{"domain": "a"}, {"domain": "A."}]', "entry 2: domain a is already in entry 1"),
        (
            '{"domain": "a", "identity": {"slash": "sometimes"}}',
            "identity.slash must be one of keep, add, strip, not 'sometimes'",
        ),
        ('{"domain": "a", "render": "sometimes"}', "render must be one of auto, never, always, not 'sometimes'"),
        ('{"domain": "a", "identity": {"forceHttps": "yes please"}}', "identity.forceHttps must be true or false"),
        ('{"domain": "a", "identity": {"case": true}}', "unknown key 'case' in identity"),
        ('{"domain": "a", "loaders": {}}', "loaders must be a list of objects, not an object"),
        ('{"domain": "a", "loaders": [{"link": 1}]}', "unknown key 'link' in loaders, item 1"),
        ('{"domain": "a", "loaders": [{"url": "x y"}]}', "loaders, item 1: url must be an absolute"),
        ('{"domain": "a", "loaders": [{"url": "/x"}]}', "loaders, item 1: text must be a list of paths"),
        ('{"domain": "a", "loaders": [{"url": "/x", "text": "t", "record": "{id}"}]}', "record must contain the fixed part"),
        ('{"domain": "a", "loaders": [{"url": "/x", "text": "t", "page": "/x"}]}', "page must be a template"),
        ('{"domain": "a", "loaders": [{"url": "/x", "text": "t", "next": "a..b"}]}', "next must be a path"),
        (
            '{"domain": "a", "loaders": [{"url": "/g", "text": "t", "query": "{__schema{a}}"}]}',
            "query: introspection is allowed only",
        ),
        ('{"domain": "a", "loaders": [{"url": "/g", "text": "t", "query": "mutation{a}"}]}', "query: only queries are sent"),
        ('{"domain": "a", "own": "yes"}', "own must be true or false"),
        ('{"domain": "a", "identity": {"Slash": "add"}}', r"did you mean 'slash'"),
        ('{"domain": "a", "domain": "b"}', "key 'domain' appears twice"),
        ("a: &x [1]\nb: *x", "aliases are not allowed"),
        ("[" * 5000, "nested too deeply|neither JSON nor YAML"),
        ("[1]", "entry 1 must contain an object, .* it contains a number"),
        ("[]", "is an empty list"),
        ("{", "neither JSON nor YAML"),
        ("", "must contain an object"),
    ],
)
def test_an_invalid_domain_config_names_the_problem(content: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "site.json"
    path.write_text(content)
    with pytest.raises(BadConfig, match=sentence):
        read_domain_config(path)


def test_a_domain_config_can_set_identity_options(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text("domain: example.com\nidentity: {forceHttps: true, slash: strip, query: sort}\nrender: never\n")
    settings = planned(EXAMPLE, domain_config=path)
    assert settings.identity == Identity(force_https=True, slash=SlashForm.STRIP, query=QueryForm.SORT)
    assert [rules.render for rules in settings.overrides] == [RenderMode.NEVER]


def test_a_domain_config_can_declare_api_collections(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(
        "domain: example.com\nown: true\nloaders:\n- {url: /api/posts, record: '/api/posts/{id}', text: [body, more.text]}\n"
        "- {url: 'https://api.example.com/g', query: '{ __schema { types { name } } }', text: name, variables: {n: 5}}\n"
    )
    settings = planned(EXAMPLE, domain_config=path)
    [rules] = settings.overrides
    assert rules.loaders[0] == Loader("https://example.com/api/posts", record="/api/posts/{id}", text=("body", "more.text"))
    assert (rules.loaders[1].variables, rules.own) == ('{"n":5}', True)
    assert settings.open_origins == ("https://example.com", "https://api.example.com")


def test_a_missing_domain_config_gives_a_one_line_error(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="cannot read"):
        read_domain_config(tmp_path / "none.json")
