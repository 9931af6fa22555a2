export * from "./onnx/local-embedding-model.js";
