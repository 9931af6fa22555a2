/** A payload that is JSON already, in UTF-8: a large one need not be parsed to be kept. Always kept by reference. */
export class SerializedPayload {
  constructor(readonly bytes: Uint8Array) {}
}
