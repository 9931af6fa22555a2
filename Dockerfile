# syntax=docker/dockerfile:1.17
# One image for the API and for workers of every role; the command says which (docker-compose.yml, docs/operations/distributed.md).
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS packages
WORKDIR /app
# The CPU part of onnxruntime-node is in its package; its script would download CUDA parts.
ENV ONNXRUNTIME_NODE_INSTALL_CUDA=skip npm_config_cache=/var/cache/npm
COPY package.json package-lock.json .npmrc ./
# Not `npm ci`: docs/adr/0071. Runtimes of other systems stay out of the image.
RUN --mount=type=cache,target=/var/cache/npm \
  npm install --no-save --omit=dev \
  && rm -rf node_modules/onnxruntime-node/bin/napi-v6/darwin node_modules/onnxruntime-node/bin/napi-v6/win32

FROM packages AS build
RUN --mount=type=cache,target=/var/cache/npm npm install --no-save --include=dev
COPY nest-cli.json tsconfig.json .swcrc ./
COPY apps apps
COPY libs libs
RUN npm run build

FROM node:${NODE_VERSION}-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production \
  ESPALIER_HOST=0.0.0.0 \
  ESPALIER_METRICS_PORT=9100 \
  ESPALIER_DATA=/data \
  ESPALIER_MODELS=/models
# The API keeps the first key in /data; local models, where they are used, are mounted at /models.
RUN install -d -o node -g node -m 0700 /data && install -d /models
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY scripts/healthcheck.mjs scripts/
# `node`, by number: Kubernetes checks runAsNonRoot by it.
USER 1000:1000
EXPOSE 7700 9100
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 CMD ["node", "scripts/healthcheck.mjs"]
ENTRYPOINT ["node", "--no-warnings"]
CMD ["dist/apps/api/src/main.js"]
