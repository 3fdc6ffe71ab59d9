"""${message}"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Say here what changes and why the old code still runs on it."""
    op.execute("")


def downgrade() -> None:
    """Only for development: a release is never downgraded."""
    op.execute("")
