import { createHash } from "node:crypto";
import type { Fingerprint, StoredPoint } from "#memory";

const MODULUS = 1n << 64n;

/** Sums the hashes of points that come page by page. Every store computes its fingerprint so. */
export class FingerprintSum {
  #count = 0;
  #sum = 0n;

  /** O(points). */
  add(points: Iterable<StoredPoint>): void {
    for (const { id, born, field, died } of points) {
      const digest = createHash("sha256")
        .update(`${id}\n${born}\n${field}\n${died ?? ""}`)
        .digest();
      this.#sum = (this.#sum + digest.readBigUInt64BE(0)) % MODULUS;
      this.#count += 1;
    }
  }

  get fingerprint(): Fingerprint {
    return { count: this.#count, hash: this.#sum.toString(16).padStart(16, "0") };
  }
}

/** Count and order-free hash of points: the sum of the points' hashes. O(points). */
export function fingerprintOf(points: Iterable<StoredPoint>): Fingerprint {
  const sum = new FingerprintSum();
  sum.add(points);
  return sum.fingerprint;
}
