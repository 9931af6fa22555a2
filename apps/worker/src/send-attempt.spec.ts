import { expect, test } from "@jest/globals";
import { createSecretBox, type Attempt, type WebhookPoster } from "#jobs";
import { sendAttempt } from "./send-attempt.js";

type WebhookRequest = Parameters<WebhookPoster["post"]>[0];

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const [before, now] = [createSecretBox("a key of the deployment"), createSecretBox("its key from now on")];

const attempt = (secrets: readonly string[]): Attempt => ({
  ...{ url: "https://example.com/hook", secrets, id: "evt_1", event: "completed", at: 0 },
  record: {
    ...{ id: "job_1", tenant: "default", memory: "mem_1", kind: "insert", state: "completed" },
    ...{ progress: { done: 1, total: 1 }, createdAt: 0, attempts: 1 },
  },
});

async function send(secrets: readonly string[]) {
  const posted: WebhookRequest[] = [];
  const poster = {
    post: async (request: WebhookRequest) => {
      posted.push(request);
      return { status: 204 };
    },
    close: () => undefined,
  };
  const answer = await sendAttempt({ poster, box: now, clock: { now: () => 0 } })(
    attempt(secrets),
    AbortSignal.timeout(1_000),
  );
  return { answer, signatures: posted.map(({ headers }) => headers["webhook-signature"]?.split(" ").length) };
}

test("a secret that was sealed with another key of the deployment signs nothing, and keeps no other from it", async () => {
  const [old, fresh] = [before.seal(SECRET), now.seal(SECRET)];
  expect(await send([fresh, old])).toEqual({ answer: { status: 204 }, signatures: [1] });
  expect(await send([fresh, SECRET])).toEqual({ answer: { status: 204 }, signatures: [2] });
  const refused = await send([old]);
  expect(refused.signatures).toEqual([]);
  expect(refused.answer.error).toMatch(/^No secret .* can be opened/);
});
