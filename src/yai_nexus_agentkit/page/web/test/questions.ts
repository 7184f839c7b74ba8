import assert from "node:assert/strict";
import { test } from "node:test";
import { type Decision, questionOf } from "../src/agent/questions.ts";

const args = { amount: 5 };
const asked = (value: unknown, more: object = {}) =>
  questionOf({ id: "q", reason: "langgraph:interrupt", metadata: { langgraph: { value } }, ...more });

test("how each framework asks for an approval, and takes the answer", () => {
  const edits = { type: "edit", args: { amount: 1 } } as const;
  const call = asked({ name: "pay", args }, { reason: "tool_call", message: 'Allow pay {"amount": 5}?' });
  const adk = { originalFunctionCall: { name: "pay", args }, toolConfirmation: { hint: "Send money?" } };
  const confirmation = questionOf({ id: "q", reason: "tool_call", metadata: { adk: { value: adk } } });
  const plain = { ...adk, toolConfirmation: { hint: "Please approve by responding with a FunctionResponse." } };
  const unnamed = questionOf({ id: "q", reason: "tool_call", metadata: { adk: { value: plain } } });
  const requests = [{ name: "pay", args, description: "Tool: pay\nArgs: {'amount': 5}" }];
  const batch = asked({ action_requests: requests }, { reason: "langgraph:tool_approval" });
  const inbox = asked([{ action_request: { action: "pay", args }, config: {}, description: "Send this?" }]);
  const cases: [ReturnType<typeof asked>, string, Decision, unknown][] = [
    [call, "Allow pay?", { type: "approve" }, { approved: true }],
    [call, "Allow pay?", { type: "reject" }, { approved: false }],
    [call, "Allow pay?", edits, { approved: true, editedArgs: { amount: 1 } }],
    [confirmation, "Send money?", { type: "approve" }, { approved: true }],
    [unnamed, "Allow pay?", { type: "approve" }, { approved: true }],
    [batch, "Allow pay?", { type: "reject" }, { decisions: [{ type: "reject" }] }],
    [
      batch,
      "Allow pay?",
      edits,
      { decisions: [{ type: "edit", edited_action: { name: "pay", args: { amount: 1 } } }] },
    ],
    [inbox, "Send this?", { type: "approve" }, [{ type: "accept", args: null }]],
    [inbox, "Send this?", edits, [{ type: "edit", args: { action: "pay", args: { amount: 1 } } }]],
  ];
  for (const [question, title, decision, payload] of cases) {
    assert.equal(question.title, title);
    assert.ok(question.asked.kind === "approval", question.asked.kind);
    assert.deepEqual(question.asked.actions[0]?.args, args);
    assert.deepEqual(question.asked.payload([decision]), payload);
  }
});

test("other questions", () => {
  assert.equal(asked("Go on?", { reason: "confirmation", message: "Go on?" }).asked.kind, "confirmation");
  assert.equal(asked({ question: "Which?", options: ["a", "b"] }, { message: "Which?" }).asked.kind, "choice");
  assert.equal(asked({ question: "Why?" }, { message: "Why?" }).asked.kind, "text");
  const schema = { responseSchema: { type: "string" }, message: "Name?" };
  assert.equal(asked("Name?", schema).asked.kind, "form");
});

test("a question is never JSON", () => {
  const { title, about } = asked({ draft: { to: "ann" } }, { message: '{"draft": {"to": "ann"}}' });
  assert.equal(title, "The agent needs an answer");
  assert.deepEqual(about, { draft: { to: "ann" } });
});
