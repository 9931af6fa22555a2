import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { startReceiver, type WebhookReceiver } from "../../../../test/support/webhook-receiver.js";
import { createWebhookPoster, type WebhookPoster } from "./post-webhook.js";
import { Targets, type TargetRules } from "./targets.js";

const LOOPBACK = ["127.0.0.0/8", "::1/128"];

let receiver: WebhookReceiver;
const posters: WebhookPoster[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
});
afterEach(() => {
  for (const poster of posters.splice(0)) poster.close();
  receiver.received.length = 0;
});
afterAll(() => {
  receiver.close();
});

function open(rules: Partial<TargetRules> = {}): WebhookPoster {
  const poster = createWebhookPoster(new Targets({ networks: LOOPBACK, http: true, ...rules }), 5_000);
  posters.push(poster);
  return poster;
}

const byName = (): string => receiver.url.replace("127.0.0.1", "localhost");
const message = (url: string) => ({ url, headers: { "x-test": "1" }, body: "ü" });
const never = new AbortController().signal;

test("a name is looked up at every connection: one that leads to a private address by then is not connected to", async () => {
  expect(await open().post(message(byName()), never)).toEqual({ status: 204 });
  expect(await open({ networks: [] }).post(message(byName()), never)).toEqual({
    error: "The host leads to an address that is not public.",
  });
  expect(await open({ networks: [] }).post(message(receiver.url), never)).toEqual({
    error: "The address is not public.",
  });
  expect(receiver.received).toMatchObject([{ body: "ü", headers: { "x-test": "1" } }]);
});

test("a proxy of the environment is not used", async () => {
  const before = { ...process.env };
  Object.assign(process.env, {
    HTTP_PROXY: "http://127.0.0.1:1",
    http_proxy: "http://127.0.0.1:1",
    NODE_USE_ENV_PROXY: "1",
  });
  try {
    expect(await open().post(message(receiver.url), never)).toEqual({ status: 204 });
  } finally {
    process.env = before;
  }
});

test("what cannot be reached is an error with its reason, and an aborted request is none", async () => {
  expect(await open().post(message("http://127.0.0.1:1/"), never)).toEqual({
    error: "The request failed: ECONNREFUSED.",
  });
  receiver.behave(() => undefined);
  const abort = new AbortController();
  const posting = open().post(message(receiver.url), abort.signal);
  abort.abort(new Error("stopped"));
  await expect(posting).rejects.toThrow("stopped");
});
