import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { openApiDocument } from "./open-api.js";

/** Everything comes from this server, over whichever scheme it is reached by. */
const CONTENT_POLICY =
  "default-src 'self'; base-uri 'self'; img-src 'self' data:; object-src 'none'; frame-ancestors 'self'; style-src 'self' 'unsafe-inline'";

/** The page at /docs: Swagger UI with the document inside, from files of this machine only. */
export async function serveDocs(instance: FastifyInstance): Promise<void> {
  const document = openApiDocument() as unknown as Record<string, unknown>;
  await instance.register(swagger, { mode: "static", specification: { document } } as never);
  await instance.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: CONTENT_POLICY,
    validatorUrl: false,
    uiConfig: { docExpansion: "list", persistAuthorization: false },
  });
}
