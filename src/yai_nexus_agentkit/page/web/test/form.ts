import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf } from "../src/form/problems.ts";
import { answerOf, fieldOf, initial, type JsonSchema, labelOf, schemaOf, variantOf } from "../src/form/schema.ts";

// As pydantic describes a model.
const trip: JsonSchema = {
  $defs: {
    Card: { type: "object", title: "Card", properties: { kind: { const: "card" }, number: { type: "string" } } },
    Invoice: { type: "object", title: "Invoice", properties: { kind: { const: "invoice" } } },
    Meal: { enum: ["none", "fish"], type: "string", title: "Meal" },
    Node: { type: "object", properties: { next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] } } },
  },
  type: "object",
  properties: {
    date: { type: "string", format: "date", title: "Date" },
    meal: { $ref: "#/$defs/Meal", default: "fish" },
    likes: { type: "array", items: { $ref: "#/$defs/Meal" }, maxItems: 1 },
    pay: { oneOf: [{ $ref: "#/$defs/Card" }, { $ref: "#/$defs/Invoice" }] },
    bags: { type: "integer", minimum: 0, maximum: 3 },
    price: { anyOf: [{ type: "number" }, { type: "string", pattern: "^\\d+$" }, { type: "null" }] },
    extras: { type: "object", additionalProperties: { type: "integer" } },
    node: { $ref: "#/$defs/Node" },
    nickName: { type: ["string", "null"] },
  },
  required: ["date", "pay", "node"],
};
const property = (name: string) => trip.properties?.[name] ?? {};

test("every part of a model has a field", () => {
  const kinds = Object.keys(trip.properties ?? {}).map((name) => [name, fieldOf(property(name), trip).kind]);
  assert.deepEqual(Object.fromEntries(kinds), {
    date: "text",
    meal: "choice",
    likes: "several",
    pay: "union",
    bags: "number",
    price: "number",
    extras: "map",
    node: "group",
    nickName: "text",
  });
  assert.equal(fieldOf(property("nickName"), trip).nullable, true);
  assert.equal(labelOf(fieldOf(property("meal"), trip), "meal"), "Meal");
  assert.equal(labelOf(fieldOf(property("nickName"), trip), "nickName"), "Nick Name");
});

test("a form begins with the defaults, also of a model that contains itself", () => {
  const start = { meal: "fish", likes: [], pay: { kind: "card" }, extras: {}, node: {} };
  assert.deepEqual(initial(trip, trip), start);
});

test("what may be left out is not asked for", () => {
  const pair: JsonSchema = { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] };
  const properties: Record<string, JsonSchema> = {
    pair,
    preset: { ...pair, default: ["a", 1] },
    shape: { oneOf: [property("pay").oneOf?.[0] ?? {}, { type: "array", items: {} }] },
    tags: { type: "array", items: { type: "string" }, minItems: 1 },
    none: { type: "null" },
    nothing: { type: ["null"] },
  };
  const schema = { ...trip, properties, required: [] };
  const start = { preset: ["a", 1], none: null, nothing: null };
  assert.deepEqual(initial(schema, schema), start);
  assert.deepEqual(problemsOf(schema, start, schema), {});
  const wanted = { ...schema, required: ["pair", "tags"] };
  const asked = { pair: [undefined, undefined], tags: [], ...start };
  assert.deepEqual(initial(wanted, wanted), asked);
  assert.deepEqual(Object.keys(problemsOf(wanted, asked, wanted)), ["pair/0", "pair/1", "tags"]);
});

test("the shape of a union shows in its constant", () => {
  const variants = property("pay").oneOf ?? [];
  assert.equal(variantOf(variants, { kind: "invoice" }, trip), 1);
  assert.equal(variantOf(variants, { kind: "card", number: "1" }, trip), 0);
});

