import { emptyNeo4j, neo4jServer, startNeo4j, type Neo4jMissing } from "../support/neo4j.js";
import { qdrantServer, startQdrant, type QdrantMissing } from "../support/qdrant.js";
import { openGate } from "./gate.js";
import { LONG } from "./row.js";

/** A server that a row takes away and brings back. */
export interface StoreServer {
  readonly url: string;
  away(): Promise<void>;
  back(): Promise<void>;
  close(): Promise<void>;
}

/** One that is also made to hang. */
export interface HangingStoreServer extends StoreServer {
  hang(): Promise<void>;
  goOn(): Promise<void>;
}

/** Servers of the distributed profile. */
export interface StoreServers {
  readonly neo4j: HangingStoreServer | StoreServer;
  readonly qdrant: StoreServer;
}

/**
 * The long form has servers of its own, which are killed; the short form those of the Jest worker, which are cut off: a Neo4j
 * that was killed takes long to come back. Undefined where one cannot run.
 */
export async function storeServers(): Promise<StoreServers | undefined> {
  return LONG ? ownServers() : sharedServers();
}

async function ownServers(): Promise<StoreServers | undefined> {
  const [neo4j, qdrant] = [await startNeo4j(), await startQdrant()];
  if (isMissing(neo4j) || isMissing(qdrant)) return undefined;
  return {
    neo4j: {
      ...{ url: neo4j.uri, away: () => neo4j.kill(), back: () => neo4j.start(), close: () => neo4j.close() },
      ...{ hang: () => neo4j.freeze(), goOn: () => neo4j.thaw() },
    },
    qdrant: { url: qdrant.url, away: () => qdrant.kill(), back: () => qdrant.start(), close: () => qdrant.close() },
  };
}

async function sharedServers(): Promise<StoreServers | undefined> {
  const [neo4j, qdrant] = [await neo4jServer(), await qdrantServer()];
  if (isMissing(neo4j) || isMissing(qdrant)) return undefined;
  await emptyNeo4j(neo4j.uri);
  return { neo4j: await gated(neo4j.uri), qdrant: await gated(qdrant.url) };
}

async function gated(url: string): Promise<StoreServer> {
  const through = new URL(url);
  const gate = await openGate(Number(through.port));
  through.port = String(gate.port);
  const cut = (): Promise<void> => gate.cut();
  return { url: through.href.replace(/\/$/, ""), away: cut, back: () => gate.mend(), close: cut };
}

function isMissing(server: object): server is Neo4jMissing | QdrantMissing {
  return "skipped" in server;
}
