-- The tables for CockroachDB. NOT RUN: no CockroachDB was at hand, and docs/scale.md names what stands in the way.
-- Down to the first line "By hand" it is what `prisma migrate diff` makes of prisma/schema/idempotency.prisma under
-- `provider = "cockroachdb"`; a test keeps it so. Strings compare byte by byte there, so no COLLATE; and there are no
-- pages, so no fillfactor.

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "key" STRING NOT NULL,
    "scope" STRING NOT NULL,
    "procedure" STRING NOT NULL,
    "fingerprint" BYTES NOT NULL,
    "status" STRING NOT NULL,
    "result" STRING,
    "result_kind" STRING,
    "fence" INT4 NOT NULL,
    "on_unknown" STRING,
    "attempts" INT4 NOT NULL,
    "claimed_at" TIMESTAMPTZ(6) NOT NULL,
    "lease_expires_at" TIMESTAMPTZ(6),
    "settled_at" TIMESTAMPTZ(6),

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("key","scope")
);

-- CreateTable
CREATE TABLE "idempotency_recovery_points" (
    "key" STRING NOT NULL,
    "scope" STRING NOT NULL,
    "name" STRING NOT NULL,
    "result" STRING,
    "fence" INT4 NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "idempotency_recovery_points_pkey" PRIMARY KEY ("key","scope","name")
);

-- CreateTable
CREATE TABLE "idempotency_watermark" (
    "id" INT4 NOT NULL,
    "key" STRING NOT NULL,
    "raised_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "idempotency_watermark_pkey" PRIMARY KEY ("id")
);

-- AddForeignKey
ALTER TABLE "idempotency_recovery_points" ADD CONSTRAINT "idempotency_recovery_points_key_scope_fkey" FOREIGN KEY ("key", "scope") REFERENCES "idempotency_keys"("key", "scope") ON DELETE CASCADE ON UPDATE RESTRICT;

-- By hand from here on.
ALTER TABLE "idempotency_watermark" ADD CONSTRAINT "idempotency_watermark_id_check" CHECK ("id" = 1);

-- The one row of the watermark: nothing is forgotten yet. The first sweep makes it where it is missing.
INSERT INTO "idempotency_watermark" ("id", "key", "raised_at") VALUES (1, '00000000-0000-7000-8000-000000000000', '-infinity');
