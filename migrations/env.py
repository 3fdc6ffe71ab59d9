"""Runs the migrations on the connection that the store hands over; there is no alembic.ini."""

from alembic import context


def run() -> None:
    """Migrate in one transaction. Waiting for a lock for longer than some seconds is an error, not an outage."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=None, transaction_per_migration=False)
    with context.begin_transaction():
        connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '10min'")
        context.run_migrations()


run()
