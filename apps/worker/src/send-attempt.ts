import type { Clock } from "#core";
import { signatureHeaders, type SecretBox, type SendAttempt, type WebhookPoster } from "#jobs";
import { jobToWire } from "../../api/src/wire/job.js";

/** What an attempt without a secret comes to: an unsigned request would teach receivers to take those. */
const UNSIGNED = "No secret of the webhook can be opened with the deployment's key: give it a new one.";

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
  return async ({ url, secrets: sealed, id, event, at, record }, signal) => {
    const secrets = sealed.flatMap((one) => opened(box, one));
    if (secrets.length === 0) return { error: UNSIGNED };
    const body = JSON.stringify({
      type: `job.${event}`,
      timestamp: new Date(at).toISOString(),
      data: jobToWire(record),
    });
    const message = { id, timestamp: Math.floor(clock.now() / 1_000), body };
    const headers = {
      "content-type": "application/json",
      "user-agent": "espalier-webhooks/1",
      ...signatureHeaders(message, secrets),
    };
    return poster.post({ url, headers, body }, signal);
  };
}

/** Nothing where it was sealed with another key: the deployment's has been changed since. */
function opened(box: SecretBox, sealed: string): readonly string[] {
  try {
    return [box.open(sealed)];
  } catch {
    return [];
  }
}
