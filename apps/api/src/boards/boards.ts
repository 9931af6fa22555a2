import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { FastifyAdapter } from "@bull-board/fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { EspalierError, toEspalierError } from "#core";
import type { JobData, QueueViews } from "#jobs";
import type { Authenticator } from "../auth/authenticator.js";
import { problemHeaders, problemOf } from "../http/problem.js";

/** Where the board is. */
const PATH = "/admin/queues";

/** What a browser asks a person for: any user name, and an operator's key as the password. */
const CHALLENGE = 'Basic realm="espalier operators", charset="UTF-8"';

/** Everything comes from this server; no other page may frame it. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;

/** The page asks others for its fonts; it is as readable without them. */
const FOREIGN_LINKS = /<link [^>]*href="https?:[^>]*>/g;

/**
 * The board of the queues for operators: what waits, runs and failed, without the payloads. It reads only: a job that is
 * retried or removed there would go around its status, its lane and its deliveries; the API has routes for that.
 */
export async function serveBoards(
  instance: FastifyInstance,
  { queues }: QueueViews,
  authenticator: Authenticator,
): Promise<void> {
  const server = new FastifyAdapter();
  server.setBasePath(PATH);
  createBullBoard({
    queues: queues.map((queue) => {
      const adapter = new BullMQAdapter(queue, { readOnlyMode: true });
      // Ids tell where to look; what a tenant sent is the tenant's.
      adapter.setFormatter("data", (data: JobData) => ({ ...data, payload: undefined }));
      return adapter;
    }),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: "espalier", hideDocsLink: true } },
  });
  await instance.register(
    async (scope) => {
      scope.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
        reply.headers(SECURITY_HEADERS);
        try {
          await admitOperator(request, authenticator);
        } catch (thrown) {
          return refuse(thrown, request, reply);
        }
        return undefined;
      });
      scope.addHook("onSend", async (_request, _reply, payload) =>
        typeof payload === "string" ? payload.replaceAll(FOREIGN_LINKS, "") : payload,
      );
      await scope.register(server.registerPlugin());
    },
    { prefix: PATH },
  );
}

/** @throws EspalierError `unauthorized`, `key_expired`, `forbidden`, `method_not_allowed` */
async function admitOperator(request: FastifyRequest, authenticator: Authenticator): Promise<void> {
  const { scopes } = await authenticator.authenticate(asBearer(request.headers.authorization));
  if (!scopes.includes("operator")) {
    throw new EspalierError("forbidden", "The API key lacks the scope `operator`.", { details: { scope: "operator" } });
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw new EspalierError("method_not_allowed", "The board only shows; jobs are changed by the routes of the API.", {
      details: { allow: ["GET"] },
    });
  }
}

/** The password of a `Basic` header as the key that it is; other headers as they are. */
function asBearer(header: string | undefined): string | undefined {
  const match = /^Basic +([A-Za-z0-9+/=]{1,1024})$/i.exec(header ?? "");
  if (match === null) return header;
  const credentials = Buffer.from(match[1] ?? "", "base64").toString("utf8");
  return `Bearer ${credentials.slice(credentials.indexOf(":") + 1)}`;
}

/** By itself: the board has an error handler of its own, which knows no problems. */
function refuse(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toEspalierError(thrown);
  return reply
    .status(error.kind.status)
    .headers({ ...problemHeaders(error), ...(error.kind.status === 401 && { "www-authenticate": CHALLENGE }) })
    .header("x-request-id", request.id)
    .send(JSON.stringify(problemOf(error, request.id)));
}
