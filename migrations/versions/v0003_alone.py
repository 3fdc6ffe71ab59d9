"""Whether a test had its process to itself in an attempt."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; a program that does not know it leaves it false."""
    op.execute("ALTER TABLE attempt ADD COLUMN alone boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    """Drop the column."""
    op.execute("ALTER TABLE attempt DROP COLUMN alone")
