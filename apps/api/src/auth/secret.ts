import { hash, randomBytes } from "node:crypto";

/** Random bytes of a key: beyond guessing. */
const SECRET_BYTES = 32;

/** Makes scanners for leaked secrets recognise our keys. */
const SECRET_PREFIX = "esp_";

/** A fresh API key. */
export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
}

/** Whether a text has something in it that looks like a key. */
export function holdsSecret(text: string): boolean {
  return /esp_[\w-]{43}/.test(text);
}

/** What is stored of a key: its SHA-256, hex. A fast hash is enough for 256 random bits. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}
