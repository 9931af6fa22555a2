// Lets a child process run the sources as they are: Node strips the types, `./x.js` is `./x.ts`.
import { registerHooks } from "node:module";

registerHooks({
  resolve: (specifier, context, next) =>
    next(context.parentURL?.endsWith(".ts") ? specifier.replace(/^(\..*)\.js$/, "$1.ts") : specifier, context),
});
