"""The inventory of aten overloads: what the device said of them, and which tests of a run took them."""

from alembic import op

revision = "0002"
down_revision = "0001"

TABLE = """
CREATE TABLE inventory (
    run_id int PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    digest text NOT NULL,
    overloads bigint NOT NULL REFERENCES blob,
    reaching bytea NOT NULL
);
ALTER TABLE inventory ALTER reaching SET STORAGE EXTERNAL;
"""
"""`digest` is that of the run's content: a program that does not know this table leaves an old row behind."""


def upgrade() -> None:
    """Create the table."""
    op.execute(TABLE)


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE inventory")
