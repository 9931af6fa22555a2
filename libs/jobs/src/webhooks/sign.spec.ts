import { expect, test } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import { createSecretBox } from "./secret-box.js";
import { newWebhookSecret, signatureHeaders } from "./sign.js";

const message = { id: "evt_1", timestamp: Math.floor(Date.now() / 1_000), body: '{"type":"job.completed","ü":1}' };

test("the reference library of Standard Webhooks verifies what is signed, and nothing that was changed", () => {
  const secret = newWebhookSecret();
  const headers = signatureHeaders(message, [secret]);
  const receiver = new Webhook(secret);
  expect(receiver.verify(message.body, headers)).toEqual({ type: "job.completed", ü: 1 });
  expect(() => receiver.verify(message.body.replace("1", "2"), headers)).toThrow();
  expect(() => receiver.verify(message.body, { ...headers, "webhook-id": "evt_2" })).toThrow();
  expect(() => new Webhook(newWebhookSecret()).verify(message.body, headers)).toThrow();
});

test("two secrets sign after a rotation: a receiver with either verifies", () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()];
  const headers = signatureHeaders(message, secrets);
  for (const secret of secrets) expect(() => new Webhook(secret).verify(message.body, headers)).not.toThrow();
});

test("a secret that is sealed with the key of the deployment opens with that key only", () => {
  const box = createSecretBox("the key of the deployment");
  const sealed = box.seal("whsec_secret");
  expect(sealed).not.toContain("secret");
  expect(box.open(sealed)).toBe("whsec_secret");
  expect(() => createSecretBox("another key").open(sealed)).toThrow(/another key/);
  expect(() => createSecretBox().open(sealed)).toThrow(/another key/);
  const plain = createSecretBox();
  expect(box.open(plain.seal("whsec_secret"))).toBe("whsec_secret");
});
