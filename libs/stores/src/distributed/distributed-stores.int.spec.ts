/** The whole contract, over Neo4j, Qdrant and Redis together. */
import { jest } from "@jest/globals";
import { describeDistributed } from "../../../../test/support/distributed.js";
import { describeStores } from "../contract/all-stores.contract.js";

jest.setTimeout(400_000);

/** Each call is a round trip or more: fewer histories than of stores in the process. */
const HISTORIES = 3;

await describeDistributed("distributed stores", (servers) => {
  describeStores("distributed", (limits) => servers.open(limits), HISTORIES);
});
