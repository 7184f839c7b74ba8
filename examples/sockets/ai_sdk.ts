import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";

type Stream = ReadableStream<UIMessageChunk>;
type Waiting = { take: (frame: any) => void; fail: (error: Error) => void };

/** A transport of `useChat` for ai 5 and 6 over one web socket; ai 7 brings its own. `url` says the version:
 * `wss://app.example/api/chat/ws?ai=6`. */
export class SocketChatTransport<Message extends UIMessage> implements ChatTransport<Message> {
  private readonly requests = new Map<string, Waiting>();
  private opened?: Promise<WebSocket>;

  constructor(private readonly url: string, private readonly protocols: string[] = ["agui"]) {}

  async sendMessages({ chatId, messages, trigger, messageId, abortSignal, body }: Parameters<ChatTransport<Message>["sendMessages"]>[0]) {
    return (await this.ask({ type: "send", id: chatId, messages, trigger, messageId, body }, abortSignal)) as Stream;
  }

  reconnectToStream({ chatId }: { chatId: string }) {
    return this.ask({ type: "resume", id: chatId });
  }

  close = () => this.opened?.then((socket) => socket.close());

  /** The stream of a request; null if there is nothing to resume. */
  private async ask(asked: object, signal?: AbortSignal): Promise<Stream | null> {
    const socket = await (this.opened ??= this.open()), requestId = crypto.randomUUID();
    const over = () => this.requests.delete(requestId);
    return new Promise((resolve, reject) => {
      const stream = new ReadableStream<UIMessageChunk>({
        start: (chunks) => {
          const fail = (error: Error) => { if (over()) { reject(error); chunks.error(error); } };
          const take = (frame: any) => {
            if (frame.type === "start") resolve(stream);
            else if (frame.type === "chunk") chunks.enqueue(frame.chunk);
            else if (frame.type === "error") fail(new Error(frame.errorText));
            else if (over()) frame.type === "end" ? chunks.close() : resolve(null);
          };
          this.requests.set(requestId, { take, fail });
          const abort = () => { socket.send(JSON.stringify({ type: "abort", requestId })); if (over()) chunks.close(); };
          queueMicrotask(() => (signal?.aborted ? abort() : socket.send(JSON.stringify({ ...asked, requestId }))));
          signal?.addEventListener("abort", abort, { once: true });
        },
      });
    });
  }

  private open() {
    const socket = new WebSocket(this.url, this.protocols);
    socket.onmessage = ({ data }) => { const frame = JSON.parse(data); this.requests.get(frame.requestId)?.take(frame); };
    return new Promise<WebSocket>((resolve, reject) => {
      socket.onopen = () => resolve(socket);
      socket.onclose = ({ code, reason }) => {
        const error = new Error(`the socket was closed: ${code} ${reason}`);
        this.opened = undefined;
        for (const one of [...this.requests.values()]) one.fail(error);
        reject(error);
      };
    });
  }
}
