// Elements of the page. Text goes in as text nodes only: a name can never become markup.

export type Child = Node | string | null | undefined | false;

type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, String(value));
  }
  put(made, ...children);
  return made;
}

export function put(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child == null || child === false) continue;
    parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

export function replace(parent: Node, ...children: Child[]): void {
  parent.textContent = "";
  put(parent, ...children);
}

/** A square of a colour. Set by the object model, since the page's policy forbids style attributes. */
export function swatch(colour: string): HTMLElement {
  const made = el("span", { class: "swatch", "aria-hidden": "true" });
  made.style.backgroundColor = colour;
  return made;
}

/** Offers text or bytes as a file. Works from file://, since it asks no server. */
export function download(name: string, type: string, content: string | Blob): void {
  const text = typeof content === "string";
  const made = text ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const url = URL.createObjectURL(made);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
