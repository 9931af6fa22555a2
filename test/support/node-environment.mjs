import { TestEnvironment } from "jest-environment-node";

/**
 * Jest's Node environment with the typed arrays of the main realm: onnxruntime-node makes its tensors there and checks
 * them with `instanceof` in the test's realm.
 */
export default class NodeEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    Object.assign(this.global, { Float32Array, Float64Array, BigInt64Array });
  }
}
