-- Partitions idempotency_keys by the birth of its keys. Safe on a table with rows, and on one that is in use; it locks
-- the table while it reads it once. docs/partitions.md says how long that is, and how to have it read before.
DO $$
DECLARE
    prepared TEXT;
    boundary TEXT;
    granted RECORD;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'idempotency_keys'::regclass) = 'p' THEN
        RAISE EXCEPTION 'idempotency_keys is partitioned already';
    END IF;

    -- No wait and no queue for long: where somebody works on the table, run it again.
    PERFORM set_config('lock_timeout', '5s', true);
    LOCK TABLE "idempotency_keys", "idempotency_recovery_points" IN ACCESS EXCLUSIVE MODE;

    -- The rows that are there stay where they are: they become the partition of all births before a midnight that lies more
    -- than a day ahead. That is further than any key can be from the future (skewMs).
    SELECT substring(pg_get_constraintdef(oid) FROM '''([0-9a-f]{8}-[0-9a-f]{4})''') INTO prepared
    FROM pg_constraint
    WHERE conrelid = 'idempotency_keys'::regclass AND conname = 'idempotency_keys_before_check' AND convalidated;
    SELECT coalesce(prepared, substr(hex, 1, 8) || '-' || substr(hex, 9)) INTO boundary
    FROM (
        SELECT lpad(to_hex((ceil(extract(epoch FROM clock_timestamp()) / 86400) + 1)::BIGINT * 86400000), 12, '0') AS hex
    ) AS midnight;

    ALTER TABLE "idempotency_recovery_points" DROP CONSTRAINT "idempotency_recovery_points_key_scope_fkey";
    ALTER TABLE "idempotency_keys" RENAME TO "idempotency_keys_before";
    ALTER TABLE "idempotency_keys_before" RENAME CONSTRAINT "idempotency_keys_pkey" TO "idempotency_keys_before_pkey";

    CREATE TABLE "idempotency_keys" (LIKE "idempotency_keys_before" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
        PARTITION BY RANGE ("key");
    IF prepared IS NOT NULL THEN
        ALTER TABLE "idempotency_keys" DROP CONSTRAINT "idempotency_keys_before_check";
    END IF;
    ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("key", "scope");
    EXECUTE format(
        'ALTER TABLE "idempotency_keys" ATTACH PARTITION "idempotency_keys_before" FOR VALUES FROM (MINVALUE) TO (%L)',
        boundary
    );
    IF prepared IS NOT NULL THEN
        ALTER TABLE "idempotency_keys_before" DROP CONSTRAINT "idempotency_keys_before_check";
    END IF;

    -- For what no other partition takes: births for which none was made in time, and keys that have no birth.
    CREATE TABLE "idempotency_keys_default" PARTITION OF "idempotency_keys" DEFAULT WITH (fillfactor = 70);

    ALTER TABLE "idempotency_recovery_points" ADD CONSTRAINT "idempotency_recovery_points_key_scope_fkey"
        FOREIGN KEY ("key", "scope") REFERENCES "idempotency_keys" ("key", "scope") ON DELETE CASCADE ON UPDATE RESTRICT;

    -- Who may use the table may use it still.
    EXECUTE format(
        'ALTER TABLE "idempotency_keys" OWNER TO %I',
        (SELECT relowner::regrole::text FROM pg_class WHERE oid = 'idempotency_keys_before'::regclass)
    );
    FOR granted IN
        SELECT acl.privilege_type, acl.grantee
        FROM pg_class AS before, aclexplode(before.relacl) AS acl
        WHERE before.oid = 'idempotency_keys_before'::regclass
    LOOP
        EXECUTE format(
            'GRANT %s ON "idempotency_keys" TO %s',
            granted.privilege_type,
            CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END
        );
    END LOOP;
END
$$;
