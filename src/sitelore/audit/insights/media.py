"""Insight about media: sizes before and after compression, the largest savings, use on pages, missing alternative texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sitelore.audit.site import Site
from sitelore.model.audit.findings import MediaFile

TOP = 20


@dataclass(frozen=True, slots=True)
class MediaSavings:
    """The media of a site. Without downloaded media only images and their alternative texts are counted."""

    files: int
    original_bytes: int
    stored_bytes: int
    """After compression, by the settings for images."""
    by_type: dict[str, tuple[int, int, int]]
    """Files, bytes before and bytes after compression, by media type."""
    top: tuple[tuple[str, int, int], ...]
    """The files that compression makes smaller by most bytes: URL, bytes before, bytes after."""
    most_used: tuple[tuple[str, int], ...]
    """URL and number of pages that show it."""
    unused: tuple[tuple[str, int], ...]
    """Stored files that no page of the run shows, with their bytes."""
    images: int
    """Images on pages, each place counted."""
    without_alt: int


def media_savings(site: Site) -> MediaSavings:
    """What compression saves, and how the media of a site are used."""
    files = [each for each in site.media.values() if each.status == 200 and each.detected_type]
    sizes: dict[str, tuple[int, int, int]] = {}
    for each in files:
        count, before, after = sizes.get(each.detected_type, (0, 0, 0))
        sizes[each.detected_type] = count + 1, before + each.size, after + _stored(each)
    savings = sorted((each for each in files if each.smaller_size), key=lambda each: (_stored(each) - each.size, each.url))
    uses = Counter(url for page in site.html_pages for url in {*(image.url for image in page.images), *page.files})
    used = sorted(((each.url, uses[each.url]) for each in files if uses[each.url] > 1), key=lambda pair: (-pair[1], pair[0]))
    unused = sorted(((each.url, each.size) for each in site.unused_media), key=lambda pair: (-pair[1], pair[0]))
    return MediaSavings(
        files=len(files),
        original_bytes=sum(each.size for each in files),
        stored_bytes=sum(map(_stored, files)),
        by_type=dict(sorted(sizes.items(), key=lambda item: -item[1][1])),
        top=tuple((each.url, each.size, _stored(each)) for each in savings[:TOP]),
        most_used=tuple(used[:TOP]),
        unused=tuple(unused),
        images=sum(page.image_count for page in site.html_pages),
        without_alt=sum(page.images_without_alt for page in site.html_pages),
    )


def _stored(file: MediaFile) -> int:
    return file.smaller_size or file.size
