import { expect, test } from "@jest/globals";
import { change, grow, type OpenEmpty, SCOPE } from "./fixtures.js";

/** Of stores in the process of their writers: inbox rows age by the clock of the changes. */
export function describeInboxAge(name: string, open: OpenEmpty): void {
  test(`${name}: inbox rows are forgotten when no repeat can come any more`, async () => {
    const stores = await open();
    const { tree } = stores;
    await grow(stores, []);
    const old = change(1, { time: 10_000 });
    await tree.commit(SCOPE, old);
    await tree.commit(SCOPE, change(2, { time: 10_000 + 8 * 86_400_000 }));
    expect(await tree.inbox(SCOPE, old.inbox.job, old.inbox.step)).toBeUndefined();
    await stores.close();
  });
}
