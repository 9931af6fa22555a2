import { Inject, Injectable } from "@nestjs/common";
import { EspalierError, idFromUuid, isId } from "#core";
import type { ApiKey } from "#memory";
import { Authenticator } from "../auth/authenticator.js";
import { hashSecret, newSecret } from "../auth/secret.js";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { reaches, type Caller } from "../http/caller.js";
import { readPage, type Page } from "../http/cursor.js";
import type { NewKeyBody } from "../wire/key.js";

/** Keys that are read at once when one is looked up among those that the caller reaches. */
const LOOKUP_PAGE = 1_000;

/** API keys of the caller's own tenant; a caller that is bound to a prefix of memories sees those bound within it. */
@Injectable()
export class KeysService {
  constructor(
    @Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies,
    private readonly authenticator: Authenticator,
  ) {}

  /**
   * Makes a key; the secret is in the answer and nowhere else. A key never reaches further than the one that made it.
   * It ends with its maker's when nothing is said.
   * `effect`: the UUID under which a repeated request makes it, once.
   * @throws EspalierError `forbidden`, `invalid_request` for an expiry in the past or after the maker's
   */
  async create(
    caller: Caller,
    body: NewKeyBody,
    effect?: string,
  ): Promise<{ readonly key: ApiKey; readonly secret: string }> {
    const { keys, ids, clock } = this.dependencies;
    const scope = body.scopes.find((wanted) => !caller.scopes.includes(wanted));
    if (scope !== undefined) {
      throw new EspalierError("forbidden", `A key without the scope \`${scope}\` cannot give it.`, {
        details: { scope },
      });
    }
    const memoryPrefix = body.memoryPrefix ?? caller.memoryPrefix;
    if (caller.memoryPrefix !== undefined && memoryPrefix?.startsWith(caller.memoryPrefix) !== true) {
      throw new EspalierError("forbidden", "The new key would reach further than the key that makes it.");
    }
    const expiresAt = body.expiresAt === undefined ? caller.expiresAt : Date.parse(body.expiresAt);
    if (expiresAt !== undefined && expiresAt <= clock.now()) throw badExpiry("must be in the future");
    if (expiresAt !== undefined && expiresAt > (caller.expiresAt ?? Infinity)) {
      throw badExpiry("must not be after that of the key that makes it");
    }
    const key: ApiKey = {
      id: effect === undefined ? ids("key") : idFromUuid("key", effect),
      tenant: caller.tenant,
      name: body.name ?? "",
      scopes: body.scopes,
      ...(memoryPrefix !== undefined && { memoryPrefix }),
      createdAt: clock.now(),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    const secret = newSecret();
    // A request whose process died may have made it; nobody has seen that secret.
    if (effect !== undefined) await keys.remove(key.tenant, key.id);
    await keys.add(key, hashSecret(secret));
    return { key, secret };
  }

  list(caller: Caller, page: { readonly limit: number; readonly cursor?: string | undefined }): Promise<Page<ApiKey>> {
    return readPage(
      page,
      (query) => this.dependencies.keys.list(caller.tenant, query),
      (key) => reachesKey(caller, key),
    );
  }

  /** @throws EspalierError `key_not_found`, also for a key of another tenant or outside the caller's prefix */
  async delete(caller: Caller, id: string): Promise<void> {
    const found = isId("key", id) && (await this.#reachable(caller, id));
    const removed = found && (await this.dependencies.keys.remove(caller.tenant, id));
    if (!removed) throw new EspalierError("key_not_found", "There is no such API key.");
    this.authenticator.forget();
  }

  async #reachable(caller: Caller, id: string): Promise<boolean> {
    if (caller.memoryPrefix === undefined) return true;
    let after: string | undefined;
    for (;;) {
      const page = await this.dependencies.keys.list(caller.tenant, {
        limit: LOOKUP_PAGE,
        ...(after !== undefined && { after }),
      });
      const key = page.find((one) => one.id === id);
      if (key !== undefined) return reachesKey(caller, key);
      if (page.length < LOOKUP_PAGE) return false;
      after = page.at(-1)?.id;
    }
  }
}

/** Whether everything that the key reaches is within what the caller's key reaches. */
function reachesKey(caller: Caller, key: ApiKey): boolean {
  return caller.memoryPrefix === undefined || (key.memoryPrefix !== undefined && reaches(caller, key.memoryPrefix));
}

function badExpiry(message: string): EspalierError {
  return new EspalierError("invalid_request", `body expiresAt: ${message}`, {
    details: { errors: [{ path: "expiresAt", message }] },
  });
}
