/**
 * The two query languages of SendGrid's APIs, as one parser and one evaluator.
 *
 * Messages API: AND, OR, NOT, parentheses, = != < > <= >=, IN, LIKE, BETWEEN … AND …, Contains(field,"x"),
 * unique_args["k"]="v", strings in quotes, numbers, TIMESTAMP "…". Email Logs API: conditions joined by AND, nothing
 * nested, each field with its own few operators. Faults are worded as SendGrid words them, where that is known.
 */

export type ValueType = "STRING" | "NUMBER" | "DATETIME";
export type FieldType = ValueType | "ARRAY<STRING>" | "MAP<STRING,STRING>";
export type CompareOperator = "=" | "!=" | "<" | ">" | "<=" | ">=";
export type Operator = CompareOperator | "IN" | "LIKE" | "BETWEEN" | "Contains";

/** `value` is text, a number, or milliseconds since 1970 for a DATETIME. */
export type Value = { type: "STRING"; value: string } | { type: "NUMBER" | "DATETIME"; value: number };

export type Query =
  | { kind: "and" | "or"; parts: Query[] }
  | { kind: "not"; part: Query }
  | { kind: "compare"; field: string; key?: string; operator: CompareOperator; value: Value }
  | { kind: "in"; field: string; values: (string | number)[] }
  | { kind: "like"; field: string; pattern: RegExp }
  | { kind: "contains"; field: string; value: string };

export interface Language {
  fields: Readonly<Record<string, { type: FieldType; operators?: readonly Operator[] }>>;
  /** Whether OR, NOT and parentheses exist. */
  nesting: boolean;
}

export type ParsedQuery = { ok: true; query: Query } | { ok: false; message: string };

const DEPTH_MAX = 50;

type TokenKind = "IDENTIFIER" | "STRING" | "NUMBER" | "OPERATOR" | "END" | "(" | ")" | "[" | "]" | ",";
interface Token {
  kind: TokenKind;
  text: string;
}

/** Leaves the parser from any depth; never leaves this file. */
class QueryFault extends Error {}

/** Parses a query of the given language. Never throws: a fault comes back as the sentence the API answers with. */
export function parseQuery(text: string, language: Language): ParsedQuery {
  try {
    const parser = { tokens: tokenise(text), next: 0, language, depth: 0 };
    const query = language.nesting ? parseOr(parser) : parseAnd(parser);
    const rest = peek(parser);
    if (rest.kind !== "END")
      throw new QueryFault(`syntax error: unexpected ${rest.kind === "OPERATOR" ? rest.text : rest.kind}`);
    return { ok: true, query };
  } catch (error) {
    if (error instanceof QueryFault) return { ok: false, message: error.message };
    throw error;
  }
}

function tokenise(text: string): Token[] {
  const pattern =
    /\s*(?:(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<number>-?\d+(?:\.\d+)?)|(?<name>[A-Za-z_][A-Za-z0-9_.]*)|(?<operator><=|>=|!=|<>|=|<|>)|(?<mark>[()[\],]))/suy;
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  while (pattern.lastIndex < end) {
    const at = pattern.lastIndex;
    const found = pattern.exec(text)?.groups;
    if (found === undefined) throw new QueryFault(`syntax error: unexpected character at position ${at}`);
    const { string, number, name, operator, mark } = found;
    if (string !== undefined) tokens.push({ kind: "STRING", text: string.slice(1, -1).replaceAll(/\\(.)/gsu, "$1") });
    else if (number !== undefined) tokens.push({ kind: "NUMBER", text: number });
    else if (name !== undefined) tokens.push({ kind: "IDENTIFIER", text: name });
    else if (operator !== undefined) tokens.push({ kind: "OPERATOR", text: operator === "<>" ? "!=" : operator });
    else if (mark !== undefined) tokens.push({ kind: mark as TokenKind, text: mark });
  }
  tokens.push({ kind: "END", text: "" });
  return tokens;
}

interface Parser {
  tokens: Token[];
  next: number;
  language: Language;
  depth: number;
}

function peek(parser: Parser): Token {
  return parser.tokens[parser.next] ?? { kind: "END", text: "" };
}

function take(parser: Parser, kind?: TokenKind): Token {
  const token = peek(parser);
  if (kind !== undefined && token.kind !== kind)
    throw new QueryFault(`syntax error: unexpected ${token.kind}, expecting ${kind}`);
  parser.next += 1;
  return token;
}

function takeWord(parser: Parser, word: string): boolean {
  const token = peek(parser);
  if (token.kind !== "IDENTIFIER" || token.text.toUpperCase() !== word) return false;
  parser.next += 1;
  return true;
}

