"""The first schema: tests, runs, vectors, attempts and content-addressed texts."""

from alembic import op

revision = "0001"
down_revision = None

TABLES = """
CREATE TABLE phrase (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind smallint NOT NULL,
    digest bytea NOT NULL,
    body text NOT NULL,
    UNIQUE (kind, digest)
);
CREATE TABLE blob (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    body bytea NOT NULL
);
CREATE TABLE test (
    id int PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    suite int NOT NULL,
    file int NOT NULL,
    cls int NOT NULL,
    op int NOT NULL,
    variant int NOT NULL,
    dtype int NOT NULL,
    kind int NOT NULL,
    key text NOT NULL
);
CREATE TABLE run (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid text NOT NULL UNIQUE,
    digest text NOT NULL,
    target text NOT NULL,
    release text NOT NULL,
    simulated boolean NOT NULL,
    torch text NOT NULL,
    selection jsonb NOT NULL,
    profile text NOT NULL,
    whole boolean NOT NULL,
    environment jsonb NOT NULL,
    fingerprint jsonb NOT NULL,
    plan_digest text NOT NULL,
    planned int NOT NULL,
    started timestamptz NOT NULL,
    finished timestamptz,
    ingested timestamptz NOT NULL,
    sealed boolean NOT NULL,
    supervised boolean NOT NULL,
    flaky int NOT NULL,
    counts jsonb NOT NULL,
    folder text NOT NULL
);
CREATE INDEX run_release ON run (release, started DESC);
CREATE INDEX run_started ON run (started DESC, id DESC);
CREATE TABLE vector (
    run_id int PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    definition bigint NOT NULL REFERENCES blob,
    status bytea NOT NULL
);
CREATE TABLE side (
    run_id int NOT NULL REFERENCES run ON DELETE CASCADE,
    name text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (run_id, name)
);
CREATE TABLE attempt (
    run_id int NOT NULL REFERENCES run ON DELETE CASCADE,
    test_id int NOT NULL,
    number smallint NOT NULL,
    outcome smallint NOT NULL,
    ran_on text NOT NULL,
    stage text NOT NULL,
    rule int NOT NULL,
    cause int NOT NULL,
    code int NOT NULL,
    message int NOT NULL,
    fallback int NOT NULL,
    detail bigint,
    seconds jsonb NOT NULL,
    PRIMARY KEY (run_id, test_id, number)
);
"""

STORAGE = """
ALTER TABLE vector ALTER status SET STORAGE EXTERNAL;
ALTER TABLE side ALTER body SET STORAGE EXTERNAL;
ALTER TABLE blob ALTER body SET STORAGE EXTERNAL;
"""
"""What is packed already is not packed again, and a slice of a status vector reads one test of one run."""


def upgrade() -> None:
    """Create everything."""
    for part in (TABLES, STORAGE):
        op.execute(part)


def downgrade() -> None:
    """Drop everything."""
    op.execute("DROP TABLE attempt, side, vector, run, test, blob, phrase")
