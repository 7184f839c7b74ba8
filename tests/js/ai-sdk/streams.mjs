// Streams that were recorded, through the client code of one generation of `ai`. A line of JSON in, a line of JSON out.
//   node streams.mjs
// In: {"ai": 6, "chunks": [...], "message"?: the assistant's message that goes on}
// Out: {"message": what a page shows, "errors": what the client says, "violations": what it forgives,
//       "sends": a page with the usual rules sends it by itself}
// In: {"chats": [[message, ...], ...]}. Out: {"valid": [[generations that have such messages], ...]}
import { createInterface } from 'node:readline';
import { orderChecker } from './ui-stream.mjs';
import { MAJORS, automatically, loadAi } from './lib.mjs';

async function read({ ai: major, chunks, message }) {
  const ai = await loadAi(major), out = { message: null, errors: [] };
  const schema = typeof ai.uiMessageChunkSchema === 'function' ? ai.uiMessageChunkSchema() : ai.uiMessageChunkSchema;
  const checker = orderChecker(major, { message });
  const stream = new ReadableStream({
    async start(controller) {
      for (const chunk of chunks) {
        const checked = await schema.validate(chunk);
        if (!checked.success) return controller.error(checked.error);
        checker.see(chunk);
        controller.enqueue(checked.value);
      }
      controller.close();
    },
  });
  const failed = error => out.errors.push(String(error.message ?? error).slice(0, 400));
  try {
    for await (const shown of ai.readUIMessageStream({ stream, message, onError: failed })) out.message = shown;
  } catch (error) { failed(error); }
  const valid = out.message?.parts.length ? await ai.safeValidateUIMessages({ messages: [out.message] }) : { success: true };
  if (!valid.success) failed(valid.error);
  return { ...out, violations: checker.close(), sends: !!out.message && automatically(ai)({ messages: [out.message] }) };
}

async function validate({ chats }) {
  const ais = await Promise.all(MAJORS.map(loadAi));
  const judged = messages => Promise.all(ais.map(ai => ai.safeValidateUIMessages({ messages })));
  const verdicts = await Promise.all(chats.map(judged));
  return { valid: verdicts.map(each => MAJORS.filter((_, n) => each[n].success)) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  console.log(JSON.stringify(await (asked.chats ? validate : read)(asked)));
}
