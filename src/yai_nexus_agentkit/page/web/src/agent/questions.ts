/** Pure. The agent's questions as a page asks them, and the answers as the agent's framework wants them. */

import type { Interrupt } from "@ag-ui/client";
import { type JsonSchema, schemaOf } from "../form/schema.ts";
import { isObject, type JsonObject, listOf, objectOf, textOf } from "./json.ts";

/** A call that waits for a yes. `edit`: the schema of its arguments, if they may be changed. */
export type Action = {
  name: string;
  args: JsonObject;
  text: string | undefined;
  edit: { schema: JsonSchema; root: JsonSchema } | undefined;
  /** Whether it may be answered in words, instead of running. */
  words: boolean;
};

export type Decision =
  { type: "approve" } | { type: "edit"; args: JsonObject } | { type: "reject" } | { type: "words"; text: string };

export type Asked =
  | { kind: "approval"; actions: Action[]; payload: (decisions: Decision[]) => unknown }
  | { kind: "confirmation" }
  | { kind: "choice"; options: string[] }
  | { kind: "form"; schema: JsonSchema }
  | { kind: "login"; uri: string }
  | { kind: "text" };

export type Question = {
  id: string;
  title: string;
  /** What the agent gave along, if it is more than the title says. */
  about: unknown;
  asked: Asked;
  /** Whether the user may leave it unanswered. */
  cancels: boolean;
  /** When it can no longer be answered, in milliseconds. */
  ends: number;
};

export function questionOf(interrupt: Interrupt): Question {
  const metadata = objectOf(interrupt.metadata);
  const adk = objectOf(metadata.adk).value;
  const value = objectOf(metadata.langgraph).value ?? adk;
  const schema = interrupt.responseSchema as JsonSchema | undefined;
  const asked = askedOf(interrupt, value, schema);
  const words = interrupt.message && !isJson(interrupt.message) ? interrupt.message : undefined;
  const about = words || asked.kind === "approval" || !isObject(value) ? undefined : value;
  const title = asked.kind === "approval" ? titleOf(asked.actions) : (words ?? "The agent needs an answer");
  const cancels = asked.kind !== "approval" && asked.kind !== "confirmation";
  const ends = interrupt.expiresAt ? Date.parse(interrupt.expiresAt) : Infinity;
  return { id: interrupt.id, title, about, asked, cancels, ends };
}

/** The question in words: of one call, or about several. */
function titleOf(actions: Action[]): string {
  const [only, ...others] = actions;
  return only && others.length === 0 ? askFor(only) : "The agent asks for your approval";
}

export const askFor = (action: Action): string => action.text ?? `Allow ${action.name}?`;

function askedOf(interrupt: Interrupt, value: unknown, schema: JsonSchema | undefined): Asked {
  const given = objectOf(value);
  const requests = listOf(given.action_requests).map(objectOf);
  const inbox = (Array.isArray(value) ? value : [value]).map(objectOf).filter((one) => isObject(one.action_request));
  if (interrupt.reason === "tool_call" && (!schema || schema.properties?.approved)) return ofCall(given, schema);
  if (requests.length > 0) return ofBatch(requests, schema);
  if (inbox.length > 0) return ofInbox(inbox, Array.isArray(value));
  if (interrupt.reason === "confirmation" || schema?.type === "boolean") return { kind: "confirmation" };
  const uri = textOf(given.authUri);
  if (uri) return { kind: "login", uri };
  if (schema && Object.keys(schema).length > 0) return { kind: "form", schema };
  const options = listOf(given.options ?? given.choices);
  const texts = options.filter((option) => typeof option === "string");
  return texts.length > 0 && texts.length === options.length ? { kind: "choice", options: texts } : { kind: "text" };
}

/** One call: `require_approval`, LangChain's middleware in its mode for single calls, ADK's confirmation. */
function ofCall(given: JsonObject, schema: JsonSchema | undefined): Asked {
  const call = isObject(given.originalFunctionCall) ? given.originalFunctionCall : given;
  const args = objectOf(call.args);
  const editable = schema?.properties?.editedArgs;
  const edit = schema && editable ? { schema: editable, root: schema } : undefined;
  const hint = textOf(objectOf(given.toolConfirmation).hint);
  const action = {
    name: textOf(call.name) ?? "this",
    args,
    text: sentence(given.description ?? hint),
    edit,
    words: false,
  };
  return { kind: "approval", actions: [action], payload: ([decision]) => approved(decision) };
}

function approved(decision: Decision | undefined): JsonObject {
  if (decision?.type === "approve") return { approved: true };
  if (decision?.type === "edit") return { approved: true, editedArgs: decision.args };
  return { approved: false, ...(decision?.type === "words" ? { reason: decision.text } : {}) };
}

/** Several calls at once: LangChain's middleware. Its schema says what may be decided about each. */
function ofBatch(requests: JsonObject[], schema: JsonSchema | undefined): Asked {
  const rules = schema?.properties?.decisions;
  const actions = requests.map((request, n): Action => {
    const allowed = (rules?.prefixItems?.[n] ?? rules?.items)?.properties?.type?.enum ?? ["approve", "edit", "reject"];
    const args = objectOf(request.args);
    return {
      name: textOf(request.name) ?? "this",
      args,
      text: sentence(request.description),
      edit: allowed.includes("edit") ? ofValues(args) : undefined,
      words: allowed.includes("respond"),
    };
  });
  const payload = (decisions: Decision[]) => ({
    decisions: decisions.map((decision, n) => {
      if (decision.type === "words") return { type: "respond", message: decision.text };
      if (decision.type !== "edit") return { type: decision.type };
      return { type: "edit", edited_action: { name: actions[n]?.name, args: decision.args } };
    }),
  });
  return { kind: "approval", actions, payload };
}

/** What graphs for LangChain's Agent Inbox ask, a list or one. */
function ofInbox(asked: JsonObject[], isList: boolean): Asked {
  const actions = asked.map((one): Action => {
    const request = objectOf(one.action_request);
    const config = objectOf(one.config);
    const args = objectOf(request.args);
    return {
      name: textOf(request.action) ?? "this",
      args,
      text: sentence(one.description),
      edit: config.allow_edit === false ? undefined : ofValues(args),
      words: config.allow_respond === true,
    };
  });
  const one = (decision: Decision, n: number) => {
    if (decision.type === "words") return { type: "response", args: decision.text };
    if (decision.type === "edit") return { type: "edit", args: { action: actions[n]?.name, args: decision.args } };
    return { type: decision.type === "approve" ? "accept" : "ignore", args: null };
  };
  const payload = (decisions: Decision[]) => (isList ? decisions.map(one) : decisions.map(one)[0]);
  return { kind: "approval", actions, payload };
}

const ofValues = (args: JsonObject) => ({ schema: schemaOf(args), root: {} });

/** Descriptions that frameworks make are for programs, or repeat the arguments as data, which the card shows anyway. */
function sentence(description: unknown): string | undefined {
  const text = textOf(description);
  return text && !isJson(text) && !/^Args:|FunctionResponse/m.test(text) ? text : undefined;
}

const isJson = (text: string): boolean => /[{[]\s*["'{[\]}]/.test(text);
