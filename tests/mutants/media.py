"""Faults in media: formats, compression, metadata, drawings."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_METADATA = ("tests/unit/media/test_metadata.py",)
_SVG = ("tests/unit/media/test_svg.py",)
_COMPRESSION = ("tests/unit/media/test_compression.py",)
_FORMATS = ("tests/unit/media/test_formats.py",)

MUTANTS = (
    Mutant(
        "place-stays-in-photos",
        "media/metadata.py",
        "if marker != _COMMENT and not (_APP0 <= marker <= _APP15 and not _is_kept_app(marker, body)):",
        "if marker != _COMMENT:",
        "The place where a photo was taken is stored.",
        _METADATA,
    ),
    Mutant(
        "orientation-lost",
        "media/metadata.py",
        "    if orientation > 1:\n        body",
        "    if orientation > 8:\n        body",
        "Photos lie on their side.",
        _METADATA,
    ),
    Mutant(
        "appended-file-stays",
        "media/metadata.py",
        "        if marker == _EOI:\n            return\n",
        "",
        "A second file behind an image is stored with its metadata.",
        _METADATA,
    ),
    Mutant(
        "colour-profile-dropped", "media/metadata.py", '0xE2: b"ICC_PROFILE\\0", ', "", "Colours of photos change.", _METADATA
    ),
    Mutant(
        "handlers-of-drawings-stay",
        "media/svg.py",
        ' or local.lower().startswith("on"):',
        ":",
        "A drawing that is opened alone runs scripts.",
        _SVG,
    ),
    Mutant(
        "external-references-stay",
        "media/svg.py",
        'return value.strip().startswith("#") or _INLINE_IMAGE.match(value) is not None',
        "return True",
        "A drawing loads files from other servers.",
        _SVG,
    ),
    Mutant(
        "entities-are-expanded",
        "media/svg.py",
        "if _DECLARED.search(data):",
        "if not data:",
        "A drawing of a kilobyte takes gigabytes.",
        _SVG,
    ),
    Mutant(
        "larger-file-is-stored",
        "media/compression.py",
        "if len(saved) < len(data):",
        "if saved:",
        "An image that compression makes larger is stored in the larger form.",
        _COMPRESSION,
    ),
    Mutant(
        "pixel-bomb-is-decoded",
        "media/compression.py",
        "if width * height > MAX_PIXELS:",
        "if width * height < 0:",
        "A small file takes gigabytes of memory.",
        _COMPRESSION,
    ),
    Mutant(
        "truncated-images-accepted",
        "media/compression.py",
        '"fail_on=error"}',
        '"fail_on=none"}',
        "Half an image is stored as if it were complete.",
        _COMPRESSION,
    ),
    Mutant(
        "webp-taken-for-avi",
        "media/formats.py",
        'if body[:4] == b"RIFF":',
        'if body[:4] == b"RIFX":',
        "WebP images and AVI videos are not recognised.",
        _FORMATS,
    ),
)
