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

-- No constraint on the values of a key's row: Postgres prepares constraints anew for every statement that writes a row, which
-- costs a call 4 % of its time. What the library reads it checks by itself.
ALTER TABLE "idempotency_watermark" ADD CONSTRAINT "idempotency_watermark_id_check" CHECK ("id" = 1);

-- The one row of the watermark: nothing is forgotten yet. The first sweep makes it where it is missing.
INSERT INTO "idempotency_watermark" ("id", "key", "raised_at") VALUES (1, '00000000-0000-7000-8000-000000000000', '-infinity');
