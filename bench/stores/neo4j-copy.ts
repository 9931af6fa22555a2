import type { Driver } from "neo4j-driver";
import { type MemoryScope, randomId } from "#core";
import type { TreeStore } from "#memory";
import type { StateRef } from "#scoring";
import { millisecondsOf } from "../metrics/milliseconds-of.js";
import { chunksOf } from "./chunks-of.js";
import { checkCounts, type CopyByHand } from "./copy-by-hand.js";

type Row = Readonly<Record<string, unknown>>;
type Write = readonly [statement: string, rows: readonly Row[]];

/** Nodes with their edges and outbox rows of one transaction, and outbox rows that one removes: as the store. */
const TRANSACTION_NODES = 2_000;
const TRANSACTION_POINTS = 1_000;

/** What names a row of each label, by properties of an index; the first one names the memory. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  Node: ["memory", "id", "born"],
  Outbox: ["memory", "revision"],
  Memory: ["key"],
  Tracked: ["memory", "model", "field"],
  SchemaEntry: ["memory", "entry"],
  Terms: ["memory", "field"],
  Term: ["memory", "field", "term"],
  Revision: ["memory", "revision"],
  Inbox: ["memory", "job", "step"],
};
/** Of these a change set writes few rows, or writes anew rows that are there. */
const COUNTED = Object.keys(KEYS).filter((label) => label !== "Node" && label !== "Outbox");

const CREATE_NODES = "UNWIND $rows AS row CREATE (n:Node) SET n = row";
const CREATE_OUTBOX = "UNWIND $rows AS row CREATE (o:Outbox) SET o = row";
const REMOVE_OUTBOX = "UNWIND $rows AS row MATCH (o:Outbox {key: row.key}) DELETE o";
const LINK = `UNWIND $rows AS row MATCH (parent:Node {memory: row.memory, id: row.parent, born: row.parentBorn})
  CALL (row) { MATCH (child:Node {memory: row.memory, id: row.id, born: row.born}) RETURN child }
  CREATE (parent)-[:CHILD]->(child)`;
const COUNT_CHILDREN = `UNWIND $rows AS row MATCH (n:Node {memory: row.memory, id: row.id, born: row.born})
  SET n.children = row.children`;

const NEW_NODES = `MATCH (n:Node) WHERE n.memory = $memory AND n.id > '' AND n.born = $revision
  RETURN properties(n) AS row ORDER BY n.ordinal`;
const NEW_LINKS = `MATCH (n:Node) WHERE n.memory = $memory AND n.id > '' AND n.born = $revision
  MATCH (p:Node)-[:CHILD]->(n)
  RETURN {memory: n.memory, id: n.id, born: n.born, parent: p.id, parentBorn: p.born} AS row`;
const OLD_PARENTS = `MATCH (n:Node) WHERE n.memory = $memory AND n.id > '' AND n.born = $revision
  MATCH (p:Node)-[:CHILD]->(n) WHERE p.born < $revision
  RETURN DISTINCT {memory: p.memory, id: p.id, born: p.born, children: p.children} AS row`;
const NEW_OUTBOX = "MATCH (o:Outbox) WHERE o.memory = $memory AND o.revision = $revision RETURN properties(o) AS row";
const FORGET = "MATCH (t:Tombstone {key: $memory}) DELETE t";

const matchAll = (label: string): string => {
  const [memory, ...others] = KEYS[label] ?? [];
  const named = others.map((name) => ` AND n.${name} IS NOT NULL`).join("");
  return `MATCH (n:${label}) WHERE n.${memory} = $memory${named}`;
};
const writeAnew = (label: string): string => {
  const names = (KEYS[label] ?? []).map((name) => `${name}: row.${name}`).join(", ");
  return `UNWIND $rows AS row MERGE (n:${label} {${names}}) SET n = row`;
};

/** Copies a memory into one of its own name in the same database. @param driver one that keeps integers as they are */
export class Neo4jCopy implements CopyByHand {
  readonly #copy: MemoryScope;
  /** Counted rows as they were copied. */
  readonly #known = new Set<string>();
  /** Keys of the outbox rows that are there, by node. */
  readonly #waiting = new Map<string, unknown>();

