"""What the operator decides by environment, as opposed to what a person asks of one crawl (`model/settings.py`)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class OperatorSettings(BaseSettings):
    """Read from `SITELORE_*` variables."""

    model_config = SettingsConfigDict(env_prefix="SITELORE_", extra="ignore")

    data: Path = Field(default=Path("sitelore-data"), description="Directory that holds the database and the blobs.")
    readers: int = Field(default=1, ge=1, le=64, description="Processes that read documents.")