function parseOr(parser: Parser): Query {
  parser.depth += 1;
  if (parser.depth > DEPTH_MAX) throw new QueryFault("syntax error: nested too deeply");
  const parts = [parseAnd(parser)];
  while (takeWord(parser, "OR")) parts.push(parseAnd(parser));
  parser.depth -= 1;
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "or", parts };
}

function parseAnd(parser: Parser): Query {
  const parts = [parseTerm(parser)];
  while (takeWord(parser, "AND")) parts.push(parseTerm(parser));
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "and", parts };
}

function parseTerm(parser: Parser): Query {
  if (parser.language.nesting) {
    // A loop, so that no number of NOTs can exhaust the stack.
    let negated = false;
    while (takeWord(parser, "NOT")) negated = !negated;
    const part = peek(parser).kind === "(" ? parseNested(parser) : parseCondition(parser);
    return negated ? { kind: "not", part } : part;
  }
  if (peek(parser).kind === "(") throw new QueryFault("syntax error: nesting is not allowed");
  return parseCondition(parser);
}

function parseNested(parser: Parser): Query {
  take(parser, "(");
  const query = parseOr(parser);
  take(parser, ")");
  return query;
}

function parseCondition(parser: Parser): Query {
  const name = take(parser, "IDENTIFIER").text;
  if (name.toUpperCase() === "CONTAINS" && peek(parser).kind === "(") return parseContains(parser);
  const type = fieldType(parser, name);
  const key = parseKey(parser, name, type);
  const subject: Subject = key === undefined ? { field: name, type } : { field: name, type: "STRING", key };
  const negated = parser.language.nesting && takeWord(parser, "NOT");
  const query = parsePredicate(parser, subject);
  return negated ? { kind: "not", part: query } : query;
}

/** What a condition is about. */
interface Subject {
  field: string;
  type: FieldType;
  /** Of unique_args. */
  key?: string;
}

function parsePredicate(parser: Parser, subject: Subject): Query {
  const { field } = subject;
  const token = take(parser);
  const word = token.kind === "IDENTIFIER" ? token.text.toUpperCase() : "";
  if (word === "IN") return parseIn(parser, subject);
  if (word === "LIKE") {
    checkOperator(parser, subject, "LIKE", "STRING");
    return { kind: "like", field, pattern: likePattern(take(parser, "STRING").text) };
  }
  if (word === "BETWEEN") {
    checkAllowed(parser, field, "BETWEEN");
    const from = compare(parser, subject, ">=", parseValue(parser));
    if (!takeWord(parser, "AND")) throw new QueryFault(`syntax error: unexpected ${peek(parser).kind}, expecting AND`);
    return { kind: "and", parts: [from, compare(parser, subject, "<=", parseValue(parser))] };
  }
  if (token.kind !== "OPERATOR") throw new QueryFault(`syntax error: unexpected ${token.kind}`);
  return compare(parser, subject, token.text as CompareOperator, parseValue(parser));
}

function parseContains(parser: Parser): Query {
  take(parser, "(");
  const field = take(parser, "IDENTIFIER").text;
  const type = fieldType(parser, field);
  if (type !== "ARRAY<STRING>" || !parser.language.nesting)
    throw new QueryFault(`function Contains is incompatible with ${type}, STRING`);
  take(parser, ",");
  const value = take(parser, "STRING").text;
  take(parser, ")");
  return { kind: "contains", field, value };
}

function fieldType(parser: Parser, name: string): FieldType {
  const field = Object.hasOwn(parser.language.fields, name) ? parser.language.fields[name] : undefined;
  if (field === undefined) throw new QueryFault(`invalid syntax: '${name}' is not a known field`);
  return field.type;
}

function parseKey(parser: Parser, name: string, type: FieldType): string | undefined {
  if (type !== "MAP<STRING,STRING>") return undefined;
  if (peek(parser).kind !== "[")
    throw new QueryFault(`syntax error: unexpected ${peek(parser).kind} after ${name}, expecting [`);
  take(parser, "[");
  const key = take(parser, "STRING").text;
  take(parser, "]");
  return key;
}

function parseIn(parser: Parser, subject: Subject): Query {
  take(parser, "(");
  const values: (string | number)[] = [];
  for (;;) {
    const value = parseValue(parser);
    checkOperator(parser, subject, "IN", value.type);
    values.push(value.value);
    if (peek(parser).kind !== ",") break;
    take(parser, ",");
  }
  take(parser, ")");
  return { kind: "in", field: subject.field, values };
}

