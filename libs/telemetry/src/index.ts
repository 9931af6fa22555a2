export { createLogger } from "./logger.js";
export { answerMetrics, askMetrics, type MetricsChannel } from "./metrics-channel.js";
export { createMetrics, type Backlog, type Metrics, type MetricsSnapshot, type QueueCounts } from "./metrics.js";
export { serveMetrics } from "./serve-metrics.js";
export { timeCalls } from "./time-calls.js";
