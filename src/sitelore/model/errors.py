"""What may be raised, grouped by what a caller can do about it. What a site does is a verdict, never an exception.

SiteloreError
├── UsageError            the person asked for something impossible: say so, exit 2
│   ├── BadUrl            not an http(s) URL
│   ├── BadConfig         a configuration file with an unknown key or a wrong value
│   └── NoSuchRun         no run of that name in this data directory
├── StorageError          the data directory or database cannot be used: exit 3
│   ├── DataDirBusy       another process is crawling into this data directory
│   ├── CorruptData       the database is damaged
│   ├── DiskFull          no room left, or no permission to write
│   └── VectorsAway       the vector store cannot be used now: search goes on by words, what it missed is made up for later
├── Interrupted           the person stopped it; everything settled is kept: exit 11
├── OutOfTime             the run's time limit has passed: exit 15
├── ReaderCrashed         one document ended or outlasted its reading process
└── EmbeddingFailed       no vectors can be made now: search goes on by words, the texts wait
    └── TextsRefused      of these texts; others may do
"""

from __future__ import annotations


class SiteloreError(Exception):
    """Base of all errors raised by this package. `exit_code` is what a shell sees."""

    exit_code = 1


class UsageError(SiteloreError):
    """The person asked for something impossible."""

    exit_code = 2


class BadUrl(UsageError):
    """Not an http(s) URL."""


class BadConfig(UsageError):
    """A configuration file with an unknown key or a wrong value."""


class NoSuchRun(UsageError):
    """No run of that name in this data directory."""


class StorageError(SiteloreError):
    """The data directory or database cannot be used."""

    exit_code = 3


class DataDirBusy(StorageError):
    """Another process is crawling into this data directory."""


class CorruptData(StorageError):
    """The database is damaged."""


class DiskFull(StorageError):
    """No room left, or no permission to write."""


class VectorsAway(StorageError):
    """The vector store cannot be used now: search goes on by words, what it missed is made up for later."""


class Interrupted(SiteloreError):
    """The person stopped it; everything settled is kept."""

    exit_code = 11


class OutOfTime(SiteloreError):
    """The run's time limit has passed."""

    exit_code = 15


class ReaderCrashed(SiteloreError):
    """One document ended or outlasted its reading process."""


class EmbeddingFailed(SiteloreError):
    """No vectors can be made now: search goes on by words, the texts wait."""


class TextsRefused(EmbeddingFailed):
    """No vectors are made of these texts; others may do."""