function parseValue(parser: Parser): Value {
  if (takeWord(parser, "TIMESTAMP")) {
    const text = take(parser, "STRING").text;
    const value = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text)
      ? Date.parse(text)
      : Number.NaN;
    if (Number.isNaN(value)) throw new QueryFault(`invalid timestamp: ${text}`);
    return { type: "DATETIME", value };
  }
  const token = take(parser);
  if (token.kind === "STRING") return { type: "STRING", value: token.text };
  if (token.kind === "NUMBER") return { type: "NUMBER", value: Number(token.text) };
  throw new QueryFault(`syntax error: unexpected ${token.kind}`);
}

function compare(parser: Parser, subject: Subject, operator: CompareOperator, value: Value): Query {
  const { field, key } = subject;
  checkOperator(parser, subject, operator, value.type);
  return { kind: "compare", field, operator, value, ...(key === undefined ? {} : { key }) };
}

function checkAllowed(parser: Parser, field: string, operator: Operator): void {
  const allowed = parser.language.fields[field]?.operators;
  if (allowed !== undefined && !allowed.includes(operator))
    throw new QueryFault(`operator ${operator} is not allowed for ${field}`);
}

function checkOperator(parser: Parser, subject: Subject, operator: Operator, valueType: ValueType): void {
  const { field, type } = subject;
  checkAllowed(parser, field, operator);
  // A list of categories is asked for by IN in the Email Logs API, and only by Contains in the Messages API.
  const isListQuery = type === "ARRAY<STRING>" && operator === "IN" && valueType === "STRING";
  if (type === valueType || (isListQuery && !parser.language.nesting)) return;
  throw new QueryFault(`operator ${operator} is incompatible with ${type}, ${valueType}`);
}

/** `%` stands for any characters, `_` for one. */
function likePattern(text: string): RegExp {
  const escaped = text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}$`, "su");
}

/** What a field holds in one message; undefined when the message has none. DATETIME as milliseconds. */
export type FieldReader = (field: string, key: string | undefined) => string | number | readonly string[] | undefined;

/** Whether a message matches. A field without a value matches nothing, and everything under NOT. */
export function matchesQuery(query: Query, read: FieldReader): boolean {
  switch (query.kind) {
    case "and":
      return query.parts.every((part) => matchesQuery(part, read));
    case "or":
      return query.parts.some((part) => matchesQuery(part, read));
    case "not":
      return !matchesQuery(query.part, read);
    case "contains":
      return asList(read(query.field, undefined)).includes(query.value);
    case "in":
      return asList(read(query.field, undefined)).some((value) => query.values.includes(value));
    case "like":
      return asList(read(query.field, undefined)).some((value) => query.pattern.test(String(value)));
    case "compare":
      return holds(read(query.field, query.key), query.operator, query.value.value);
  }
}

function asList(value: ReturnType<FieldReader>): readonly (string | number)[] {
  if (value === undefined) return [];
  return typeof value === "string" || typeof value === "number" ? [value] : value;
}

function holds(left: ReturnType<FieldReader>, operator: CompareOperator, right: string | number): boolean {
  if (left === undefined || typeof left === "object") return false;
  switch (operator) {
    case "=":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case ">":
      return left > right;
    case "<=":
      return left <= right;
    case ">=":
      return left >= right;
  }
}

/** The conditions that every match must meet: those joined by AND at the top. */
function conjuncts(query: Query): Query[] {
  return query.kind === "and" ? query.parts.flatMap(conjuncts) : [query];
}

/** The time span outside which nothing can match, in milliseconds, both ends included; from the top-level conditions. */
export function timeBounds(query: Query, field: string): { fromMs: number; toMs: number } {
  let fromMs = -Infinity;
  let toMs = Infinity;
  for (const part of conjuncts(query)) {
    if (part.kind !== "compare" || part.field !== field || typeof part.value.value !== "number") continue;
    const { operator } = part;
    if (operator === ">" || operator === ">=" || operator === "=") fromMs = Math.max(fromMs, part.value.value);
    if (operator === "<" || operator === "<=" || operator === "=") toMs = Math.min(toMs, part.value.value);
  }
  return { fromMs, toMs };
}

/** The only values of `field` that can match, or undefined when the query does not say. */
export function exactValues(query: Query, field: string): (string | number)[] | undefined {
  for (const part of conjuncts(query)) {
    if (part.kind === "compare" && part.field === field && part.operator === "=") return [part.value.value];
    if (part.kind === "in" && part.field === field) return part.values;
  }
  return undefined;
}
