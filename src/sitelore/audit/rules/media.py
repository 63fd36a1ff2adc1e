"""Rules about images and files. All but one need the records of downloaded media."""

from __future__ import annotations

from collections.abc import Iterator

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable, listed
from sitelore.audit.site import PageSummary, Site
from sitelore.model.audit.findings import MediaFile, Severity

TABLE = RuleTable()

_KB = 1024
_IMAGE_FAMILY = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "image/svg": "image/svg+xml",
}
_VAGUE = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_DOCUMENTS = ("application/pdf", "application/vnd.", "application/msword")


def _image_uses(site: Site) -> dict[str, list[PageSummary]]:
    """The pages that show each image of which a record exists."""
    uses: dict[str, list[PageSummary]] = {}
    for page in site.html_pages:
        for image in page.images:
            if image.url in site.media:
                uses.setdefault(image.url, []).append(page)
    return uses


def _shared(site: Site) -> Iterator[tuple[MediaFile, list[str]]]:
    """Yield each image with the pages that show it."""
    for url, pages in sorted(_image_uses(site).items()):
        yield site.media[url], list(dict.fromkeys(str(page.url) for page in pages))


@TABLE.site(
    "image-broken",
    Group.MEDIA,
    Severity.ERROR,
    (Needs.MEDIA,),
    identity=("src",),
    title="Image is broken",
    explanation="The image answers with an error, is empty, or cannot be decoded. Readers see a gap.",
    fix="Restore the image, or remove it from the page.",
)
def _image_broken(site: Site, _: Limits) -> Iterator[Hit]:
    for file, pages in _shared(site):
        is_missing = file.status == 0 or file.status >= 400
        problem = (
            "no answer or error" if is_missing else "empty" if not file.size else "" if file.is_readable else "not decodable"
        )
        for url in pages if problem else ():
            yield Hit({"src": file.url, "status": file.status, "problem": problem, "pages": len(pages)}, url)


@TABLE.site(
    "image-heavy",
    Group.MEDIA,
    Severity.NOTICE,
    (Needs.MEDIA,),
    thresholds={"max_kb": 200, "warning_kb": 1024},
    title="Large image file",
    explanation="The file is so large that the page loads slowly on phones.",
    fix="Scale it to the size in which it is shown, and save it as WebP or AVIF.",
)
def _image_heavy(site: Site, limits: Limits) -> Iterator[Hit]:
    for file, pages in _shared(site):
        if file.status < 400 and file.size > limits["max_kb"] * _KB:
            severity = Severity.WARNING if file.size > limits["warning_kb"] * _KB else None
            sizes = {"bytes": file.size, "width": file.width, "height": file.height, "smaller_bytes": file.smaller_size}
            yield Hit({**sizes, **listed("pages", pages)}, file.url, severity)


@TABLE.site(
    "image-too-wide",
    Group.MEDIA,
    Severity.NOTICE,
    (Needs.MEDIA,),
    identity=("src",),
    thresholds={"times": 2, "min_width": 1000},
    title="Image is larger than it is shown",
    explanation="The image has more than twice as many pixels in width as the page shows.",
    fix="Offer smaller versions with srcset, or scale the file.",
)
def _image_too_wide(site: Site, limits: Limits) -> Iterator[Hit]:
    for page in site.html_pages:
        for image in page.images:
            file = site.media.get(image.url)
            if file is not None and image.width and file.width > max(limits["times"] * image.width, limits["min_width"]):
                yield Hit({"src": image.url, "width": file.width, "shown": image.width, "bytes": file.size}, page.url)


@TABLE.page(
    "image-no-dimensions",
    Group.SPEED,
    Severity.NOTICE,
    thresholds={"min_images": 1},
    title="Images without width and height",
    explanation="Without width and height in the markup, the text jumps while images load.",
    fix="Add both attributes to the images.",
)
def _image_no_dimensions(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    images = [
        each.src for each in page.facts.images if not (each.width and each.height) and each.src and not each.is_presentation
    ]
    if len(images) >= limits["min_images"]:
        yield Hit({"count": len(images), **listed("images", images)})


@TABLE.site(
    "media-type-wrong",
    Group.MEDIA,
    Severity.WARNING,
    (Needs.MEDIA,),
    title="File is served with a wrong type",
    explanation="The Content-Type of the file is missing, or is not what its first bytes show. Browsers may refuse it.",
    fix="Correct the type in the configuration of the server.",
)
def _media_type_wrong(site: Site, _: Limits) -> Iterator[Hit]:
    for file in site.media.values():
        declared = _IMAGE_FAMILY.get(file.content_type, file.content_type)
        if file.status == 200 and file.size and file.detected_type and declared != file.detected_type:
            is_vague = declared in _VAGUE
            yield Hit({"declared": file.content_type, "detected": file.detected_type, "is_vague": is_vague}, file.url)


@TABLE.site(
    "document-unreadable",
    Group.MEDIA,
    Severity.WARNING,
    (Needs.DOCUMENT, Needs.GRAPH),
    thresholds={"max_mb": 60, "notice_mb": 30},
    title="Document cannot be read",
    explanation=(
        "The PDF or office file is encrypted, has no text, or is very large. Search engines and screen readers cannot use it."
    ),
    fix="Remove the protection, run text recognition, or divide the file.",
)
def _document_unreadable(site: Site, limits: Limits) -> Iterator[Hit]:
    for file in site.media.values():
        if file.status != 200 or not (file.detected_type or file.content_type).startswith(_DOCUMENTS):
            continue
        megabytes = file.size / _KB / _KB
        is_large = megabytes > limits["notice_mb"]
        if not file.is_readable or is_large:
            severity = Severity.NOTICE if file.is_readable and megabytes <= limits["max_mb"] else None
            problem = (file.problem or "no text") if not file.is_readable else "large"
            sources = [link.source for link in site.sources(file.url)]
            yield Hit({"problem": problem, "bytes": file.size, **listed("pages", sources)}, file.url, severity)
