// Pointer, wheel and pinch on the map's canvas, in its own pixels.

const CLICK_WITHIN = 4;  // px that a click may wander
const WHEEL = 0.0022;    // zoom a pixel of the wheel
const LINE = 16;         // px of a wheel that counts in lines

/** `to`: {hover(x, y), leave(), click(x, y), drag(dx, dy), zoom(factor, x, y)}; points from the canvas's corner. */
export function listen(canvas, to) {
  const pointers = new Map();  // pointerId -> [x, y]
  let travelled = 0;

  const place = event => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.x, event.clientY - box.y];
  };
  const pinch = () => {
    const [[ax, ay], [bx, by]] = [...pointers.values()];
    return { distance: Math.hypot(ax - bx, ay - by), x: (ax + bx) / 2, y: (ay + by) / 2 };
  };

  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    if (pointers.size === 1) travelled = 0;
  });
  canvas.addEventListener('pointermove', event => {
    const [x, y] = place(event);
    if (!pointers.has(event.pointerId)) {
      to.hover(x, y);
      return;
    }
    const [wasX, wasY] = pointers.get(event.pointerId);
    const before = pointers.size === 2 ? pinch() : null;
    pointers.set(event.pointerId, [x, y]);
    travelled += Math.hypot(x - wasX, y - wasY);
    if (before) {
      const now = pinch();
      to.zoom(now.distance / Math.max(1, before.distance), now.x, now.y);
      to.drag(now.x - before.x, now.y - before.y);
    } else if (travelled > CLICK_WITHIN) {
      to.drag(x - wasX, y - wasY);
    }
  });
  const up = event => {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return;
    if (event.type === 'pointerup' && travelled <= CLICK_WITHIN) to.click(...place(event));
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', () => to.leave());
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1);
    to.zoom(Math.exp(-pixels * WHEEL), ...place(event));
  }, { passive: false });
}
