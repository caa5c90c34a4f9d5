// Names as the chart library can take them. It keeps texts as keys of plain objects (zrender's cache of
// widths, a legend's choices), so that a file called `__proto__` would change the prototype of every
// object on the page. Such a name gets a hair space at its end; nothing else in the page does.

export function harmless(text: string): string {
  return text in Object.prototype ? `${text}\u200a` : text;
}

/** An option with all its texts made harmless; numbers and functions stay as they are. */
export function guarded<T>(value: T): T {
  return guard(value) as T;
}

function guard(value: unknown): unknown {
  if (typeof value === "string") return harmless(value);
  if (Array.isArray(value)) return plain(value[0]) ? value : value.map(guard);
  if (value === null || typeof value !== "object") return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, guard(inner)]));
}

/** Numbers, or points of numbers: long, and without a text. */
function plain(first: unknown): boolean {
  return typeof first === "number" || (Array.isArray(first) && typeof first[0] === "number");
}
