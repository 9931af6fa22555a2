/**
 * The health check of the image, for the API and for workers: /metrics answers on its own port, and each queue that this
 * process works on was looked at lately. A worker that hangs fails, and one that has been without Redis for that long; a store or a
 * model server that is away does not make it fail, for starting this process again would not help. Exits 0 or 1, with one sentence
 * on stderr. Plain Node without packages.
 */

/** Workers look for a job every few seconds, and a job's lock is renewed within 30 s: this long is far from both. */
const STUCK_SECONDS = 120;
const ANSWER_MS = 4_000;

const fail = (sentence) => {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
};

const port = process.env.ESPALIER_METRICS_PORT;
try {
  if (!port) throw new Error("ESPALIER_METRICS_PORT is not set");
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  for (const [line, queue, seconds] of text.matchAll(
    /^espalier_worker_last_activity_seconds\{[^}]*queue="([^"]*)"[^}]*\} (\S+)/gm,
  )) {
    if (!(Number(seconds) < STUCK_SECONDS)) fail(`the queue ${queue} was left alone: ${line}`);
  }
} catch (error) {
  fail(`/metrics did not answer on port ${port}: ${error.message}`);
}
