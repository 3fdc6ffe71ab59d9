"""The schema's versions: one head, up and down again, twice is nothing."""

from collections.abc import Iterator

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

import migrations
from conformance.store import connect


@pytest.fixture
def engine(empty_url: str) -> Iterator[Engine]:
    made = connect.engine(connect.parse(empty_url))
    yield made
    made.dispose()


def config() -> Config:
    made = Config()
    made.set_main_option("script_location", next(iter(migrations.__path__)))
    return made


def tables(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {each[0] for each in rows}


def test_the_program_names_the_newest_migration_as_its_schema() -> None:
    assert ScriptDirectory.from_config(config()).get_current_head() == connect.HEAD


def test_upgrading_twice_does_nothing_the_second_time(engine: Engine) -> None:
    assert connect.upgrade(engine) == (None, connect.HEAD)
    assert connect.upgrade(engine) == (connect.HEAD, connect.HEAD)
    assert {"run", "test", "vector", "side", "attempt", "phrase", "blob", "inventory", "models"} < tables(engine)


def test_every_migration_can_be_taken_back(engine: Engine) -> None:
    connect.upgrade(engine)
    made = config()
    with engine.begin() as connection:
        made.attributes["connection"] = connection
        command.downgrade(made, "base")
    assert tables(engine) == {"alembic_version"}
    assert connect.upgrade(engine) == (None, connect.HEAD)


def test_vectors_are_stored_without_a_second_compression(engine: Engine) -> None:
    connect.upgrade(engine)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid "
            "WHERE attstorage = 'e' AND relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        assert {each[0] for each in rows} == {
            "vector.status",
            "side.body",
            "blob.body",
            "inventory.reaching",
            "models.facts",
        }
