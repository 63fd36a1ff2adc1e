"""Routes of the settings that all channels of a tenant share: crawl settings, and the brand."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from sitelore.extract.redaction.redactor import redactor_of
from sitelore.model.errors import UsageError
from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.model.platform.channels import Frequency, ScheduleRule, TenantCrawlSettings
from sitelore.model.platform.tenant_settings import StoredBrand
from sitelore.platform.channels.channels import ChannelService
from sitelore.platform.channels.cron import CRON_LINES, check_cron, check_time_zone
from sitelore.serve import problems
from sitelore.serve.openapi import answers
from sitelore.serve.platform.channel_requests import BrandChanges, CrawlSettingsChanges, brand_changes, changed_crawl_settings
from sitelore.serve.platform.channel_schemas import (
    BrandView,
    CrawlSettingsView,
    SchedulePreview,
    crawl_settings_view,
    schedule_preview,
)
from sitelore.serve.platform.channels import channel_service
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Service
from sitelore.serve.schemas import moment
from sitelore.serve.security.auth import require

router = APIRouter()

_MAX_TENANT = 2**31 - 1
TenantName = Annotated[str, Path(alias="tenant_id", description="The id of a tenant.")]
Operator = Annotated[Caller, Depends(require(TokenScope.ADMIN))]


@router.get(
    "/manage/v1/tenants/{tenant_id}/crawl-settings",
    tags=["manage"],
    summary="Crawl settings of a tenant",
    responses=answers(CrawlSettingsView, problems.TENANT_NOT_FOUND),
)
async def show_crawl_settings(tenant_id: TenantName, service: Service, _: Operator) -> Response:
    """Page limit, frequency and plan of a tenant, how much of it is used, and when its next scheduled crawl starts."""
    own, settings = await _of_tenant(tenant_id, service)
    return await _crawl_settings(tenant_id, own, settings)


@router.patch(
    "/manage/v1/tenants/{tenant_id}/crawl-settings",
    tags=["manage"],
    summary="Change crawl settings of a tenant",
    responses=answers(CrawlSettingsView, problems.TENANT_NOT_FOUND),
)
async def change_crawl_settings(
    tenant_id: TenantName, body: CrawlSettingsChanges, service: Service, caller: Operator
) -> Response:
    """Change the fields that are named. Schedules change at once; crawls that are active keep their limits."""
    own, before = await _of_tenant(tenant_id, service)
    settings = changed_crawl_settings(body, before)
    entry = service.entry_for(caller, "crawl-settings.changed", f"tenant:{tenant_id}")
    try:
        await replace(own, channels=own.channels.recording(entry)).change_crawl_settings(settings)
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.timeZone", str(problem)),)) from None
    if int(tenant_id) != caller.tenant:  # the operator's own log as well
        await service.record(caller, "crawl-settings.changed", f"tenant:{tenant_id}")
    return await _crawl_settings(tenant_id, own, settings)


@router.get(
    "/tenant/v1/crawl-settings",
    tags=["channels"],
    summary="The own crawl settings",
    responses=answers(CrawlSettingsView),
)
async def show_own_crawl_settings(service: Service, caller: Annotated[Caller, Depends(require(TokenScope.READ))]) -> Response:
    """Page limit, frequency and plan of the caller's tenant. The operator changes them."""
    own = channel_service(service, caller.tenant)
    return await _crawl_settings(str(caller.tenant), own, await own.tenant_settings())


@router.get(
    "/tenant/v1/schedule-preview",
    tags=["channels"],
    summary="When a schedule would start crawls",
    responses=answers(SchedulePreview),
)
async def preview_schedule(
    service: Service,
    caller: Annotated[Caller, Depends(require(TokenScope.READ))],
    cron: Annotated[str, Query(max_length=100, description="Five fields of cron.", examples=["30 3 * * 1"])] = "",
    frequency: Annotated[Frequency | None, Query(description="Instead of a cron line; default: the tenant's.")] = None,
    zone: Annotated[str, Query(alias="timeZone", max_length=100, description="An IANA time zone; default: the tenant's.")] = "",
) -> Response:
    """A schedule in words, and its next five times. Nothing is stored."""
    own = channel_service(service, caller.tenant)
    tenant = await own.tenant_settings()
    zone, cron = zone or tenant.time_zone, cron or CRON_LINES.get(frequency or tenant.frequency, "")
    if not cron:
        return json_response(SchedulePreview("", zone, "Only when a person starts it", []))
    for field, check, value in (("cron", check_cron, cron), ("timeZone", check_time_zone, zone)):
        try:
            check(value)
        except UsageError as problem:
            raise ApiProblem(problems.INVALID, errors=(FieldProblem(f"query.{field}", str(problem)),)) from None
    return json_response(schedule_preview(ScheduleRule(cron, zone), own.clock()))


@router.get(
    "/tenant/v1/brand",
    tags=["channels"],
    summary="The brand",
    responses=answers(BrandView),
)
async def show_brand(service: Service, caller: Annotated[Caller, Depends(require(TokenScope.READ))]) -> Response:
    """Colours, fonts, logo and icon: what a person has entered, and what crawls of home pages have detected."""
    stored, brand = await channel_service(service, caller.tenant).brand()
    return json_response(_brand_view(stored, brand))


@router.patch(
    "/tenant/v1/brand",
    tags=["channels"],
    summary="Change the brand",
    responses=answers(BrandView),
)
async def change_brand(
    body: BrandChanges, service: Service, caller: Annotated[Caller, Depends(require(TokenScope.MANAGE_TENANT))]
) -> Response:
    """Enter values. Crawls never replace them; null removes an entry."""
    changes = brand_changes(body)
    if redactor_of(service.context.redaction).count_secrets("\n".join(filter(None, changes.values()))):
        raise ApiProblem(problems.INVALID, "a value holds what looks like a secret; it would be kept, so leave it out")
    own = channel_service(service, caller.tenant)
    entry = service.entry_for(caller, "brand.changed", "brand", lambda _: True)
    await own.channels.recording(entry).enter_brand(changes, own.clock())
    stored, brand = await own.brand()
    return json_response(_brand_view(stored, brand))


async def _of_tenant(tenant_id: str, service: Service) -> tuple[ChannelService, TenantCrawlSettings]:
    is_id = tenant_id.isascii() and tenant_id.isdecimal() and len(tenant_id) < 11 and 0 < int(tenant_id) <= _MAX_TENANT
    own = channel_service(service, TenantId(int(tenant_id) if is_id else 0))
    settings = await own.channels.crawl_settings() if is_id else None
    if settings is None:
        raise ApiProblem(problems.TENANT_NOT_FOUND, "no such tenant")
    return own, settings


async def _crawl_settings(tenant_id: str, own: ChannelService, settings: TenantCrawlSettings) -> Response:
    view = crawl_settings_view(int(tenant_id), settings, await own.channels.usage(), await own.channels.next_scheduled())
    return json_response(view)


def _brand_view(stored: StoredBrand, brand: dict[str, Any]) -> BrandView:
    return BrandView(
        primary_color=brand.get("primary_color"),
        secondary_color=brand.get("secondary_color"),
        font_primary=brand.get("font_primary"),
        font_secondary=brand.get("font_secondary"),
        logo=brand.get("logo"),
        favicon=brand.get("favicon"),
        confidence=brand.get("confidence", 0.0),
        sources=brand.get("sources", {}),
        entered=sorted(stored.entered),
        detected={name: stored.detected[name] for name in BrandChanges.model_fields if stored.detected.get(name)},
        channel_id=stored.channel,
        detected_at=moment(stored.detected_at),
        updated_at=moment(stored.updated_at),
    )
