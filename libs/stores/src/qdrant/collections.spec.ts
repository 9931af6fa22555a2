import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { Collections } from "./collections.js";
import { QdrantConnection } from "./connection.js";

const SETTINGS = { url: "http://127.0.0.1:9" };

/** A server without collections, until one is made. */
class EmptyServer extends QdrantConnection {
  readonly sent: string[] = [];
  #isMade = false;

  override async send<T>(doing: string): Promise<T> {
    this.sent.push(doing);
    if (doing === "making a collection") this.#isMade = true;
    if (doing !== "reading a collection") return true as T;
    if (!this.#isMade) throw new EspalierError("store_unavailable", "Not there.", { cause: { status: 404 } });
    const params = { vectors: { dense: { size: 2, distance: "Cosine" } }, sparse_vectors: { terms: {} } };
    return { config: { params }, payload_schema: {} } as T;
  }
}

test("who looks for a collection at the moment in which it is made does not hide it", async () => {
  const server = new EmptyServer(SETTINGS);
  const collections = new Collections(server, SETTINGS);
  // The second look begins between the answer that there is none and the request that makes it.
  const looking = collections.find("model").then(() => collections.find("model"));
  const opened = await Promise.all([collections.open("model", 2), collections.open("model", 2)]);
  expect(opened).toEqual(Array(2).fill(expect.objectContaining({ model: "model", dimension: 2 })));
  await looking;
  expect(await collections.find("model")).toBe(opened[0]);
  expect(server.sent.filter((doing) => doing === "making a collection")).toHaveLength(1);
});
