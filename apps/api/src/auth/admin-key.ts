import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, IdSource } from "#core";
import { DEFAULT_TENANT, type KeyStore, type TenantStore } from "#memory";
import { hashSecret, newSecret } from "./secret.js";

/** The file of the first key inside the data folder. */
const ADMIN_KEY_FILE = "admin.key";

export interface AdminKeyOptions {
  readonly keys: KeyStore;
  readonly tenants: TenantStore;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** What came of making the first key. */
export interface FirstKey {
  /** The secret, if this call made the key: to be shown once. */
  readonly created: string | undefined;
  /** Where the secret is kept. */
  readonly file: string;
}

/**
 * Makes the tenant `default` and the first key of a deployment: all scopes, that tenant, no expiry. The key's secret is kept in `admin.key` (mode
 * 0600), written before the key is stored, so that a process that dies in between uses the same secret at its next start.
 * Makes no key once any exists.
 */
export async function ensureAdminKey(options: AdminKeyOptions): Promise<FirstKey> {
  const file = join(options.dataFolder, ADMIN_KEY_FILE);
  const createdAt = options.clock.now();
  await options.tenants.create({ id: DEFAULT_TENANT, name: DEFAULT_TENANT, createdAt, weight: 1, limits: {} });
  if ((await options.keys.count()) > 0) return { created: undefined, file };
  await mkdir(options.dataFolder, { recursive: true });
  const secret = await keepSecret(file, newSecret());
  await options.keys.add(
    {
      id: options.ids("key"),
      tenant: DEFAULT_TENANT,
      name: "admin",
      scopes: ["read", "write", "admin", "operator"],
      createdAt,
    },
    hashSecret(secret),
  );
  return { created: secret, file };
}

/** Writes the secret unless the file has one already; answers the one that counts. */
async function keepSecret(file: string, fresh: string): Promise<string> {
  const kept = await readFile(file, "utf8").catch((error: unknown) => {
    if (isCode(error, "ENOENT")) return "";
    throw error;
  });
  if (kept.trim() !== "") return kept.trim();
  const handle = await open(file, "w", 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(`${fresh}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return fresh;
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}
