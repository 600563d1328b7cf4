// Long work in slices, so that the page answers in between: no task is over some 10 ms.

const SLICE = 8;  // ms, half a frame

const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

let began = 0;

/** Whether the slice that runs has had its time. */
export const sliceIsOver = () => performance.now() - began > SLICE;

/** Lets other tasks run if the slice has had its time; stops the work where `signal` was aborted. setTimeout would wait 4 ms,
 * and a promise alone lets nothing else run. */
export async function pause(signal) {
  if (sliceIsOver()) {
    await new Promise(resume => {
      waiting.push(resume);
      channel.port2.postMessage(null);
    });
    began = performance.now();
  }
  signal?.throwIfAborted();
}
