"""Executed by Alembic: runs the migrations on the connection of `current.upgrade`, inside its transaction."""

from __future__ import annotations

from alembic import context

from sitelore.store.schema import complete_metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=complete_metadata())
with context.begin_transaction():
    context.run_migrations()
