// Mouse, fingers and keys on the picture.
import type { Point } from "../common/data.ts";
import { canvas, state, toPlane, view } from "./state.ts";

/** What can be done to the picture. */
export interface Actions {
  home(this: void): void;
  hover(this: void, x: number, y: number): void;
  leave(this: void): void;
  move(this: void, dx: number, dy: number): void;
  pin(this: void, region: number, place: Point | null): void;
  redraw(this: void): void;
  zoomAt(this: void, sx: number, sy: number, factor: number): void;
}

export function listenToPointers(act: Actions): void {
  const down = new Map<number, Point>();
  let moved = 0;
  const at = (event: MouseEvent): Point => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, at(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = down.get(event.pointerId);
    if (!before) {
      act.hover(...toPlane(...now));
      return;
    }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (p: Point): number => Math.hypot(p[0] - other[0], p[1] - other[1]);
      const middle: Point = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
      act.zoomAt(...middle, spread(now) / Math.max(1, spread(before)));
      act.move((before[0] - now[0]) / 2 / view.zoom, (now[1] - before[1]) / 2 / view.zoom);
    } else if (moved > 4) {
      act.move((before[0] - now[0]) / view.zoom, (now[1] - before[1]) / view.zoom);
    }
    down.set(event.pointerId, now);
  });
  const up = (event: PointerEvent): void => {
    const clicked = down.size === 1 && moved <= 4 && event.type === "pointerup";
    down.delete(event.pointerId);
    if (!clicked) return;
    const point = toPlane(...at(event));
    const region = state.picture.locate(...point);
    act.pin(region === state.pinned ? -1 : region, point);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", act.leave);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    act.zoomAt(...at(event), Math.exp(-0.0018 * lines * event.deltaY));
  }, { passive: false });
}

export function listenToKeys(act: Actions): void {
  const middle = (): Point => [canvas.clientWidth / 2, canvas.clientHeight / 2];
  const step = () => 60 / view.zoom;
  const actions: Record<string, (() => void) | undefined> = {
    ArrowLeft: () => act.move(-step(), 0), ArrowRight: () => act.move(step(), 0),
    ArrowUp: () => act.move(0, step()), ArrowDown: () => act.move(0, -step()),
    "+": () => act.zoomAt(...middle(), 1.25), "=": () => act.zoomAt(...middle(), 1.25),
    "-": () => act.zoomAt(...middle(), 0.8), 0: act.home,
    Enter: () => act.pin(state.picture.locate(view.x, view.y), [view.x, view.y]),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
    act.hover(view.x, view.y);
    state.marked = [view.x, view.y];
  });
  canvas.addEventListener("blur", () => {
    state.marked = null;
    act.redraw();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") act.pin(-1, null);
  });
}
