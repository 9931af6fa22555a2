import { EspalierError, type ErrorCode } from "#core";

/**
 * What requests of one process hold while they are open. A tenant takes half of the places at most, so that others find
 * some.
 */
export class Places {
  readonly #most: number;
  readonly #code: ErrorCode;
  readonly #byTenant = new Map<string, number>();
  #taken = 0;

  constructor(most: number, code: ErrorCode) {
    this.#most = most;
    this.#code = code;
  }

  /**
   * Takes a place until the returned function is called.
   * @throws EspalierError of the code that was given
   */
  take(tenant: string): () => void {
    const own = this.#byTenant.get(tenant) ?? 0;
    if (this.#taken >= this.#most || own >= this.#most / 2) {
      throw new EspalierError(this.#code, `This process has ${this.#most} of them, half of them for one tenant.`);
    }
    this.#taken += 1;
    this.#byTenant.set(tenant, own + 1);
    return () => {
      this.#taken -= 1;
      const left = (this.#byTenant.get(tenant) ?? 1) - 1;
      if (left === 0) this.#byTenant.delete(tenant);
      else this.#byTenant.set(tenant, left);
    };
  }
}
