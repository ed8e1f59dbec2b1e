// The few things that both pages do with their elements.

export const $ = (id: string): HTMLElement => document.getElementById(id)!;
export const input = (id: string): HTMLInputElement => $(id) as HTMLInputElement;
export const select = (id: string): HTMLSelectElement => $(id) as HTMLSelectElement;

/** A new element. Text of a model comes in here, as text: it never becomes HTML. */
export function element<T extends keyof HTMLElementTagNameMap>(
  tag: T, text?: string, className?: string,
): HTMLElementTagNameMap[T] {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}
