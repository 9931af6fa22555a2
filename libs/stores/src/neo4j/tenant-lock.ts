import { createHash } from "node:crypto";

/** Tenants share this many locks: enough that two busy ones seldom meet; a tenant leaves no node behind. */
const LOCKS = 64;

/**
 * `$lock`: held until the transaction ends by everyone who changes or removes outbox rows of a tenant, so that what was read
 * under it still stands when it is written. Writers of rows that are new need no lock. Taken after the memory's node where
 * both are taken, and one at a time: no two transactions wait for each other.
 */
export const LOCK_TENANT = `
MERGE (l:TenantLock {number: toInteger($lock)})
SET l.held = true
RETURN l.number AS number`;

/** The number of a tenant's lock. */
export const lockOf = (tenant: string): number => createHash("sha256").update(tenant).digest().readUInt32BE(0) % LOCKS;
