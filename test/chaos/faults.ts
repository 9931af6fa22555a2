/**
 * Loaded into a process of the product before it (`node --import`): brings the faults that no signal brings. The program
 * itself is the one that is deployed.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Queue } from "bullmq";
import { LIMITS } from "#core";
import { JOB_SETTINGS, type QueueSettings } from "#jobs";

/** What is wrong with a process; the variable `ESPALIER_FAULTS` holds it as JSON. */
export interface Faults {
  /** Folder of the orders: a file there is a fault that happens once, to the process that takes it first. */
  readonly orders: string;
  /** How far the process's clock is ahead of the machine's. */
  readonly clockMs?: number;
  /** Other times of all queues than the product's, so that a test need not wait for those. */
  readonly queues?: Partial<QueueSettings>;
  /** The same for the lanes of admission, and for bounds. */
  readonly lanes?: Partial<(typeof JOB_SETTINGS)["lanes"]["batch"]>;
  readonly limits?: Partial<Record<keyof typeof LIMITS, number>>;
  /** The process is of the next release, whose inserts have another payload: what it reads of this one is marked. */
  readonly nextRelease?: true;
}

/** The order to die between taking a job out of its lane and adding it to its queue. */
export const DIE_AT_ADD = "die-at-add";

/** A text with this in it ends every process that embeds it, as a fault in native code would. */
export const POISON = "poison";

/** Attribute of a node whose payload the next release read as one of this release. */
export const UPGRADED = "upgraded";

/** A text with this in it blocks the event loop of the first process that embeds it, for the milliseconds that follow. */
export const BLOCK = /block the loop for (\d+)/;

const text = process.env["ESPALIER_FAULTS"];
if (text !== undefined) bring(JSON.parse(text) as Faults);

function bring({ orders, clockMs = 0, queues = {}, lanes = {}, limits = {}, nextRelease }: Faults): void {
  for (const queue of Object.values(JOB_SETTINGS.queues)) Object.assign(queue, queues);
  for (const lane of Object.values(JOB_SETTINGS.lanes)) Object.assign(lane, lanes);
  Object.assign(LIMITS, limits);
  if (nextRelease) Object.assign(JOB_SETTINGS, { upgrades: { insert: [markUpgraded] } });
  if (clockMs !== 0) shiftClock(clockMs);
  dieAtAdd(orders);
  obeyTexts(orders);
}

function markUpgraded(payload: unknown): unknown {
  const { tree } = payload as { readonly tree: { readonly attributes: object } };
  return { tree: { ...tree, attributes: { ...tree.attributes, [UPGRADED]: true } } };
}

/** True for the one process that takes an order. */
function takes(orders: string, order: string): boolean {
  try {
    rmSync(join(orders, order));
    return true;
  } catch {
    return false;
  }
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function shiftClock(byMs: number): void {
  const machine = Date;
  const now = (): number => machine.now() + byMs;
  globalThis.Date = new Proxy(machine, {
    construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [now()] : args, self) as object,
    get: (target, name, self) => (name === "now" ? now : (Reflect.get(target, name, self) as unknown)),
  });
}

function dieAtAdd(orders: string): void {
  const methods = Queue.prototype as unknown as Record<"add" | "addBulk", (...args: unknown[]) => unknown>;
  for (const name of ["add", "addBulk"] as const) {
    const original = methods[name];
    methods[name] = function (this: Queue, ...args: unknown[]): unknown {
      if (takes(orders, DIE_AT_ADD)) die();
      return original.apply(this, args);
    };
  }
}

/** The model is called with `fetch`, whose body holds the texts. */
function obeyTexts(orders: string): void {
  const original = globalThis.fetch;
  globalThis.fetch = (...args) => {
    const body = args[1]?.body;
    if (typeof body === "string") {
      if (body.includes(POISON)) die();
      const blockMs = BLOCK.exec(body)?.[1];
      if (blockMs !== undefined && takes(orders, `block-${blockMs}`)) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
      }
    }
    return original(...args);
  };
}
