-- CreateTable
CREATE TABLE "idempotency_keys" (
    "key" TEXT COLLATE "C" NOT NULL,
    "scope" TEXT COLLATE "C" NOT NULL,
    "procedure" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "status" TEXT NOT NULL,
    "result" TEXT,
    "result_kind" TEXT,
    "fence" INTEGER NOT NULL,
    "on_unknown" TEXT,
    "attempts" INTEGER NOT NULL,
    "claimed_at" TIMESTAMPTZ(6) NOT NULL,
    "lease_expires_at" TIMESTAMPTZ(6),
    "settled_at" TIMESTAMPTZ(6),

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("key","scope")
);

-- CreateTable
CREATE TABLE "idempotency_recovery_points" (
    "key" TEXT COLLATE "C" NOT NULL,
    "scope" TEXT COLLATE "C" NOT NULL,
    "name" TEXT NOT NULL,
    "result" TEXT,
    "fence" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "idempotency_recovery_points_pkey" PRIMARY KEY ("key","scope","name")
);

-- CreateTable
CREATE TABLE "idempotency_watermark" (
    "id" INTEGER NOT NULL,
    "key" TEXT COLLATE "C" NOT NULL,
    "raised_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "idempotency_watermark_pkey" PRIMARY KEY ("id")
);

-- AddForeignKey
ALTER TABLE "idempotency_recovery_points" ADD CONSTRAINT "idempotency_recovery_points_key_scope_fkey" FOREIGN KEY ("key", "scope") REFERENCES "idempotency_keys"("key", "scope") ON DELETE CASCADE ON UPDATE RESTRICT;

-- By hand from here on, and COLLATE "C" above: Prisma's schema language has no word for these, and `prisma migrate`
-- does not count them as drift. The library works without them; with them it writes less and notices more.

-- Keys are compared byte by byte: the sweep and the watermark read their order, which no locale may change.
-- (COLLATE "C" in the tables above.)

-- A settle rewrites its row. Room on the row's page keeps that a heap-only update, which leaves the index alone.
ALTER TABLE "idempotency_keys" SET (fillfactor = 70);

-- One constraint and not seven: Postgres prepares each one anew for every statement that writes a row.
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_row_check" CHECK (
    "scope" <> '' AND length("key") >= 16 AND "fence" >= 1 AND CASE "status"
        WHEN 'settled' THEN "settled_at" IS NOT NULL AND "result_kind" IN ('value', 'error', 'tombstone')
        ELSE "status" IN ('in_flight', 'released') AND "settled_at" IS NULL AND "result_kind" IS NULL
            AND "on_unknown" IN ('retry', 'manual')
    END
);

ALTER TABLE "idempotency_watermark" ADD CONSTRAINT "idempotency_watermark_id_check" CHECK ("id" = 1);

-- The one row of the watermark: nothing is forgotten yet. The first sweep makes it where it is missing.
INSERT INTO "idempotency_watermark" ("id", "key", "raised_at") VALUES (1, '00000000-0000-7000-8000-000000000000', '-infinity');
