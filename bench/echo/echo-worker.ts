/**
 * The worker of the echo: answers every job with the bytes of a file, the size of a real answer, through the status hash
 * and the channel. Arguments: the Redis socket, the file.
 */
import { readFile } from "node:fs/promises";
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { QUEUE_SETTINGS } from "#jobs";
import { ECHO_CHANNEL, ECHO_QUEUE, echoKey } from "./echo-names.js";

const [, , path = "", file = ""] = process.argv;
const answer = await readFile(file, "utf8");
const commands = new Redis({ path, maxRetriesPerRequest: null });

const worker = new Worker(
  ECHO_QUEUE,
  async (job) => {
    const id = job.id ?? "";
    await commands
      .multi()
      .hset(echoKey(id), { state: "completed", finishedAt: Date.now(), result: answer })
      .expire(echoKey(id), 60)
      .publish(ECHO_CHANNEL, id)
      .exec();
  },
  { connection: commands.duplicate(), concurrency: QUEUE_SETTINGS.query.concurrency },
);
await worker.waitUntilReady();
process.stdout.write("echo worker ready\n");
