// The panel: each setting has an element of its name; what the server describes is what it shows.
import { $, element, input, select } from "../common/dom.ts";
import type { Description, Settings } from "./wire.ts";

const NUMBERS = [
  "samples", "noise", "reach", "scale", "seed", "learning_rate", "batch", "strength", "speed",
] as const;
const CHOICES = ["data", "activation", "init", "optimiser", "penalty", "loss"] as const;

const NAMES: Record<string, string> = {
  phi1: "φ1 (paper)", phi2: "φ2 (paper)", phi3: "φ3 (paper)", phi4: "φ4 (paper)", own: "my own",
  he: "He", xavier: "Xavier", adam: "Adam", sgd: "SGD", rmsprop: "RMSprop", l1: "L1", l2: "L2", xor: "XOR",
};

export class Controls {
  private most = [1, 1];
  /** The field that somebody is typing into: nothing may change it meanwhile. */
  private typing: Element | null = null;
  private readonly less = element("button", "− layer");
  private readonly more = element("button", "+ layer");

  /** `soon`: the settings as they will be when all changes have arrived. */
  constructor(
    private readonly change: (values: Partial<Settings>) => void, private readonly soon: () => Settings,
  ) {
    for (const name of NUMBERS) {
      const field = input(name);
      field.addEventListener("input", () => { this.typing = field; });
      field.addEventListener("blur", () => { this.typing = null; });
      field.addEventListener("change", () => {
        this.typing = null;
        if (field.value.trim()) change({ [name]: Number(field.value) });
        else change({}); // nothing, or no number: the field shows again what there is
      });
    }
    for (const name of CHOICES) $(name).addEventListener("change", () => change({ [name]: select(name).value }));
    $("compare").addEventListener("change", () => change({ compare: input("compare").checked }));
    $("clear").addEventListener("click", () => change({ points: [] }));
    [this.less.id, this.more.id] = ["less", "more"];
    this.less.addEventListener("click", () => this.resize(this.soon().widths.slice(0, -1)));
    this.more.addEventListener("click", () => {
      const { widths } = this.soon();
      this.resize([...widths, widths[widths.length - 1]]);
    });
    const ends = element("span", undefined, "ends");
    ends.append(this.less, this.more);
    $("layers").append(ends);
  }

  show(about: Description): void {
    this.most = about.most;
    const { settings, choices } = about;
    for (const name of CHOICES) {
      const list = select(name);
      if (!list.options.length) {
        for (const value of choices[name]) {
          const option = element("option", NAMES[value] ?? value.replace(/_/g, " "));
          option.value = value;
          list.append(option);
        }
      }
      list.value = settings[name];
    }
    for (const name of NUMBERS) this.number(name, settings[name]);
    input("compare").checked = settings.compare;
    $("hand").hidden = settings.data !== "own";
    for (const label of document.querySelectorAll<HTMLElement>(".generated")) label.hidden = settings.data === "own";
    $("given").hidden = about.given === null;
    $("given").textContent = about.given === null ? "" : `Loaded: ${about.given}. What is chosen below builds another one instead.`;
    this.layers(settings.widths);
  }

  private number(name: (typeof NUMBERS)[number], value: number): void {
    const field = $(name) as HTMLInputElement | HTMLSelectElement;
    if (field instanceof HTMLSelectElement && ![...field.options].some((o) => Number(o.value) === value)) {
      field.append(element("option", String(value)));
    }
    if (field === this.typing) return;
    if (Number(field.value) !== value || field.value === "") field.value = String(value);
  }

  /** One row for each layer. Rows that are there stay: somebody may be about to press their buttons. */
  private layers(widths: number[]): void {
    const rows = [...$("layers").querySelectorAll<HTMLElement>(".one")];
    for (const row of rows.splice(widths.length)) row.remove();
    while (rows.length < widths.length) {
      const row = this.row(rows.length);
      this.less.parentElement!.before(row);
      rows.push(row);
    }
    rows.forEach((row, layer) => {
      const [fewer, more] = row.querySelectorAll("button");
      row.querySelector("output")!.textContent = String(widths[layer]);
      fewer.disabled = widths[layer] <= 1;
      more.disabled = widths[layer] >= this.most[1];
    });
    this.less.disabled = widths.length < 2;
    this.more.disabled = widths.length >= this.most[0];
  }

  private row(layer: number): HTMLElement {
    const row = element("span", undefined, "one");
    const button = (text: string, step: number, label: string): HTMLButtonElement => {
      const node = element("button", text);
      node.setAttribute("aria-label", `layer ${layer + 1}: ${label}`);
      node.addEventListener("click", () =>
        this.change({ widths: this.soon().widths.map((width, k) => (k === layer ? width + step : width)) }));
      return node;
    };
    const output = element("output");
    output.title = `layer ${layer + 1}`;
    row.append(button("−", -1, "fewer neurons"), output, button("+", 1, "more neurons"));
    return row;
  }

  /** Other layers; skips that no longer fit go. */
  private resize(widths: number[]): void {
    const skips = this.soon().skips.filter(([, to]) => to <= widths.length + 1);
    this.change({ widths, skips });
  }
}