  constructor(
    private readonly driver: Driver,
    private readonly tree: TreeStore,
    private readonly scope: MemoryScope,
  ) {
    this.#copy = { tenant: scope.tenant, memory: randomId("mem") };
  }

  async writeChange(revision: number): Promise<number> {
    return this.#write(await this.#made(revision));
  }

  /** The points lie elsewhere: here their outbox rows go. */
  writePoints(items: readonly StateRef[]): Promise<number> {
    const rows = items.map(({ id }) => ({ key: this.#waiting.get(id) }));
    return this.#write([...chunksOf(rows, TRANSACTION_POINTS)].map((page) => [[REMOVE_OUTBOX, page]]));
  }

  async check(): Promise<void> {
    checkCounts(await this.#counts(this.scope), await this.#counts(this.#copy));
  }

  async remove(): Promise<void> {
    await this.tree.deleteMemory(this.#copy);
    await this.#read(FORGET, this.#copy);
  }

  /** Milliseconds of some transactions, one after the other. */
  async #write(transactions: readonly (readonly Write[])[]): Promise<number> {
    const session = this.driver.session();
    try {
      return await millisecondsOf(async () => {
        for (const writes of transactions) {
          await session.executeWrite(async (transaction) => {
            const wanted = writes.filter(([, rows]) => rows.length > 0);
            // In this order, and none waits for the answer of the one before.
            await Promise.all(wanted.map(([statement, rows]) => transaction.run(statement, { rows })));
          });
        }
      });
    } finally {
      await session.close();
    }
  }

  /** The transactions of a change set; all of a small one is in one. */
  async #made(revision: number): Promise<readonly (readonly Write[])[]> {
    const nodes = await this.#rows(NEW_NODES, revision);
    const links = await this.#rows(NEW_LINKS, revision);
    const outbox = await this.#rows(NEW_OUTBOX, revision);
    const parents = await this.#rows(OLD_PARENTS, revision);
    for (const { id, key } of outbox) this.#waiting.set(id as string, key);
    const batches = [...chunksOf(nodes, TRANSACTION_NODES)].map((page): readonly Write[] => {
      const ids = new Set(page.map(({ id }) => id));
      const own = (rows: readonly Row[]): readonly Row[] => rows.filter(({ id }) => ids.has(id));
      return [
        [CREATE_NODES, page],
        [LINK, own(links)],
        [CREATE_OUTBOX, own(outbox)],
      ];
    });
    const last: Write[] = [[COUNT_CHILDREN, parents]];
    for (const label of COUNTED) last.push([writeAnew(label), await this.#changed(label, revision)]);
    return batches.length === 1 ? [[...batches.flat(), ...last]] : [...batches, last];
  }

  async #changed(label: string, revision: number): Promise<readonly Row[]> {
    const rows = await this.#rows(`${matchAll(label)} RETURN properties(n) AS row`, revision);
    return rows.filter((row) => {
      const key = JSON.stringify([label, row]);
      const isNew = !this.#known.has(key);
      this.#known.add(key);
      return isNew;
    });
  }

  /** Rows of the store with the name of the copy. */
  async #rows(statement: string, revision: number): Promise<readonly Row[]> {
    const rows = await this.#read(statement, this.scope, revision);
    const { memory } = this.scope;
    const renamed = (value: unknown): unknown =>
      typeof value === "string" ? value.replace(memory, this.#copy.memory) : value;
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, renamed(value)])));
  }

  async #counts(scope: MemoryScope): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const count = async (name: string, match: string, what: string): Promise<void> => {
      const [row] = await this.#read(`${match} RETURN {count: count(${what})} AS row`, scope);
      counts.set(name, Number(row?.["count"]));
    };
    for (const label of Object.keys(KEYS)) await count(label, matchAll(label), "n");
    await count("CHILD", `${matchAll("Node")} MATCH (n)-[link:CHILD]->()`, "link");
    return counts;
  }

  async #read(statement: string, { tenant, memory }: MemoryScope, revision = 0): Promise<readonly Row[]> {
    const given = { memory: `${tenant}/${memory}`, revision };
    const { records } = await this.driver.executeQuery(statement, given);
    return records.map((record) => record.get("row") as Row);
  }
}
