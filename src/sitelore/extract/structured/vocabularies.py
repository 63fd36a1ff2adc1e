"""The names of schema.org and its neighbours, known without a network.

A name of schema.org is kept short (`Product`, `name`), whichever of its many addresses a page writes it under; a name of
another vocabulary is kept as its whole address.
"""

from __future__ import annotations

import re
from functools import lru_cache

SCHEMA = "https://schema.org/"
PREFIXES = {
    "schema": SCHEMA,
    "as": "https://www.w3.org/ns/activitystreams#",
    "brick": "https://brickschema.org/schema/Brick#",
    "cc": "http://creativecommons.org/ns#",
    "csvw": "http://www.w3.org/ns/csvw#",
    "ctag": "http://commontag.org/ns#",
    "dc": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/",
    "dcam": "http://purl.org/dc/dcam/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcmitype": "http://purl.org/dc/dcmitype/",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "doap": "http://usefulinc.com/ns/doap#",
    "dqv": "http://www.w3.org/ns/dqv#",
    "duv": "http://www.w3.org/ns/duv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "grddl": "http://www.w3.org/2003/g/data-view#",
    "gs1": "https://ref.gs1.org/voc/",
    "ical": "http://www.w3.org/2002/12/cal/icaltzd#",
    "ldp": "http://www.w3.org/ns/ldp#",
    "ma": "http://www.w3.org/ns/ma-ont#",
    "oa": "http://www.w3.org/ns/oa#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "og": "http://ogp.me/ns#",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prof": "http://www.w3.org/ns/dx/prof/",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfa": "http://www.w3.org/ns/rdfa#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "rev": "http://purl.org/stuff/rev#",
    "rif": "http://www.w3.org/2007/rif#",
    "rr": "http://www.w3.org/ns/r2rml#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sh": "http://www.w3.org/ns/shacl#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "unece": "http://unece.org/vocab#",
    "v": "http://rdf.data-vocabulary.org/#",
    "vann": "http://purl.org/vocab/vann/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#",
    "wdr": "http://www.w3.org/2007/05/powder#",
    "wdrs": "http://www.w3.org/2007/05/powder-s#",
    "xhv": "http://www.w3.org/1999/xhtml/vocab#",
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""The initial context of RDFa 1.1, and what the context of schema.org adds."""

_LONGEST = 200  # what is longer is no name, and not worth remembering
_SCHEMA_NAME = re.compile(r"(?:https?:)?/*(?:[a-z0-9-]+\.)*schema\.org/+(?:#?)([A-Za-z][\w-]*)/?", re.IGNORECASE)
_SCHEMA_ROOT = re.compile(
    r"(?:https?:)?/*(?:[a-z0-9-]+\.)*schema\.org(?:/*#?|/+docs/jsonldcontext\.json(?:ld)?|/+version/[\w./-]*)", re.IGNORECASE
)


def is_schema(address: str) -> bool:
    """Whether an address stands for the whole of schema.org: as a context, a vocabulary or a prefix."""
    return address == SCHEMA or (len(address) < _LONGEST and _is_schema(address))


@lru_cache(maxsize=64)
def _is_schema(address: str) -> bool:
    return _SCHEMA_ROOT.fullmatch(address.strip()) is not None


def short(address: str) -> str:
    """A name of schema.org without its address; any other as it is."""
    return _short(address) if len(address) < _LONGEST else address


@lru_cache(maxsize=512)
def _short(address: str) -> str:
    found = _SCHEMA_NAME.fullmatch(address)
    return found[1] if found is not None else address


def joined(vocabulary: str, name: str) -> str:
    """A name of a vocabulary, short where it is schema.org's."""
    return name.lstrip("/#") if is_schema(vocabulary) else short(vocabulary + name)


def unprefixed(name: str, prefixes: dict[str, str]) -> str | None:
    """What `prefix:name` stands for, short where it is schema.org's; None when nothing says what the prefix is."""
    prefix, _, rest = name.partition(":")
    if rest.startswith("//"):
        return short(name)
    if (address := prefixes.get(prefix)) is None and (address := PREFIXES.get(prefix.lower())) is None:
        return None
    return joined(address, rest)
