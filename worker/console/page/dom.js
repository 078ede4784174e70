// Elements without markup: whatever comes from a summary enters the page as text and as nothing else.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; strings among the children become text nodes. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** What an element has now, replaced. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(present));
  return element;
}

/** The element with an id of the page. */
export const byId = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(present).map(asNode));
  return element;
}

const present = (child) => child !== null && child !== undefined && child !== false;
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/** Runs tasks in slices of a few milliseconds, so that the page never stops answering. */
export function inSlices(milliseconds = 6) {
  let queue = [];
  let scheduled = false;
  const work = () => {
    const end = performance.now() + milliseconds;
    let done = 0;
    while (done < queue.length && performance.now() < end) queue[done++]();
    queue = queue.slice(done);
    scheduled = queue.length > 0;
    if (scheduled) requestAnimationFrame(work);
  };
  return {
    add(task) {
      queue.push(task);
      if (!scheduled) requestAnimationFrame(work);
      scheduled = true;
    },
    clear() {
      queue = [];
    },
  };
}
