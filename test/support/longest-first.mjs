import Sequencer from "@jest/test-sequencer";

/** Suites that take a minute or more. One of them that began last would run alone while the other workers are done. */
const LONGEST = [
  "libs/stores/src/neo4j/faults.int.spec.ts",
  "test/profiles/same-answer.spec.ts",
  "test/chaos/stores.spec.ts",
  "test/e2e/distributed.spec.ts",
  "libs/stores/src/neo4j/outbox.int.spec.ts",
  "test/chaos/workers.spec.ts",
  "test/e2e/cli-up.spec.ts",
];

/** Jest's own order, the longest suites before all others: a clean checkout knows no times of earlier runs. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const at = LONGEST.findIndex((name) => path.endsWith(`/${name}`));
      return at === -1 ? LONGEST.length : at;
    };
    return super.sort(tests).toSorted((one, other) => rank(one) - rank(other));
  }
}
