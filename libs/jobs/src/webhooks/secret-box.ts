import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { EspalierError } from "#core";

/** Keeps what must be read again, which no hash can be. */
export interface SecretBox {
  seal(secret: string): string;
  /** @throws EspalierError `internal` if it was sealed with another key */
  open(sealed: string): string;
}

const SEALED = "sealed:";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param key of the deployment, the same in all of its processes; absent: secrets are stored as they are */
export function createSecretBox(key?: string): SecretBox {
  const cipherKey =
    key === undefined ? undefined : new Uint8Array(hkdfSync("sha256", key, "", "espalier webhooks", 32));
  return {
    seal: (secret) => {
      if (cipherKey === undefined) return secret;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", cipherKey, nonce);
      const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64");
    },
    open: (sealed) => {
      if (!sealed.startsWith(SEALED)) return sealed;
      const bytes = Buffer.from(sealed.slice(SEALED.length), "base64");
      try {
        if (cipherKey === undefined) throw new Error("There is no key.");
        const decipher = createDecipheriv("aes-256-gcm", cipherKey, bytes.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
        return text.toString("utf8");
      } catch (cause) {
        throw new EspalierError("internal", "A secret was sealed with another key than this process has.", { cause });
      }
    },
  };
}
