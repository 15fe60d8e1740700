// Makes elements, so that no text of a camera is ever read as HTML.

/**
 * @param {string} tag with classes, as in `p.tile-word`
 * @param {Record<string, unknown>} properties of the element; `data` and `aria` are mappings
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.classList.add(...classes);
  const { data = {}, aria = {}, ...rest } = properties;
  Object.assign(made, rest);
  Object.assign(made.dataset, data);
  for (const [key, value] of Object.entries(aria)) made.setAttribute(`aria-${key}`, value);
  made.append(...children);
  return made;
}

/** Set a text only where it differs: an unchanged one costs no layout and is not read out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Do what a click on a link means: go there within the page, unless the viewer wants another tab. */
export function follow(event, action) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  action();
}
