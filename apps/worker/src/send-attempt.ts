import type { Clock } from "#core";
import { signatureHeaders, type SecretBox, type SendAttempt, type WebhookPoster } from "#jobs";
import { jobToWire } from "../../api/src/wire/job.js";

/** Posts the end of a job as Standard Webhooks want it; `data` is the job as the API shows it in lists, without its result. */
export function sendAttempt({
  poster,
  box,
  clock,
}: {
  readonly poster: WebhookPoster;
  readonly box: SecretBox;
  readonly clock: Clock;
}): SendAttempt {
  return ({ url, secrets, id, event, at, record }, signal) => {
    const body = JSON.stringify({
      type: `job.${event}`,
      timestamp: new Date(at).toISOString(),
      data: jobToWire(record),
    });
    const message = { id, timestamp: Math.floor(clock.now() / 1_000), body };
    const headers = {
      "content-type": "application/json",
      "user-agent": "espalier-webhooks/1",
      ...signatureHeaders(
        message,
        secrets.map((sealed) => box.open(sealed)),
      ),
    };
    return poster.post({ url, headers, body }, signal);
  };
}
