// Two pages beside each other: what is moved, chosen or set in one happens in the other.
import type { Point } from "../common/data.ts";
import type { Picture } from "./picture.ts";
import type { State, View } from "./state.ts";

/** What a page offers to its frame. */
interface Api {
  state: State;
  view: View;
  picture: Picture | null;
  paint(): void;
  pin(region: number, place: Point | null): void;
}

const frames = [...document.querySelectorAll("iframe")];
const SETTINGS = ["colour", "edges", "layer"];
const sent: Record<string, string> = {}; // what the follower was told last, so that it is told once
let leader = 0; // the page that a person uses

frames.forEach((frame, i) => {
  const listen = () => {
    for (const kind of ["pointermove", "pointerdown", "wheel", "keydown", "input"]) {
      const lead = (event: Event): void => { if (event.isTrusted) leader = i; };
      frame.contentWindow!.addEventListener(kind, lead, { capture: true, passive: true });
    }
  };
  frame.addEventListener("load", listen);
});

function link(one: Api, two: Api): void {
  const { x, y, zoom } = one.view;
  if (two.view.x !== x || two.view.y !== y || two.view.zoom !== zoom) {
    Object.assign(two.view, { x, y, zoom });
    two.paint();
  }
  const place = one.state.place;
  if (JSON.stringify(place) !== JSON.stringify(two.state.place)) {
    if (place) two.pin(two.picture!.locate(...place), place);
    else two.pin(-1, null);
  }
}

function set(from: Document, to: Document): void {
  for (const id of SETTINGS) {
    const { value } = from.getElementById(id) as HTMLInputElement;
    const control = to.getElementById(id) as HTMLInputElement;
    if (control.value === value || sent[id] === value) continue;
    sent[id] = value;
    control.value = value;
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
  }
}

const api = (frame: HTMLIFrameElement): Api | undefined =>
  (frame.contentWindow as unknown as { tropicell?: Api }).tropicell;

function follow(): void {
  const [first, second] = [frames[leader], frames[1 - leader]];
  const [one, two] = [api(first), api(second)];
  if (one?.picture && two?.picture) {
    link(one, two);
    set(first.contentDocument!, second.contentDocument!);
  }
  requestAnimationFrame(follow);
}
follow();
