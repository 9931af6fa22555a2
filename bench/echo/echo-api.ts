/**
 * The raw limit of a query job over HTTP: bare Fastify, a BullMQ queue, a status hash, and one pub/sub channel that wakes
 * the waiter. No validation, no keys, no retries. Takes the Redis socket as its argument, answers `POST /` with what the
 * worker made, and prints its URL.
 */
import { Queue } from "bullmq";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { ECHO_CHANNEL, ECHO_QUEUE, echoKey } from "./echo-names.js";

const path = process.argv[2] ?? "";
const commands = new Redis({ path, maxRetriesPerRequest: null });
const subscriber = new Redis({ path, maxRetriesPerRequest: null });
const queue = new Queue(ECHO_QUEUE, { connection: commands });
const waiting = new Map<string, () => void>();

subscriber.on("message", (_channel, id) => {
  waiting.get(id)?.();
});
await subscriber.subscribe(ECHO_CHANNEL);

const server = Fastify();
server.post("/", async (request, reply) => {
  const id = crypto.randomUUID();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  waiting.set(id, () => {
    resolve(undefined);
  });
  await Promise.all([
    commands.hset(echoKey(id), { state: "queued", createdAt: Date.now() }),
    queue.add("echo", request.body, { jobId: id, removeOnComplete: true }),
  ]);
  await promise;
  waiting.delete(id);
  const result = await commands.hget(echoKey(id), "result");
  return reply.type("application/json").send(result);
});
process.stdout.write(`echo ready url=${await server.listen({ host: "127.0.0.1", port: 0 })}\n`);
