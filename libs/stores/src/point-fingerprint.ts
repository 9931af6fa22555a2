import { createHash } from "node:crypto";
import type { Fingerprint, StoredPoint } from "#memory";

const MODULUS = 1n << 64n;

/** Count and order-free hash of points: the sum of the points' hashes. Every store computes it so. O(points). */
export function fingerprintOf(points: Iterable<StoredPoint>): Fingerprint {
  let count = 0;
  let sum = 0n;
  for (const { id, born, field, died } of points) {
    const digest = createHash("sha256")
      .update(`${id}\n${born}\n${field}\n${died ?? ""}`)
      .digest();
    sum = (sum + digest.readBigUInt64BE(0)) % MODULUS;
    count += 1;
  }
  return { count, hash: sum.toString(16).padStart(16, "0") };
}
