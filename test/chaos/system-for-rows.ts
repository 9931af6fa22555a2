import { afterAll, afterEach, beforeAll } from "@jest/globals";
import { startSystem, type System } from "./system.js";

/** Starting all processes on a busy machine. */
const START_MS = 120_000;

/** One system for all rows of a file, handed over before the first of them; its model behaves again after each. */
export function systemForRows(hand: (system: System) => void, ...how: Parameters<typeof startSystem>): void {
  let system: System;
  beforeAll(async () => {
    system = await startSystem(...how);
    hand(system);
  }, START_MS);
  afterEach(() => {
    system.model.reset();
  });
  afterAll(() => system.close());
}
