"""The models of a run: its catalogue, what stands for each entry, and what attempts came to in numbers."""

from alembic import op

revision = "0004"
down_revision = "0003"

TABLE = """
CREATE TABLE models (
    run_id int PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    digest text NOT NULL,
    entries bigint NOT NULL REFERENCES blob,
    shares bigint NOT NULL REFERENCES blob,
    owns bigint NOT NULL REFERENCES blob,
    stands bigint NOT NULL REFERENCES blob,
    facts bytea NOT NULL
);
ALTER TABLE models ALTER facts SET STORAGE EXTERNAL;
"""
"""Blobs, since the next run of an unchanged catalogue has the same ones. `digest` is that of the run's content: a
program that does not know this table leaves an old row behind."""


def upgrade() -> None:
    """Create the table."""
    op.execute(TABLE)


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE models")