test("problems stand at the fields", () => {
  const wrong = { date: "", bags: 4, likes: ["none", "fish"], pay: { kind: "card" }, extras: { a: 1.5 }, node: {} };
  assert.deepEqual(problemsOf(trip, wrong, trip), {
    date: "Please fill this in.",
    bags: "At most 3.",
    likes: "At most 1 entry.",
    "extras/a": "Please give a whole number.",
  });
  assert.deepEqual(problemsOf(trip, { date: "2026-12-24", pay: { kind: "card" }, node: {} }, trip), {});
});

test("the limits of numbers and texts", () => {
  const cases: [JsonSchema, unknown, string | undefined][] = [
    [{ type: "number", exclusiveMinimum: 0 }, 0, "More than 0."],
    [{ type: "number", multipleOf: 0.1 }, 0.3, undefined],
    [{ type: "number" }, "abc", "This is not a number."],
    [{ type: "string", minLength: 2 }, "😀", "At least 2 characters."],
    [{ type: "string", format: "email" }, "ann", "This is no e-mail address."],
    [{ type: "string", pattern: "^a" }, "b", "This does not have the expected form."],
    [{ type: "string", pattern: "(?P<python>a)" }, "b", undefined],
  ];
  for (const [schema, value, problem] of cases) assert.equal(problemsOf(schema, value, schema)[""], problem);
});

test("a value without a schema can be edited as what it is", () => {
  const schema = schemaOf({ to: "ann", amount: 5, tags: ["a"] });
  assert.deepEqual(schema.properties?.amount, { type: "number" });
  assert.equal(fieldOf(schema.properties?.tags ?? {}, schema).kind, "list");
});

test("null is a choice like any other, where the schema lists it", () => {
  const properties: Record<string, JsonSchema> = {
    seat: { enum: ["aisle", null] },
    meal: { type: ["string", "null"], enum: ["fish", null] },
    bag: { oneOf: [{ const: null, title: "No bag" }, { const: 1 }] },
    likes: { type: "array", items: { enum: ["sun", null, { far: true }] } },
    tea: { anyOf: [{ enum: ["green"] }, { type: "null" }] },
  };
  const schema: JsonSchema = { type: "object", properties, required: ["seat"] };
  const labels = Object.values(properties).map((property) => {
    const field = fieldOf(property, schema);
    return "options" in field ? field.options.map(({ label }) => label) : [];
  });
  const expected = [["aisle", "None"], ["fish", "None"], ["No bag", "1"], ["sun", "None", '{"far":true}'], ["green", "None"]];
  assert.deepEqual(labels, expected);
  assert.deepEqual(problemsOf(schema, {}, schema), { seat: "Please fill this in." });
  const chosen = { seat: null, meal: null, bag: null, likes: [null] };
  assert.deepEqual(problemsOf(schema, chosen, schema), {});
  assert.deepEqual(answerOf(schema, chosen, schema), chosen);
});

test("what is left empty is not sent, or as the null that must be there", () => {
  const empty: JsonSchema = { anyOf: [{ type: "string" }, { type: "null" }] };
  const part: JsonSchema = { type: "object", properties: { a: empty, b: empty }, required: ["a"] };
  const cases: [JsonSchema, unknown, unknown][] = [
    [empty, undefined, null],
    [part, {}, { a: null }],
    [part, { a: "", b: "" }, { a: null }],
    [part, { a: "x", b: "y", other: 1 }, { a: "x", b: "y", other: 1 }],
    [{ type: "array", items: part }, [{}], [{ a: null }]],
    [{ type: "array", prefixItems: [empty, part] }, [undefined, {}], [null, { a: null }]],
    [{ type: "object", additionalProperties: empty }, { k: undefined }, { k: null }],
    [{ anyOf: [{ type: "number" }, part] }, {}, { a: null }],
  ];
  for (const [schema, value, answer] of cases) {
    assert.deepEqual(problemsOf(schema, value, schema), {});
    assert.deepEqual(answerOf(schema, value, schema), answer);
  }
});
