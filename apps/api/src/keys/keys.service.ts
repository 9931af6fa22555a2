import { Inject, Injectable } from "@nestjs/common";
import { EspalierError, isId } from "#core";
import type { ApiKey } from "#memory";
import { Authenticator } from "../auth/authenticator.js";
import { hashSecret, newSecret } from "../auth/secret.js";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import type { Caller } from "../http/caller.js";
import { readPage, type Page } from "../http/cursor.js";
import type { NewKeyBody } from "../wire/key.js";

/** API keys of the caller's own tenant. */
@Injectable()
export class KeysService {
  constructor(
    @Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies,
    private readonly authenticator: Authenticator,
  ) {}

  /**
   * Makes a key; the secret is in the answer and nowhere else. A key never reaches further than the one that made it.
   * @throws EspalierError `forbidden`, `invalid_request` for an expiry in the past
   */
  async create(caller: Caller, body: NewKeyBody): Promise<{ readonly key: ApiKey; readonly secret: string }> {
    const { keys, ids, clock } = this.dependencies;
    if (body.scopes.includes("operator") && !caller.scopes.includes("operator")) {
      throw new EspalierError("forbidden", "Only an operator can make keys with the scope `operator`.");
    }
    const memoryPrefix = body.memoryPrefix ?? caller.memoryPrefix;
    if (caller.memoryPrefix !== undefined && memoryPrefix?.startsWith(caller.memoryPrefix) !== true) {
      throw new EspalierError("forbidden", "The new key would reach further than the key that makes it.");
    }
    const expiresAt = body.expiresAt === undefined ? undefined : Date.parse(body.expiresAt);
    if (expiresAt !== undefined && expiresAt <= clock.now()) {
      throw new EspalierError("invalid_request", "body expiresAt: must be in the future", {
        details: { errors: [{ path: "expiresAt", message: "must be in the future" }] },
      });
    }
    const key: ApiKey = {
      id: ids("key"),
      tenant: caller.tenant,
      name: body.name ?? "",
      scopes: body.scopes,
      ...(memoryPrefix !== undefined && { memoryPrefix }),
      createdAt: clock.now(),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    const secret = newSecret();
    await keys.add(key, hashSecret(secret));
    return { key, secret };
  }

  list(caller: Caller, page: { readonly limit: number; readonly cursor?: string | undefined }): Promise<Page<ApiKey>> {
    return readPage(
      page,
      (query) => this.dependencies.keys.list(caller.tenant, query),
      () => true,
    );
  }

  /** @throws EspalierError `key_not_found`, also for a key of another tenant */
  async delete(caller: Caller, id: string): Promise<void> {
    const removed = isId("key", id) && (await this.dependencies.keys.remove(caller.tenant, id));
    if (!removed) throw new EspalierError("key_not_found", "There is no such API key.");
    this.authenticator.forget();
  }
}
