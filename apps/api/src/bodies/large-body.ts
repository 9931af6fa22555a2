/** A body too large to be parsed on the event loop, as it came. */
export class LargeBody {
  constructor(readonly bytes: Uint8Array<ArrayBuffer>) {}
}
