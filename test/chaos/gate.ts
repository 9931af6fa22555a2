import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A way to a server that can be cut: then connections end, and new ones are refused. */
export interface Gate {
  readonly port: number;
  cut(): Promise<void>;
  /** Mends the way, at the same port. */
  mend(): Promise<void>;
}

/** Opens a gate on a free port of this machine to a server on it. */
export async function openGate(to: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // The other end sees it by its own end.
    socket.on("error", () => socket.destroy());
  };
  const server = createServer((from) => {
    const onward = connect(to, "127.0.0.1");
    for (const socket of [from, onward]) keep(socket);
    from.once("close", () => onward.destroy());
    onward.once("close", () => from.destroy());
    from.pipe(onward).pipe(from);
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    cut: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    mend: () => listen(server, port),
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}
