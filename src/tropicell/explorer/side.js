// Two pages beside each other: what is moved, chosen or set in one happens in the other.
const frames = [...document.querySelectorAll("iframe")];
const SETTINGS = ["colour", "edges", "layer"];
const sent = {}; // what the follower was told last, so that it is told once
let leader = 0; // the page that a person uses

frames.forEach((frame, i) => {
  const listen = () => {
    for (const kind of ["pointermove", "pointerdown", "wheel", "keydown", "input"]) {
      const lead = (event) => { if (event.isTrusted) leader = i; };
      frame.contentWindow.addEventListener(kind, lead, { capture: true, passive: true });
    }
  };
  frame.addEventListener("load", listen);
});

function link(one, two) {
  const { x, y, zoom } = one.view;
  if (two.view.x !== x || two.view.y !== y || two.view.zoom !== zoom) {
    Object.assign(two.view, { x, y, zoom });
    two.paint();
  }
  const place = one.state.place;
  if (JSON.stringify(place) !== JSON.stringify(two.state.place)) {
    if (place) two.pin(two.picture.locate(...place), place);
    else two.pin(-1, null);
  }
}

function set(from, to) {
  for (const id of SETTINGS) {
    const { value } = from.getElementById(id);
    const control = to.getElementById(id);
    if (control.value === value || sent[id] === value) continue;
    sent[id] = value;
    control.value = value;
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
  }
}

function follow() {
  const [first, second] = [frames[leader], frames[1 - leader]];
  const [one, two] = [first.contentWindow.tropicell, second.contentWindow.tropicell];
  if (one?.picture && two?.picture) {
    link(one, two);
    set(first.contentDocument, second.contentDocument);
  }
  requestAnimationFrame(follow);
}
follow();
