"""All exceptions, grouped by what a caller can do about them. What a site does is a verdict, never an exception.

SiteloreError
├── UsageError            the request is impossible: exit 2
│   ├── BadUrl            not an http(s) URL
│   ├── BadConfig         a configuration file with an unknown key or a wrong value
│   ├── NoSuchRun         no run of that name in this data directory
│   ├── Conflict          it contradicts what is stored
│   └── NotPermitted      the caller lacks the permission
├── StorageError          the data directory or database cannot be used: exit 3
│   ├── DataDirBusy       another process is crawling into this data directory
│   ├── CorruptData       the database is damaged
│   ├── DiskFull          no space left, or no permission to write
│   └── VectorsUnavailable  the vector store is unavailable: keyword search continues, missed updates are made later
├── Interrupted           the user stopped it; everything settled is kept: exit 11
├── OutOfTime             the run's time limit has passed: exit 15
├── SessionEnded          the crawl was logged out of its site; it continues after a new login: exit 11
├── LoginFailed           `sitelore login` did not get into the site
├── CrawlFailed           a crawl of the Python API failed or kept no page
├── ExtractionFailed      no document could be extracted from a page
├── ReaderCrashed         a document crashed its extraction process or exceeded the time limit
└── EmbeddingFailed       embedding is unavailable: keyword search continues, the texts wait
    └── TextsRefused      the model refuses these texts; others may work
"""

from __future__ import annotations


class SiteloreError(Exception):
    """Base of all exceptions of this package. `exit_code` is the exit code of a command."""

    exit_code = 1


class UsageError(SiteloreError):
    """The request is impossible."""

    exit_code = 2


class BadUrl(UsageError):
    """Not an http(s) URL."""


class BadConfig(UsageError):
    """A configuration file with an unknown key or a wrong value."""


class NoSuchRun(UsageError):
    """No run of that name in this data directory."""


class Conflict(UsageError):
    """The request contradicts what is stored."""


class NotPermitted(UsageError):
    """The caller lacks the permission."""


class StorageError(SiteloreError):
    """The data directory or database cannot be used."""

    exit_code = 3


class DataDirBusy(StorageError):
    """Another process is crawling into this data directory."""


class CorruptData(StorageError):
    """The database is damaged."""


class DiskFull(StorageError):
    """No space left, or no permission to write."""


class VectorsUnavailable(StorageError):
    """The vector store is unavailable: keyword search continues, missed updates are made later."""


class Interrupted(SiteloreError):
    """The user stopped it; everything settled is kept."""

    exit_code = 11


class OutOfTime(SiteloreError):
    """The run's time limit has passed."""

    exit_code = 15


class SessionEnded(SiteloreError):
    """The crawl was logged out of its site; it continues after a new login."""

    exit_code = 11


class LoginFailed(SiteloreError):
    """`sitelore login` did not get into the site."""


class CrawlFailed(SiteloreError):
    """A crawl of the Python API failed or kept no page."""


class ExtractionFailed(SiteloreError):
    """No document could be extracted from a page."""


class ReaderCrashed(SiteloreError):
    """A document crashed its extraction process or exceeded the time limit."""


class EmbeddingFailed(SiteloreError):
    """Embedding is unavailable: keyword search continues, the texts wait."""


class TextsRefused(EmbeddingFailed):
    """The model refuses these texts; others may work."""
