import { expect, test } from "@jest/globals";
import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { JobEvent, JobRecord } from "#jobs";
import { formatEvent, streamEvents } from "./event-stream.js";

const record: JobRecord = {
  id: "job_1",
  tenant: "t",
  memory: "mem_1",
  kind: "insert",
  state: "active",
  progress: { done: 1, total: 2 },
  createdAt: 0,
  attempts: 1,
};

const event = (id: string): JobEvent => ({ id, type: "progress", record });

/** A client whose socket takes nothing until `read` is called. */
class StuckResponse extends EventEmitter {
  written: string[] = [];
  full = false;
  ended = false;
  destroyed = false;
  get writableNeedDrain(): boolean {
    return this.full;
  }
  writeHead(): void {
    this.written = [];
  }
  flushHeaders(): void {
    this.full = false;
  }
  write(text: string): boolean {
    this.written.push(text);
    this.full = true;
    return false;
  }
  read(): void {
    this.full = false;
    this.emit("drain");
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

/** A stream to a client whose key stays good. */
const streamTo = (response: StuckResponse) => ({
  ...{ response: response.asResponse(), headers: {}, abort: new AbortController() },
  isRefused: async () => false,
});

test("an event is what an EventSource reads back", () => {
  const read: EventSourceMessage[] = [];
  createParser({ onEvent: (message) => read.push(message) }).feed(formatEvent(event("5-0")));
  expect(read).toHaveLength(1);
  expect(read[0]).toMatchObject({ id: "5-0", event: "progress" });
  expect(JSON.parse(read[0]?.data ?? "")).toMatchObject({
    id: "job_1",
    state: "active",
    progress: { done: 1, total: 2 },
  });
});

test("nothing is pulled from the job while the client does not read, and a client that never does is cut off", async () => {
  let pulled = 0;
  async function* endless(): AsyncGenerator<JobEvent> {
    for (;;) {
      pulled += 1;
      yield event(`${pulled}-0`);
    }
  }
  const response = new StuckResponse();
  const abort = new AbortController();
  await streamEvents({ ...streamTo(response), events: endless(), abort, stalledMs: 30 });
  expect(pulled).toBe(1);
  expect(response.destroyed).toBe(true);
  expect(abort.signal.aborted).toBe(true);
});

test("a client that reads slowly gets everything, in order", async () => {
  async function* three(): AsyncGenerator<JobEvent> {
    for (const id of ["1-0", "2-0", "3-0"]) yield event(id);
  }
  const response = new StuckResponse();
  const reader = setInterval(() => {
    response.read();
  }, 2);
  await streamEvents({ ...streamTo(response), events: three() });
  clearInterval(reader);
  expect(response.written.map((text) => /^id: (\S+)/.exec(text)?.[1])).toEqual(["1-0", "2-0", "3-0"]);
  expect(response.ended).toBe(true);
});

test("a stream ends when the key of its client is refused", async () => {
  let asked = 0;
  const response = new StuckResponse();
  const stream = streamTo(response);
  async function* silent(): AsyncGenerator<JobEvent> {
    await once(stream.abort.signal, "abort");
    yield event("1-0");
  }
  const isRefused = async (): Promise<boolean> => {
    asked += 1;
    return asked === 3;
  };
  await streamEvents({ ...stream, events: silent(), isRefused, heartbeatMs: 1 });
  expect(asked).toBeGreaterThanOrEqual(3);
  expect(response.ended).toBe(true);
  expect(response.written.join("")).not.toContain("job_1");
});
