import { createHmac, randomBytes } from "node:crypto";

/** Bytes of a secret: those of the hash. */
const SECRET_BYTES = 32;
const PREFIX = "whsec_";

/** A fresh secret in the form of Standard Webhooks: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

/** A message as it is signed. */
export interface SignedMessage {
  readonly id: string;
  /** Seconds since the epoch: when this request is made. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * The headers of Standard Webhooks: the id, the time, and a signature (HMAC-SHA256 over `id.timestamp.body`) by each
 * secret.
 */
export function signatureHeaders(
  { id, timestamp, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signatures.join(" ") };
}
