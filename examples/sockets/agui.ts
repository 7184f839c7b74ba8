import { AbstractAgent, type AgentConfig, type BaseEvent, type RunAgentInput } from "@ag-ui/client";
import { Observable, type Subscriber } from "rxjs";

/** One web socket for any number of agents. `url`: `wss://app.example/agent/ws?device=laptop`. */
export class AgentSocket {
  /** Gets the frames of no request: `connected`, and `thread`, on which a page that shows it should connect. */
  onFrame: (frame: any) => void = () => {};
  private readonly requests = new Map<string, Subscriber<BaseEvent>>();
  private opened?: Promise<WebSocket>;

  /** `protocols`: with a token `["agui", "agui.token." + base64url(token)]`. */
  constructor(private readonly url: string, private readonly protocols: string[] = ["agui"]) {}

  async send(frame: object) {
    (await (this.opened ??= this.open())).send(JSON.stringify(frame));
  }

  /** The events of one request. Who unsubscribes leaves it. */
  ask(type: "run" | "connect", input: RunAgentInput): Observable<BaseEvent> {
    const requestId = crypto.randomUUID();
    return new Observable((subscriber) => {
      this.requests.set(requestId, subscriber);
      this.send({ type, requestId, input }).catch((error) => subscriber.error(error));
      return () => void (this.requests.delete(requestId) && this.send({ type: "leave", requestId }).catch(() => {}));
    });
  }

  close = () => this.opened?.then((socket) => socket.close());

  private open() {
    const socket = new WebSocket(this.url, this.protocols);
    socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    return new Promise<WebSocket>((resolve, reject) => {
      socket.onopen = () => resolve(socket);
      socket.onclose = ({ code, reason }) => {
        const error = new Error(`the socket was closed: ${code} ${reason}`);
        this.opened = undefined;
        for (const [id, one] of this.requests) if (this.requests.delete(id)) one.error(error);
        reject(error);
      };
    });
  }

  private take(frame: any) {
    const subscriber = this.requests.get(frame.requestId);
    if (frame.type === "ping") return void this.send({ type: "pong" });
    if (!subscriber) return this.onFrame(frame);
    for (const event of frame.events ?? []) subscriber.next(event);
    if (frame.type === "events" && !frame.done) return;
    this.requests.delete(frame.requestId);
    frame.error ? subscriber.error(new Error(frame.error.error_description)) : subscriber.complete();
  }
}

export class SocketAgent extends AbstractAgent {
  constructor(private readonly socket: AgentSocket, config: AgentConfig = {}) { super(config); }
  run(input: RunAgentInput) { return this.socket.ask("run", input); }
  protected connect(input: RunAgentInput) { return this.socket.ask("connect", input); }
  abortRun() { void this.socket.send({ type: "cancel", requestId: crypto.randomUUID(), threadId: this.threadId }); }
}
