import { Inject, Injectable } from "@nestjs/common";
import type { z } from "zod";
import { LIMITS } from "#core";
import { API_DEPENDENCIES, type ApiDependencies, type ApartDependencies } from "../dependencies.js";
import type { driftShape } from "../wire/drift.js";

type Drift = z.input<typeof driftShape>;

/** What is known of the agreement of trees and vectors, of all tenants. */
@Injectable()
export class DriftService {
  readonly #apart: ApartDependencies | undefined;

  constructor(@Inject(API_DEPENDENCIES) dependencies: ApiDependencies) {
    this.#apart = dependencies.apart;
  }

  async read(): Promise<Drift> {
    return this.#apart === undefined ? { stores: "together" } : readDrift(this.#apart);
  }

  /** Has all memories compared from now on and repaired where they differ, and tries again what was given up. */
  async repair(): Promise<Drift> {
    if (this.#apart === undefined) return { stores: "together" };
    const retriedRows = await this.#apart.outbox.retry();
    await this.#apart.background.sweeps.ask();
    return { ...(await readDrift(this.#apart)), retriedRows };
  }
}

async function readDrift({ outbox, background }: ApartDependencies): Promise<Drift & { readonly stores: "apart" }> {
  const [backlog, state] = await Promise.all([outbox.backlog(LIMITS.relayTenants), background.sweeps.state()]);
  const { drift, memories, askedAt, startedAt, finishedAt } = state;
  const instant = (time: number): string => new Date(time).toISOString();
  return {
    ...{ stores: "apart", points: drift, memories, pendingRows: backlog.reduce((sum, { rows }) => sum + rows, 0) },
    ...(askedAt !== undefined && { askedAt: instant(askedAt) }),
    ...(startedAt !== undefined && { startedAt: instant(startedAt) }),
    ...(finishedAt !== undefined && { finishedAt: instant(finishedAt) }),
  };
}
